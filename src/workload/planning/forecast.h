// Works out when and where a job would start, were it submitted now (`--test-only`). It plans on a
// copy, so that neither the core nor the planner waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/command.h"
#include "sched/satisfiable.h"
#include "sched/snapshot/snapshot.h"
#include "state/cluster_state.h"

namespace muster {

/// Checks that some of the partitions could ever run the job; waiting for a limit to be raised
/// counts where the cluster allows it. `memo`: knows and learns answers. Errors: kInvalidArgument
/// with Slurm's text.
Status check_satisfiable(const ClusterState& state, const sched::ClusterSnapshot& snapshot,
                         const JobSpec& spec, const std::vector<PartitionIndex>& partitions,
                         sched::SatisfiabilityMemo& memo);

/// All that a forecast needs.
struct ForecastTask {
  JobId job;  ///< the number that it would have
  TimePoint now;
  sched::ClusterSnapshot snapshot;  ///< with the job among those that wait
};

/// Prepares a forecast. Errors: what submitting it would be refused for. Requires: `snapshot` is
/// the state's. Cost: a copy of the snapshot.
Result<ForecastTask> forecast_task(const ClusterState& state,
                                   const sched::ClusterSnapshot& snapshot,
                                   const PreparedSubmit& submit, const Identity& identity,
                                   TimePoint now);
/// Makes the forecast. Cost: a plan of all that waits.
Reply forecast(const ForecastTask& task);

/// Questions that wait: one is worked upon at a time.
class ForecastQueue {
 public:
  static constexpr std::size_t kWaitingMax = 256;
  static constexpr std::size_t kWaitingOfUserMax = 16;
  /// Adds a question. Errors: kUnavailable when too many wait.
  Status add(Command question);
  /// Returns the next question, when none is worked upon: done() follows. Users take turns.
  std::optional<Command> next();
  void done() { is_busy_ = false; }

 private:
  std::map<UserId, std::deque<Command>> waiting_;
  std::size_t count_ = 0;
  UserId last_;
  bool is_busy_ = false;
};

}  // namespace muster
