// A job in memory: small and hot. What the user asked for is shared and immutable (JobSpec); what a
// run adds is allocated when it starts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "model/allocation.h"
#include "model/array.h"
#include "model/dependency.h"
#include "model/experiment.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/reason.h"
#include "model/step.h"

namespace muster {

/// One step of the present run.
struct StepState {
  StepId id;
  StepSpecRef spec;  ///< null: the batch script
  StepLayoutRef layout;
  /// A key that tells this step from one that had the same number before an older copy of the state
  /// was restored; 0: the run's key holds.
  std::uint64_t launch_key = 0;
  /// Positions in the layout whose node is known to run its part; those of the last second may be
  /// missing.
  Bitmap begun;
  std::optional<UserId> cancelled_by;  ///< as in StepCancelled
  JobState state = JobState::kRunning;
  TimePoint start_time;
  TimePoint end_time;
  ExitStatus exit;
  Usage usage;
  std::string detail;
  bool is_running() const { return state == JobState::kRunning; }
};

/// The totals of steps that have left the record: history has the steps.
struct ForgottenSteps {
  std::uint32_t count = 0;
  Usage usage;
  ExitStatus exit;  ///< the worst of the numbered ones
  friend bool operator==(const ForgottenSteps&, const ForgottenSteps&) = default;
};

/// What a job has only while it runs, beside its record: it is dropped when the job is requeued.
struct JobRun {
  AllocationRef allocation;
  /// A key that tells this run from one that had the same job id and attempt before an older copy
  /// of the state was restored.
  std::uint64_t run_key = 0;
  /// Returns the key by which launches of the step go.
  std::uint64_t launch_key_of(const StepState& step) const {
    return step.launch_key != 0 ? step.launch_key : run_key;
  }
  Bitmap released;               ///< positions in the allocation whose node is clean
  std::vector<StepState> steps;  ///< in the order of creation, but those that are forgotten
  std::uint32_t next_step = 0;
  std::uint64_t steps_hash = 0;  ///< sum over steps, part of the job's hash
  std::optional<StopOrder> stop;
  bool has_session = false;  ///< a trial's: it asks us whether it should stop
  bool is_stop_acknowledged = false;
  ForgottenSteps forgotten;
  TimePoint suspend_time;     ///< of the last suspension or resumption; unset: there was none
  Duration suspended_before;  ///< spent in suspensions that are over

  /// Returns the newest step of that number; null: there is none.
  const StepState* find_step(std::uint32_t step) const {
    for (auto found = steps.rbegin(); found != steps.rend(); ++found) {
      if (found->id.step == step) return &*found;
    }
    return nullptr;
  }
  StepState* find_step(std::uint32_t step) {
    return const_cast<StepState*>(std::as_const(*this).find_step(step));
  }
  bool is_clean() const { return released.count() == allocation->nodes.size(); }
};

/// The elements of an array that have not split off, on the record that represents them.
struct ArrayRecord {
  ArraySpec remaining;
  ArrayRange range;
  std::uint32_t active_elements = 0;  ///< elements of the whole array now holding resources
  /// Elements that have left memory, by how they ended: other jobs may still depend on them.
  Bitmap evicted_completed;
  Bitmap evicted_failed;  ///< ended in any other way
};

struct Job {
  JobId id;
  JobState state = JobState::kPending;
  PendingReason reason = PendingReason::kNone;  ///< set by an event: of the end, or a lasting block
  std::uint16_t flags = 0;
  std::uint32_t attempt = 0;
  JobSpecRef spec;
  std::int64_t priority = 0;
  Duration time_limit;
  TimePoint submit_time;
  TimePoint eligible_time;  ///< when dependencies and begin time let it start; unset: not known yet
  TimePoint start_time;
  TimePoint end_time;  ///< unset while it has none; of a running job start + limit
  ExitStatus exit;
  UserId cancelled_by;
  std::uint16_t hold_after = 0;
  JobId array_job;  ///< zero: no array
  std::optional<std::uint32_t> array_index;
  PartitionIndex partition;  ///< where it runs
  PartitionList partitions;
  std::unique_ptr<ArrayRecord> array;       ///< of an array's record alone
  std::unique_ptr<ArrayRange> array_range;  ///< of an element
  std::unique_ptr<DependencySet> dependencies;
  StepSpecRef first_step;
  std::unique_ptr<JobRun> run;
  std::unique_ptr<std::string> detail;
  std::uint64_t spec_hash = 0;
  CachedHash hash;  ///< as it stands in the table's sum

  bool is_pending() const { return state == JobState::kPending; }
  bool is_completing() const { return (flags & job_flag::kCompleting) != 0; }
  bool holds_resources() const {
    return state == JobState::kRunning || state == JobState::kSuspended || is_completing();
  }
  bool is_held() const { return (flags & job_flag::kAnyHold) != 0; }
  /// True when the job has ended and is not about to run again.
  bool is_over() const {
    return is_finished(state) && !is_completing() && (flags & job_flag::kRequeueAfter) == 0;
  }
  bool is_array_record() const { return array != nullptr; }
  /// Returns how long the present run has stood still in suspensions that are over.
  Duration suspended_before() const { return run == nullptr ? Duration() : run->suspended_before; }
};

/// Returns the number of the job's present run, or of its next one while it waits, from 1; for a
/// trial's job it counts the runs of all its jobs.
inline std::uint32_t run_number(const Job& job) { return job.spec->runs_before + job.attempt + 1; }
/// Returns the number of the job's last run that began; 0: none has, of any job of its trial's.
inline std::uint32_t last_run(const Job& job) {
  return job.spec->runs_before + job.attempt + (job.run == nullptr ? 0 : 1);
}

}  // namespace muster
