// What each verb means for one job as it is now. Errors carry Slurm's texts; what is so already
// (suspended, requeued, released) is no error, because clients repeat requests.
#include <algorithm>

#include "admission/stop.h"
#include "state/trial_of_job.h"
#include "workload/requests/holds.h"
#include "workload/requests/sweep.h"

namespace muster::requests {
namespace {

using Refusal = std::optional<Error>;

Refusal hold(Draft& draft, JobId id, const Job& job, const Identity& identity, bool as_user) {
  JobChanged change;
  change.job = id;
  if (auto refused = hold_job(job, identity, as_user, change)) return refused;
  draft.add(std::move(change));
  return std::nullopt;
}

Refusal release(Draft& draft, JobId id, const Job& job, const Identity& identity) {
  // A hold for its return was set with the requeue: it can be lifted when it is back.
  if (auto refused = check_release_is_due(job)) return refused;
  const bool is_over = is_finished(job.state) && (job.flags & job_flag::kRequeueAfter) == 0;
  if (is_over || (!job.is_pending() && !job.is_held())) return std::nullopt;  // nothing holds it
  JobChanged change;
  change.job = id;
  if (auto refused = release_job(draft, job, identity, change)) return refused;
  // Nothing to lift, and its priority is not zero: no event for that.
  if (!job.is_held() && (job.flags & job_flag::kSpecialExit) == 0 && job.priority != 0)
    return std::nullopt;
  draft.add(std::move(change));
  return std::nullopt;
}

/// Back to the queue: at once when it has ended, after its nodes are clean when it runs.
Refusal requeue(Draft& draft, JobId id, const Job& job, std::uint16_t hold_flags,
                TimePoint eligible) {
  if (job.spec->kind != JobKind::kBatch) {
    return Error{ErrorCode::kFailedPrecondition, "Requested operation is presently disabled",
                 "only batch jobs can be requeued"};
  }
  // The user's wish at submission binds operators as well. Source: sbatch(1), --no-requeue.
  if (!job.spec->is_requeue) {
    return Error{ErrorCode::kFailedPrecondition, "Requested operation is presently disabled",
                 "the job was submitted with --no-requeue"};
  }
  if (job.is_pending()) return precondition("Job is pending execution", "");
  // A trial is asked to stop and not ended: it saves what it has, and its stop sends it back to the
  // queue.
  if (const Trial* trial = trial_of(draft.state(), job);
      trial != nullptr && job.run != nullptr && !is_finished(job.state)) {
    admission::draft_stop(
        draft, job, StopCall::kPreempt,
        draft.state().experiments().find(trial->experiment)->spec->preemption_timeout);
    return std::nullopt;
  }
  if (job.spec->trial.value() != 0)
    return precondition("Job is a trial's, and over", "its search has gone on without it");
  if (job.is_over()) {
    // It has ended: at once and without orders to nodes.
    const auto holds = static_cast<std::uint16_t>(hold_flags | (job.flags & job_flag::kAnyHold));
    draft.add(JobRequeued{id, eligible, holds});
    return std::nullopt;
  }
  JobEnding ending;
  ending.job = id;
  ending.state = JobState::kCancelled;
  ending.requeue_after = true;
  // A hold that an earlier request has set for its return stays.
  const bool was_to_come_back = (job.flags & job_flag::kRequeueAfter) != 0;
  ending.hold_after = hold_flags;
  if (was_to_come_back) ending.hold_after |= job.hold_after;
  ending.detail = "requeued";
  draft.add(std::move(ending));
  return std::nullopt;
}

Refusal suspend(Draft& draft, JobId id, const Job& job, const Identity& identity) {
  if (!identity.is_operator)
    return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                 "only an operator may suspend jobs"};
  if (job.is_pending()) return precondition("Job is pending execution", "");
  if (job.state == JobState::kSuspended) return std::nullopt;
  if (job.state != JobState::kRunning)
    return precondition("Job/step already completing or completed", "");
  draft.add(JobSuspended{id});
  return std::nullopt;
}

Refusal resume(Draft& draft, JobId id, const Job& job, const Identity& identity) {
  if (!identity.is_operator)
    return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                 "only an operator may resume jobs"};
  if (job.state == JobState::kRunning) return precondition("Job is not suspended", "");
  if (job.state != JobState::kSuspended)
    return precondition("Job/step already completing or completed", "");
  draft.add(JobResumed{id});
  return std::nullopt;
}

Refusal apply_verb(Draft& draft, JobId id, const Job& job, JobVerb verb, const Identity& identity) {
  const TimePoint now = draft.state().time();
  switch (verb) {
    case JobVerb::kHold: return hold(draft, id, job, identity, false);
    case JobVerb::kUserHold: return hold(draft, id, job, identity, true);
    case JobVerb::kRelease: return release(draft, id, job, identity);
    case JobVerb::kRequeue:
      return requeue(draft, id, job, 0, now + draft.state().settings().requeue_delay);
    // Source: scontrol(1), requeuehold and "requeue state=SpecialExit": held at once, without
    // RequeueDelay.
    case JobVerb::kRequeueHold: return requeue(draft, id, job, job_flag::kRequeueHeld, now);
    case JobVerb::kRequeueSpecialExit:
      return requeue(draft, id, job, job_flag::kRequeueHeld | job_flag::kSpecialExit, now);
    case JobVerb::kSuspend: return suspend(draft, id, job, identity);
    case JobVerb::kResume: return resume(draft, id, job, identity);
  }
  return precondition("Invalid job state", "");
}

Refusal apply_once(Draft& draft, JobId id, const Job& job, JobVerb verb, const Identity& identity) {
  if (draft.is_claimed(id)) {
    return Error{ErrorCode::kConflict, "Job update conflicts with another of the same request",
                 "send them one after the other"};
  }
  Refusal refused = apply_verb(draft, id, job, verb, identity);
  // Flags may be set twice in a batch; an end or a return may not, because the second would be
  // drafted for a run that the first has ended.
  const bool is_flag =
      verb == JobVerb::kHold || verb == JobVerb::kUserHold || verb == JobVerb::kRelease;
  if (!refused && !is_flag) draft.claim(id);
  return refused;
}

}  // namespace

Verdict control_one(Draft& draft, JobId id, const Job& job, JobVerb verb,
                    const Identity& identity) {
  if (id == job.id && is_spent_array(job)) return Verdict{false, {}};
  return Verdict{true, apply_once(draft, id, job, verb, identity)};
}

Reply control(Draft& draft, const ControlJobs& request, const Identity& identity) {
  std::vector<SignalOrder> none;
  Sweep sweep(request, identity, draft.state());
  sweep.step(draft, Sweep::kAll, none);
  return std::move(sweep.reply());
}

}  // namespace muster::requests
