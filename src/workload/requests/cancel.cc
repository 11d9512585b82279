// cancel_one() decides what scancel means for one job as it is now; which jobs are meant is
// selection.cc, how many at a time sweep.cc. Only ends become events. A signal that ends nothing is
// an order that a crash may lose.
#include <fmt/format.h>

#include <csignal>

#include "access/job_access.h"
#include "workload/requests/sweep.h"

namespace muster::requests {
namespace {

Error already_over() {
  return Error{ErrorCode::kFailedPrecondition, "Job/step already completing or completed", ""};
}
Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
               "only its owner or an operator may do this"};
}

Error claimed_already() {
  return Error{ErrorCode::kConflict, "Job update conflicts with another of the same request",
               "send them one after the other"};
}

/// A job that waits ends at once; one that runs is ended by its nodes.
std::optional<Error> draft_cancel(Draft& draft, JobId id, const Identity& identity) {
  if (!draft.claim(id)) return claimed_already();
  JobEnding ending;
  ending.job = id;
  ending.state = JobState::kCancelled;
  ending.by = identity.user;
  const Job* job = draft.state().jobs().find(id);
  const bool has_run = job != nullptr && job->run != nullptr;
  if (has_run) ending.exit = ExitStatus::signalled(SIGTERM);
  draft.add(std::move(ending));
  return std::nullopt;
}

void order_signal(const Job& job, const CancelJobs& cancel, std::vector<SignalOrder>& orders) {
  for (const StepState& step : job.run->steps) {
    // Source: scancel(1): a signal goes to the steps, with --full to the batch script as well, with
    // --batch to the script alone.
    if (!step.is_running()) continue;
    const bool is_batch = step.id.step == kBatchStep;
    if (is_batch ? (cancel.batch_only || cancel.full) : !cancel.batch_only) {
      orders.push_back(SignalOrder{step.id, cancel.signal, is_batch && cancel.batch_only});
    }
  }
}

}  // namespace

Verdict cancel_one(Draft& draft, JobId id, const Job& job, const CancelJobs& cancel,
                   const Identity& identity, std::vector<SignalOrder>& orders) {
  // An element that has just split off: its array met the conditions.
  if (job.id != id) return Verdict{true, draft_cancel(draft, id, identity)};
  if (!matches(draft.state(), job, cancel.filter)) return Verdict{false, {}};
  if (is_spent_array(job)) return Verdict{false, {}};
  if (!access::may_control(job, identity)) return Verdict{true, not_allowed()};
  // SIGKILL for all of a job is its end; for the batch shell alone it is a signal.
  const bool is_end = cancel.signal == 0 || (cancel.signal == SIGKILL && !cancel.batch_only);
  // A run that is over and would go back to the queue is cancelled too.
  if (is_end && (job.flags & job_flag::kRequeueAfter) != 0)
    return Verdict{true, draft_cancel(draft, id, identity)};
  if (is_finished(job.state)) {
    // A plain scancel of a job that is completing has what it wants.
    const bool is_ending_anyway = job.is_completing() && cancel.signal == 0;
    return Verdict{true, is_ending_anyway ? std::nullopt : std::optional(already_over())};
  }
  if (is_end) return Verdict{true, draft_cancel(draft, id, identity)};
  if (job.run == nullptr) {
    // No process could get the signal. SIGKILL, here for the batch shell alone, ends the job; any
    // other does nothing.
    const bool is_killed = cancel.signal == SIGKILL;
    return Verdict{true, is_killed ? draft_cancel(draft, id, identity) : std::nullopt};
  }
  order_signal(job, cancel, orders);
  return Verdict{};
}

Reply cancel(Draft& draft, const CancelJobs& request, const Identity& identity,
             std::vector<SignalOrder>& orders) {
  Sweep sweep(request, identity, draft.state());
  sweep.step(draft, Sweep::kAll, orders);
  return std::move(sweep.reply());
}

Reply cancel_step(Draft& draft, const CancelStep& request, const Identity& identity,
                  std::vector<SignalOrder>& orders) {
  Reply reply;
  const Job* job = draft.state().jobs().find(request.step.job);
  if (job == nullptr) {
    reply.error = Error{ErrorCode::kNotFound, "Invalid job id specified", ""};
  } else if (!access::may_control(*job, identity)) {
    reply.error = not_allowed();
  } else if (const StepState* step =
                 job->run == nullptr ? nullptr : job->run->find_step(request.step.step);
             step == nullptr || !step->is_running()) {
    reply.error = already_over();
  } else if (request.launch_key != 0 && job->run->launch_key_of(*step) != request.launch_key) {
    reply.error = number_is_anothers(step->id);
  } else {
    // The end is in the state: a node that is away hears of it when it registers.
    if (request.signal == SIGKILL && !step->cancelled_by)
      draft.add(StepCancelled{step->id, identity.user});
    orders.push_back(SignalOrder{step->id, request.signal, false});
  }
  return reply;
}

Error number_is_anothers(const StepId& step) {
  return Error{ErrorCode::kNotFound,
               fmt::format("step {}.{} is not there any more", step.job.value(), step.step),
               "another step has its number: an older copy of the controller's state was put back"};
}

Reply release_allocation(Draft& draft, const ReleaseAllocation& release, const Identity& identity) {
  Reply reply;
  const Job* job = draft.state().jobs().find(release.job);
  // A repeat, or the word of a client whose run is over: nothing is left to be released.
  if (job == nullptr || job->attempt != release.attempt || is_finished(job->state)) return reply;
  if (!access::may_control(*job, identity)) {
    reply.error = not_allowed();
    return reply;
  }
  if (!draft.claim(job->id)) {
    reply.error = claimed_already();
    return reply;
  }
  JobEnding ending;
  ending.job = job->id;
  ending.state = job->is_pending()           ? JobState::kCancelled
                 : release.exit.is_success() ? JobState::kCompleted
                                             : JobState::kFailed;
  ending.reason =
      ending.state == JobState::kFailed ? PendingReason::kNonZeroExitCode : PendingReason::kNone;
  ending.exit = release.exit;
  ending.by = identity.user;
  draft.add(std::move(ending));
  return reply;
}

}  // namespace muster::requests
