// Decides dependencies on jobs that have left memory: history knows how they ended. It is asked
// before the core sees the submission or the update, which may not wait for anything.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/command.h"
#include "model/view.h"
#include "state/cluster_state.h"

namespace muster {

/// Returns the jobs that these submissions and updates depend on, whose outcome matters, and that
/// are not in memory any more; rising, each once.
std::vector<JobId> past_jobs(const ClusterState& state, TimePoint now,
                             const std::vector<PreparedRequest>& requests);

/// What counts of a job that has ended.
struct PastEnd {
  JobId job;
  JobId array;  ///< zero: it is no element
  std::optional<std::uint32_t> array_index;
  bool is_completed = false;
  bool is_over = true;  ///< a list has what is still in memory, too
};
PastEnd past_end_of(const JobView& job);

/// Decides each undecided term about one of `jobs` by what has ended of it. `ended`: newest
/// attempts, of arrays all their elements. What is not among them stays undecided, and an element
/// for element dependency (aftercorr) on an array of which some have failed.
void decide_past_terms(std::vector<PreparedRequest>& requests, const std::vector<JobId>& jobs,
                       const std::vector<PastEnd>& ended);

}  // namespace muster
