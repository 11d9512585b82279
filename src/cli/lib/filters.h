// Reads the filters that the query commands share: states, users, nodes and clusters as users write
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/request.h"

namespace muster::cli {

/// The states that a query wants. COMPLETING is no state of its own, so it stands beside the
/// others.
struct StateFilter {
  bool is_all = false;
  std::vector<JobState> states;
  bool is_completing = false;
  bool matches(JobState state, std::uint16_t flags) const;
};

/// Reads names, codes and "all", parted by commas. Errors: kInvalidArgument naming the word and the
/// known ones.
Result<StateFilter> parse_states(std::string_view text);
/// Adds users to the filter, by name or by uid. Errors: kNotFound "Invalid user: X".
Status add_users(std::string_view text, JobFilter& filter);
/// Limits the filter to this user's jobs.
void add_me(JobFilter& filter);
/// Adds the nodes of a host list. Errors: of its syntax.
Status add_nodes(std::string_view text, std::vector<std::string>& nodes);
/// Accepts this cluster's own name, or "all". Errors: kInvalidArgument for another.
Status check_clusters(std::string_view text);
/// Checks SLURM_CLUSTERS likewise, unless an option has named a cluster.
Status check_clusters_variable(bool is_option_given);

}  // namespace muster::cli
