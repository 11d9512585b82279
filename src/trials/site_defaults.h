// Reads the file that MusterDefaults names: what experiments that come over HTTP get at a site,
// where their configuration says nothing. It has parts of experiments' configurations, one for the
// cluster and one for each partition that has its own. Source: Determined 0.38,
// task_container_defaults of the master's configuration and of resource pools.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster {

struct SiteDefaults {
  Json cluster;                            ///< a map, or null
  std::map<std::string, Json> partitions;  ///< over the cluster's, by the partition's name
  bool has_any() const { return !cluster.is_null() || !partitions.empty(); }
};

/// Reads the file. `file`: its name in errors. `partitions`: those that there are. Errors:
/// kInvalidArgument with all that is wrong, a line each: what is no field of an experiment, or one
/// that a site cannot decide; a partition that is not there.
Result<SiteDefaults> parse_site_defaults(std::string_view file, std::string_view text,
                                         const std::set<std::string>& partitions);

/// Returns a configuration over the defaults of the partition that it asks for, over the cluster's.
/// A partition comes from `config`, else from the cluster's defaults, else it is
/// `default_partition`.
Json over_site_defaults(const Json& config, const SiteDefaults& site,
                        const std::string& default_partition);

}  // namespace muster
