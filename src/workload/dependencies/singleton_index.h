// Knows which jobs stand before a singleton: the unfinished ones of its user and name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "state/cluster_state.h"

namespace muster {

/// Returns a job's order among singletons of its name: elements stand where their array does,
/// whenever they split off.
inline JobId singleton_order(const Job& job) {
  return job.array_job.value() != 0 ? job.array_job : job.id;
}

/// The index is derived from the state. It follows the names under which a singleton has waited,
/// and no others.
class SingletonIndex {
 public:
  void load(const ClusterState& state);
  /// Called after `job` was submitted, split off, changed or requeued. Returns who must be looked
  /// at again. Cost: O(log jobs), and once for each name O(jobs in memory).
  std::vector<JobId> on_change(const Job& job, const ClusterState& state);
  /// Called after a run of `job` started, ended or released a node. Returns who must be looked at
  /// again.
  std::vector<JobId> on_run(const Job& job, const ClusterState& state);
  /// True when no earlier job of its user and name is unfinished, and no other of them runs. The
  /// elements of its own array do not count. Source: sbatch(1), --dependency=singleton.
  bool is_first(const Job& job, const ClusterState& state) const;

 private:
  using Name = std::pair<UserId, std::string>;
  /// The unfinished jobs by `singleton_order`, then by id.
  using Unfinished = std::set<std::pair<JobId, JobId>>;
  using Names = std::map<Name, Unfinished>;
  static Name name_of(const Job& job);
  void follow(const Job& job, Names::iterator name);
  static std::vector<JobId> front_of(const Unfinished& jobs, const ClusterState& state);
  std::vector<JobId> leave(const Job& job, const ClusterState& state);

  Names unfinished_;
  std::map<JobId, Names::iterator> followed_;  ///< the name under which each of them stands
};

}  // namespace muster
