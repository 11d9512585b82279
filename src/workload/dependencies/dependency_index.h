// Knows which job waits for which, and what has become of each wait.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/event.h"
#include "state/cluster_state.h"
#include "workload/dependencies/singleton_index.h"

namespace muster {

/// The outcome of a job's dependencies as things stand: each term's state, whether it may start,
/// and whether it never can.
struct DependencyOutcome {
  DependencySet set;
  bool is_satisfied = false;
  bool is_never = false;
  bool is_decided() const { return is_satisfied || is_never; }
};

/// A job whose dependencies may have changed.
struct AffectedJob {
  JobId job;
  /// The elements of an array record that waits by element; nullopt: all.
  std::optional<std::set<std::uint32_t>> elements;
  bool may_be_all = false;  ///< all of them, if an array that they wait for has ended as a whole
};

/// How whole arrays have ended, each looked at once for all elements that ask. Requires: what they
/// wait for does not change meanwhile.
class WholeArrays {
 public:
  explicit WholeArrays(const ClusterState& state) : state_(state) {}
  /// Returns the array's outcome. kUnfulfilled: not all of it has ended. Requires: the array's
  /// record is in memory.
  DependencyState outcome(JobId array);

 private:
  const ClusterState& state_;
  std::map<JobId, DependencyState> known_;
};

/// The index is derived from the state; lost and rebuilt on restart.
class DependencyIndex {
 public:
  void load(const ClusterState& state);
  /// Called after `state` applied the event.
  void on_event(const Event& event, const ClusterState& state);
  /// Removes from the index those affected, `count` at most, and returns them, rising by id.
  std::vector<AffectedJob> extract_affected(std::size_t count);
  bool has_affected() const { return !affected_.empty(); }

  /// Returns the outcome. `element`: as if that element of the array record `job` asked. Without
  /// one, what a record waits for by element is undecided while it has several. An element that has
  /// none of its own index in the other array waits for the end of that array. `wholes`, where
  /// given, is asked of it. Requires: job.dependencies. Source: sbatch(1), --dependency; aftercorr
  /// as Slurm 22.05.8 has it.
  DependencyOutcome evaluate(const Job& job, const ClusterState& state,
                             std::optional<std::uint32_t> element = {},
                             WholeArrays* wholes = nullptr) const;

 private:
  void watch(const Job& job, const ClusterState& state);
  void affect(JobId job);
  void affect_waiters_of(const Job& job, const ClusterState& state);

  std::map<JobId, std::set<JobId>> waiters_;  ///< by the job (or array record) waited for
  SingletonIndex singletons_;
  std::map<JobId, AffectedJob> affected_;
};

/// True when an array that elements of the record wait for by element has ended as a whole.
bool is_awaited_array_over(const Job& record, WholeArrays& wholes, const ClusterState& state);

/// True for an array record of several elements, each of which waits for another job's element
/// (aftercorr).
bool waits_by_element(const Job& job);

}  // namespace muster
