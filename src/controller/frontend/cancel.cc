#include <fmt/format.h>

#include <csignal>
#include <set>

#include "controller/frontend/frontend.h"

namespace muster::frontend {
namespace {

Error already_over() { return Error{ErrorCode::kFailedPrecondition, "Job/step already completing or completed", ""}; }
Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied", "only its owner or an operator may do this"};
}

Error claimed_already() {
  return Error{ErrorCode::kConflict, "Job update conflicts with another of the same request", "send them one after the other"};
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
    if (!step.is_running()) continue;
    const bool is_batch = step.id.step == kBatchStep;
    if (is_batch ? (cancel.batch_only || cancel.full) : !cancel.batch_only) {
      orders.push_back(SignalOrder{step.id, cancel.signal, is_batch && cancel.batch_only});
    }
  }
}

struct Canceller {
  Draft& draft;
  const CancelJobs& cancel;
  const Identity& identity;
  std::vector<SignalOrder>& orders;
  std::set<JobId> seen;

  /// `id` is a record of the state, or an element that the draft has just split off a pending array.
  std::optional<Error> one(JobId id) {
    if (!seen.insert(id).second) return std::nullopt;
    const Job* job = draft.state().jobs().find(id);
    if (job == nullptr) return draft_cancel(draft, id, identity);
    if (!may_control(*job, identity)) return not_allowed();
    const bool is_end = cancel.signal == 0 || (cancel.signal == SIGKILL && !cancel.batch_only);
    // A run that is over and would go back to the queue is cancelled too.
    if (is_end && (job->flags & job_flag::kRequeueAfter) != 0) return draft_cancel(draft, id, identity);
    if (is_finished(job->state)) return job->is_completing() && cancel.signal == 0 ? std::nullopt : std::optional(already_over());
    if (is_end) return draft_cancel(draft, id, identity);
    if (job->run == nullptr) return cancel.signal == SIGKILL ? draft_cancel(draft, id, identity) : std::nullopt;
    order_signal(*job, cancel, orders);
    return std::nullopt;
  }
};

/// The owner must be checked before elements split off, because the draft has no record to ask.
std::optional<Error> check_owner(const ClusterState& state, const JobSelector& selector, const Identity& identity) {
  const Job* job = state.jobs().find(selector.job);
  if (job != nullptr && !may_control(*job, identity)) return not_allowed();
  return std::nullopt;
}

/// One outcome for the whole selector: the first error unless something of it could be done.
std::optional<Error> cancel_selected(Canceller& canceller, const JobSelector& selector) {
  const ClusterState& state = canceller.draft.state();
  if (auto refused = check_owner(state, selector, canceller.identity)) return refused;
  const bool only_signal = canceller.cancel.signal != 0 && canceller.cancel.signal != SIGKILL;
  auto ids = resolve(state, selector, only_signal ? nullptr : &canceller.draft);
  if (!ids.has_value()) return ids.error();
  std::optional<Error> first;
  bool is_any_done = false;
  for (const JobId id : ids.value()) {
    const Job* job = state.jobs().find(id);
    if (job != nullptr && !matches(state, *job, canceller.cancel.filter)) continue;
    const bool is_empty_record = job != nullptr && job->array != nullptr && !job->array_index &&
                                 job->array->remaining.indices.empty();
    if (is_empty_record) continue;
    auto refused = canceller.one(id);
    is_any_done = is_any_done || !refused;
    if (refused && !first) first = refused;
  }
  return is_any_done ? std::nullopt : first;
}

}  // namespace

Reply cancel(Draft& draft, const CancelJobs& request, const Identity& identity, std::vector<SignalOrder>& orders) {
  Reply reply;
  Canceller canceller{draft, request, identity, orders, {}};
  if (!request.filter.jobs.empty()) {
    for (const JobSelector& selector : request.filter.jobs) {
      auto refused = selector.step ? std::nullopt : cancel_selected(canceller, selector);
      if (refused && request.is_lenient && refused->code != ErrorCode::kPermissionDenied) refused.reset();
      reply.outcomes.push_back(JobOutcome{selector, refused});
    }
    return reply;
  }
  const ClusterState& state = draft.state();
  state.jobs().for_each([&](const Job& job) {
    if (is_finished(job.state) || !matches(state, job, request.filter)) return;
    if (!identity.is_operator && job.spec->user != identity.user) return;
    JobOutcome outcome;
    outcome.job.job = job.id;
    outcome.error = canceller.one(job.id);
    reply.outcomes.push_back(std::move(outcome));
  });
  return reply;
}

Reply cancel_step(Draft& draft, const CancelStep& request, const Identity& identity, std::vector<SignalOrder>& orders) {
  Reply reply;
  const Job* job = draft.state().jobs().find(request.step.job);
  if (job == nullptr) {
    reply.error = Error{ErrorCode::kNotFound, "Invalid job id specified", ""};
  } else if (!may_control(*job, identity)) {
    reply.error = not_allowed();
  } else if (const StepState* step = job->run == nullptr ? nullptr : job->run->find_step(request.step.step);
             step == nullptr || !step->is_running()) {
    reply.error = already_over();
  } else {
    orders.push_back(SignalOrder{step->id, request.signal, false});
  }
  return reply;
}

Reply release_allocation(Draft& draft, const ReleaseAllocation& release, const Identity& identity) {
  Reply reply;
  const Job* job = draft.state().jobs().find(release.job);
  if (job == nullptr || job->attempt != release.attempt || is_finished(job->state)) return reply;
  if (!may_control(*job, identity)) {
    reply.error = not_allowed();
    return reply;
  }
  if (!draft.claim(job->id)) {
    reply.error = claimed_already();
    return reply;
  }
  JobEnding ending;
  ending.job = job->id;
  ending.state = job->is_pending() ? JobState::kCancelled
                 : release.exit.is_success() ? JobState::kCompleted : JobState::kFailed;
  ending.reason = ending.state == JobState::kFailed ? PendingReason::kNonZeroExitCode : PendingReason::kNone;
  ending.exit = release.exit;
  ending.by = identity.user;
  draft.add(std::move(ending));
  return reply;
}

}  // namespace muster::frontend
