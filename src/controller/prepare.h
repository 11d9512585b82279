// The part of validating a request that needs no state: done before the core, on the gateway's
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "controller/command.h"
#include "model/cluster_config.h"

namespace muster {

/// Names of the caller, looked up by uid.
struct CallerNames {
  std::string user;
  std::string group;
  std::vector<std::string> groups = {};  ///< all that the user is a member of
};

/// Remembers one blob: whoever submits many jobs does so from one environment, and comparing is
/// cheaper than a digest.
class LastBlob {
 public:
  /// Equal bytes in a row get one digest and one copy.
  PreparedBlob prepared(Bytes bytes);

 private:
  PreparedBlob last_;
};

/// Checks texts, parses array and dependencies, computes digests, and puts the verified identity
/// into the spec. Requires: no ContinueExperiment, which needs the state: prepare_experiment.h.
/// Errors: kInvalidArgument with Slurm's text in `message`.
Result<PreparedRequest> prepare(Request request, const Identity& identity, const CallerNames& names,
                                const ClusterSettings& settings, LastBlob& environments);

}  // namespace muster
