// From running to ended: steps that end, jobs that end with them, cancelled, timed out, requeued.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "controller/backend/trial_rules.h"
#include "controller/core.h"

namespace muster {
namespace {

constexpr const char* kStepLost = "the step was lost: its supervisor ended without a record";

/// What a step came to on all its nodes: those that the job has left already (in the state), and
/// the others.
StepPart whole_of(const StepState& step, const StepProgress& progress) {
  StepPart whole{step.id.step, step.exit, step.usage, step.detail};
  for (const auto& [index, part] : progress.parts) {
    whole.exit = worse(whole.exit, part.exit);
    whole.usage += part.usage;
    if (whole.detail.empty()) whole.detail = part.detail;
  }
  const bool is_out_of_memory =
      progress.is_out_of_memory || step.exit.signal() == kOutOfMemorySignal;
  if (is_out_of_memory) whole.exit = ExitStatus::signalled(kOutOfMemorySignal);
  if (whole.detail.empty() && progress.is_lost) whole.detail = kStepLost;
  return whole;
}

/// A step that ends because its job was ended shares the job's fate.
JobState step_state(const Job& job, const StepPart& whole, bool is_timeout) {
  const bool is_killed =
      is_finished(job.state) && job.state != JobState::kCompleted && job.state != JobState::kFailed;
  const bool is_out_of_memory = whole.exit.signal() == kOutOfMemorySignal;
  if (is_killed && !whole.exit.is_success()) return job.state;
  if (is_timeout) return JobState::kTimeout;
  if (whole.exit.signal() == SIGKILL || whole.exit.signal() == SIGTERM) return JobState::kCancelled;
  if (is_out_of_memory) return JobState::kOutOfMemory;
  return whole.exit.is_success() && whole.detail.empty() ? JobState::kCompleted : JobState::kFailed;
}

bool has_released(const Job& job, NodeIndex node) {
  const auto& nodes = job.run->allocation->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].node == node) return job.run->released.test(i);
  }
  return false;
}

bool is_in(const std::vector<std::uint32_t>& codes, int code) {
  return std::ranges::find(codes, static_cast<std::uint32_t>(code)) != codes.end();
}

}  // namespace

bool Core::is_running_on(const Job& job, NodeIndex node) const {
  for (const StepState& step : job.run->steps) {
    if (!step.is_running()) continue;
    const auto progress = progress_.find(step.id);
    for (std::size_t i = 0; i < step.layout->nodes.size(); ++i) {
      const bool is_done = progress != progress_.end() && progress->second.done.test(i);
      if (step.layout->nodes[i].node == node && !is_done) return true;
    }
  }
  return false;
}

void Core::on_step_done(NodeIndex node, const StepDone& done, TimePoint now) {
  const Job* job = state_.jobs().find(done.id.job);
  const StepState* step = job == nullptr || job->run == nullptr || job->attempt != done.id.attempt
                              ? nullptr
                              : job->run->find_step(done.id.step);
  if (step == nullptr || !step->is_running()) {
    // Known already, or of a run that is over.
    send_when_durable(node, AcknowledgeStep{done.id, done.launch_key});
    return;
  }
  StepProgress& progress = progress_[done.id];
  for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
    if (step->layout->nodes[i].node != node || progress.done.test(i)) continue;
    progress.done.set(i);
    if (!step->begun.test(i)) heard_starts_.push_back({now, done.id, i});
    if (has_released(*job, node))
      continue;  // told to an earlier controller: its part is in the state
    StepPart& part = progress.parts[i];
    part.step = done.id.step;
    part.usage = done.usage;
    for (const ExitStatus exit : done.tasks) part.exit = worse(part.exit, exit);
    if (done.is_out_of_memory) part.exit = ExitStatus::signalled(kOutOfMemorySignal);
    part.detail = done.error;
    progress.is_out_of_memory = progress.is_out_of_memory || done.is_out_of_memory;
    progress.is_lost = progress.is_lost || done.is_lost;
    progress.is_node_fault = progress.is_node_fault || done.is_node_fault;
    progress.is_timeout = progress.is_timeout || done.is_timeout;
    if (done.is_node_fault && !done.is_lost) drain_for_launch(node, done, now);
  }
  if (progress.done.count() == step->layout->nodes.size()) finish_step(*job, *step, now);
  if (job->is_completing()) release_clean_nodes(done.id.job, now);
}

void Core::finish_step(const Job& job, const StepState& step, TimePoint now) {
  const StepProgress progress = progress_[step.id];
  progress_.erase(step.id);
  forget_launch(step.id);
  const StepPart whole = whole_of(step, progress);
  StepEnded ended{step.id, step_state(job, whole, progress.is_timeout), whole.exit, whole.usage,
                  whole.detail};
  if (!ended.detail.empty() && ended.exit.is_success()) ended.exit = ExitStatus::exited(1);
  const auto nodes = step.layout;
  const std::uint64_t launch_key = job.run->launch_key_of(step);
  emit(ended, now);
  for (const NodeGrant& grant : nodes->nodes)
    send_when_durable(grant.node, AcknowledgeStep{ended.step, launch_key});
  if (!is_finished(job.state)) end_with_step(job.id, ended, progress, now);
  if (waiting_steps_.contains(job.id)) room_for_steps_.push_back(job.id);
}

/// The batch script's end is the job's; so is the end of the only step of `srun`.
void Core::end_with_step(JobId id, const StepEnded& ended, const StepProgress& progress,
                         TimePoint now) {
  const bool is_node_fault = progress.is_node_fault;
  const Job& job = *state_.jobs().find(id);
  const bool is_batch = ended.step.step == kBatchStep;
  const bool is_only =
      job.spec->kind == JobKind::kRun && job.first_step != nullptr && ended.step.step == 0;
  if (!is_batch && !is_only) return;
  JobEnding ending;
  ending.job = id;
  ending.state = ended.state == JobState::kCompleted     ? JobState::kCompleted
                 : ended.state == JobState::kOutOfMemory ? JobState::kOutOfMemory
                                                         : JobState::kFailed;
  ending.exit = ended.exit;
  ending.detail = ended.detail;
  if (!ended.detail.empty()) {
    ending.reason = PendingReason::kJobLaunchFailure;
  } else if (ending.state == JobState::kOutOfMemory) {
    ending.reason = PendingReason::kOutOfMemory;
  } else if (ended.exit.signal() != 0) {
    ending.reason = PendingReason::kRaisedSignal;
  } else if (ended.exit.code() != 0) {
    ending.reason = PendingReason::kNonZeroExitCode;
  }
  // It is the node that failed: what goes back to the queue for it is not counted among the job's
  // own failures.
  if (is_batch && is_node_fault) ending.requeue_after = job.spec->is_requeue;
  if (is_batch && is_node_fault && ending.requeue_after) ending.state = JobState::kNodeFail;
  // One that loses its supervisor wherever it runs is the fault of none of the nodes.
  const bool is_trial = job.spec->trial.value() != 0;
  const bool is_lost_again = progress.is_lost && ending.requeue_after;
  const bool is_own_doing = is_lost_again && ++lost_runs_[id] >= kLossesMax;
  if (!is_lost_again || (is_own_doing && !is_trial)) lost_runs_.erase(id);
  if (is_own_doing && !is_trial) {
    ending.hold_after = job_flag::kRequeueHeld;
    port_.warn(fmt::format("job {} is held: the supervisors of its last {} runs were lost",
                           id.value(), kLossesMax));
  }
  if (is_batch && is_in(state_.settings().requeue_exit, ended.exit.code()))
    ending.requeue_after = job.spec->is_requeue;
  if (is_batch && is_in(state_.settings().requeue_exit_hold, ended.exit.code())) {
    ending.requeue_after = job.spec->is_requeue;
    ending.hold_after = job_flag::kRequeueHeld | job_flag::kSpecialExit;
  }
  settle_trial(job, !is_node_fault || is_own_doing, ending);
  ending.is_clean = std::ranges::none_of(job.run->steps, &StepState::is_running);
  emit(std::move(ending), now);
}

/// A run whose end was decided: its processes are told to go, nodes that have none are released.
void Core::on_ending(const Job& job, TimePoint now) {
  leases_.erase(job.id);
  if ((job.flags & job_flag::kRequeueAfter) == 0) lost_runs_.erase(job.id);
  arm(job);
  if (const auto waiting = waiting_steps_.find(job.id); waiting != waiting_steps_.end()) {
    for (Command& command : waiting->second) {
      Reply reply;
      reply.error =
          Error{ErrorCode::kFailedPrecondition, "Job/step already completing or completed", ""};
      replies_.emplace_back(command.token, std::vector<Reply>{std::move(reply)});
    }
    waiting_steps_.erase(waiting);
  }
  if (!job.is_completing()) {
    after_clean(job.id, now);
    return;
  }
  std::string cause;
  switch (job.state) {
    case JobState::kTimeout: cause = "DUE TO TIME LIMIT"; break;
    case JobState::kNodeFail: cause = "DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS"; break;
    case JobState::kPreempted: cause = "DUE TO PREEMPTION"; break;
    case JobState::kCancelled:
      cause = (job.flags & job_flag::kRequeueAfter) != 0 ? "DUE TO JOB REQUEUE"
                                                         : "DUE to SIGNAL Terminated";
      break;
    default: break;
  }
  for (const NodeGrant& grant : job.run->allocation->nodes) {
    if (is_running_on(job, grant.node)) {
      send_end(job.id, grant.node,
               TerminateJob{job.id, job.attempt, cause, state_.settings().kill_wait}, now);
    }
  }
  release_clean_nodes(job.id, now);
}

/// What steps that go on elsewhere came to on a node: journalled with its release, because its
/// agent may be gone by the time that they end, and this process too.
std::vector<StepPart> Core::take_parts(const Job& job, NodeIndex node) {
  std::vector<StepPart> parts;
  for (const StepState& step : job.run->steps) {
    const auto progress = progress_.find(step.id);
    if (!step.is_running() || progress == progress_.end()) continue;
    for (std::size_t i = 0; i < step.layout->nodes.size(); ++i) {
      if (step.layout->nodes[i].node != node || !progress->second.parts.contains(i)) continue;
      parts.push_back(progress->second.parts.extract(i).mapped());
      if (parts.back().detail.empty() && progress->second.is_lost) parts.back().detail = kStepLost;
    }
  }
  return parts;
}

void Core::release_clean_nodes(JobId id, TimePoint now) {
  const Job* job = state_.jobs().find(id);
  std::vector<NodeIndex> clean;
  for (std::size_t i = 0; i < job->run->allocation->nodes.size(); ++i) {
    const NodeIndex node = job->run->allocation->nodes[i].node;
    if (!job->run->released.test(i) && !is_running_on(*job, node)) clean.push_back(node);
  }
  // With the last node a step is over even where its end was told to an earlier controller alone.
  if (clean.size() + job->run->released.count() == job->run->allocation->nodes.size()) {
    std::vector<StepId> open;
    for (const StepState& step : job->run->steps) {
      if (step.is_running()) open.push_back(step.id);
    }
    for (const StepId& step : open) finish_step(*job, *job->run->find_step(step.step), now);
  }
  for (const NodeIndex node : clean) emit(NodeReleased{id, node, take_parts(*job, node)}, now);
  if (!clean.empty() && !job->is_completing()) after_clean(id, now);
}

void Core::after_clean(JobId id, TimePoint now) {
  const Job& job = *state_.jobs().find(id);
  if ((job.flags & job_flag::kRequeueAfter) == 0) {
    arm(job);
    wished_slots_.erase(id);
    source_copies(job, now);
    end_collection(job, now);
    return;
  }
  if (const Trial* trial = trial_of(state_, job)) {
    emit(JobRequeued{id, now, trial_hold(state_, *trial)}, now);
    source_copies(job, now);
    // A controller that died since the wish has forgotten it: then the trial goes on as it was.
    if (const auto wish = wished_slots_.extract(id)) resize({id, wish.mapped()}, now);
    return;
  }
  constexpr std::uint16_t kByUsers = job_flag::kUserHeld | job_flag::kAdminHeld;  // while it ran
  JobRequeued requeued{id, now + state_.settings().requeue_delay,
                       static_cast<std::uint16_t>(job.hold_after | (job.flags & kByUsers))};
  const bool is_too_often =
      job.attempt + 1 > state_.settings().max_batch_requeue && job.state == JobState::kFailed;
  if (is_too_often) requeued.flags |= job_flag::kRequeueHeld;
  emit(requeued, now);
  if (is_too_often) {
    JobChanged why;
    why.job = id;
    why.reason = PendingReason::kJobHoldMaxRequeue;
    emit(std::move(why), now);
  }
}

void Core::end_job(JobId id, JobState state, std::string cause, TimePoint now) {
  JobEnding ending;
  ending.job = id;
  ending.state = state;
  ending.detail = std::move(cause);
  ending.reason = state == JobState::kTimeout    ? PendingReason::kTimeLimit
                  : state == JobState::kNodeFail ? PendingReason::kNodeDown
                                                 : PendingReason::kNone;
  const Job& job = *state_.jobs().find(id);
  if (job.is_pending() && job.reason == PendingReason::kDependencyNeverSatisfied)
    ending.reason = job.reason;
  if (state == JobState::kNodeFail) {
    ending.requeue_after = job.spec->is_requeue && job.spec->kind == JobKind::kBatch;
    ending.exit = ExitStatus::exited(1);
  }
  settle_trial(job, state != JobState::kNodeFail, ending);
  emit(std::move(ending), now);
}

void Core::retry_waiting_steps(JobId id, TimePoint now) {
  const auto waiting = waiting_steps_.find(id);
  if (waiting == waiting_steps_.end()) return;
  std::vector<Command> commands = std::move(waiting->second);
  waiting_steps_.erase(waiting);
  for (Command& command : commands) take(std::move(command), now);
}

}  // namespace muster
