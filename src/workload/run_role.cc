// What the parts of a step report is gathered in memory (StepProgress) until all parts are in; then
// one StepEnded says what the step came to and, where the step was the run, one JobEnding what the
// run came to. Orders to the nodes follow in the same turn (finish_endings), and nodes that have
// nothing left of the job are released. The last release ends the run: the job is over or goes back
// to the queue (after_clean). A crash in between loses progress alone, because agents repeat an end
// until it is acknowledged.
#include "workload/run_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "access/job_access.h"
#include "engine/run_policy.h"
#include "state/views.h"
#include "workload/launch/launch_key.h"
#include "workload/launch_role.h"
#include "workload/node_role.h"
#include "workload/requests/job_requests.h"
#include "workload/run_lookup.h"
#include "workload/timer_role.h"

namespace muster {
namespace {

/// Nodes' words about steps that are written down per turn, each when it is so old.
constexpr std::size_t kBegunPerTurn = 1000;
constexpr Duration kBegunAge = Duration::seconds(1);

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
  // One task that was killed for memory explains what became of the others: whatever they exited
  // with, the step ran out of memory.
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
  // The order decides: the job's fate, the step's own time limit, a signal from outside, memory,
  // and only then what the tasks returned.
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

RunRole::RunRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

void RunRole::begin() {
  state_.jobs().for_each([&](const Job& job) {
    // No client could renew its lease while no controller ran: each gets a whole one.
    if (job.spec->kind != JobKind::kBatch && !job.is_over()) begin_lease(job.id);
    if (job.run == nullptr) return;
    for (const StepState& step : job.run->steps) {
      if (!step.is_running()) continue;
      // What had begun counts as running, so that a node that has lost its record is asked about
      // the step rather than told to launch it.
      if (!step.begun.empty()) progress_[step.id].running = step.begun;
      // Nothing says whether the launch left before this start, so that the nodes' time begins
      // anew.
      if (!is_finished(job.state) && step.begun.count() < step.layout->nodes.size())
        roles_.launches->watch_launch(step.id);
    }
  });
}

const StepProgress* RunRole::find_progress(const StepId& step) const {
  const auto found = progress_.find(step);
  return found == progress_.end() ? nullptr : &found->second;
}

void RunRole::on_running(NodeIndex node, const StepState& step) {
  StepProgress& progress = progress_[step.id];
  for (std::size_t i = 0; i < step.layout->nodes.size(); ++i) {
    if (step.layout->nodes[i].node != node) continue;
    progress.running.set(i);
    if (!step.begun.test(i)) heard_starts_.push_back({now(), step.id, i});
  }
  if (progress.heard() >= step.layout->nodes.size()) roles_.launches->forget_launch(step.id);
}

void RunRole::mark_room(JobId job) {
  if (!waiting_steps_.empty()) room_for_steps_.push_back(job);
}

void RunRole::retry_waiting_steps() {
  for (const JobId id : std::exchange(room_for_steps_, {})) retry_waiting_steps_of(id);
}

void RunRole::finish_endings() {
  for (const JobId id : std::exchange(endings_, {})) {
    if (const Job* job = state_.jobs().find(id)) on_ending(*job);
  }
}

// ---- leases ----

void RunRole::begin_lease(JobId job) {
  leases_[job] = now() + roles_.options.lease;
  engine_.timers().set(Timer{leases_[job], job, 0, TimerKind::kLease});
}

Reply RunRole::renew_lease(JobId id, const Identity& identity) {
  Reply reply;
  const Job* job = state_.jobs().find(id);
  // A job that is gone is no error here: its client hears of that where it waits for it.
  if (job != nullptr && !access::may_control(*job, identity)) {
    reply.error = Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                        "only its owner or an operator may keep an allocation"};
  } else if (const auto lease = leases_.find(id); lease != leases_.end()) {
    lease->second = now() + roles_.options.lease;
  }
  return reply;
}

void RunRole::extend_leases() {
  for (auto& [job, expiry] : leases_) expiry = std::max(expiry, now() + roles_.options.lease);
}

void RunRole::on_lease_over(const Job& job) {
  const auto lease = leases_.find(job.id);
  if (lease == leases_.end()) return;
  if (lease->second > now()) {
    // Renewals move the deadline and leave the timer alone: it is set once a lease, not once a
    // renewal.
    engine_.timers().set(Timer{lease->second, job.id, 0, TimerKind::kLease});
  } else if (!job.is_over() && !is_finished(job.state)) {
    end_job(job.id, JobState::kCancelled, "its client has gone away");
  }
}

// ---- steps ----

bool RunRole::is_running_on(const Job& job, NodeIndex node) const {
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

void RunRole::on_step_done(NodeIndex node, const StepDone& done) {
  const Job* job = running_job(state_, done.id.job, done.id.attempt);
  const StepState* step = job == nullptr ? nullptr : job->run->find_step(done.id.step);
  if (step == nullptr || !step->is_running()) {
    // The end is in the state, or its run is over: unless it is acknowledged, the agent keeps the
    // record and reports it again.
    engine_.send(node, AcknowledgeStep{done.id, done.launch_key});
    return;
  }
  StepProgress& progress = progress_[done.id];
  for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
    if (step->layout->nodes[i].node != node || progress.done.test(i)) continue;
    progress.done.set(i);
    // The part's outcome is in memory alone until all parts are in. Should this process and the
    // node's record be lost before, this says that the part is not to be started again.
    if (!step->begun.test(i)) heard_starts_.push_back({now(), done.id, i});
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
    // A lost supervisor says little about its node: several in a row drain it (count_losses).
    if (done.is_node_fault && !done.is_lost) roles_.nodes->drain_for_launch(node, done);
  }
  if (progress.done.count() == step->layout->nodes.size()) finish_step(*job, *step);
  if (job->is_completing()) release_clean_nodes(done.id.job);
}

void RunRole::finish_step(const Job& job, const StepState& step) {
  const StepProgress progress = progress_[step.id];
  progress_.erase(step.id);
  roles_.launches->forget_launch(step.id);
  const StepPart whole = whole_of(step, progress);
  StepEnded ended{step.id, step_state(job, whole, progress.is_timeout), whole.exit, whole.usage,
                  whole.detail};
  // A step without an exit of its own, because it was lost or refused, must not read as a success.
  if (!ended.detail.empty() && ended.exit.is_success()) ended.exit = ExitStatus::exited(1);
  const auto nodes = step.layout;
  const std::uint64_t launch_key = job.run->launch_key_of(step);
  engine_.emit(ended);
  // After the event: what is sent waits for the batch as far as it has come, and an agent that is
  // acknowledged earlier forgets an end that a crash would take from us.
  for (const NodeGrant& grant : nodes->nodes)
    engine_.send(grant.node, AcknowledgeStep{ended.step, launch_key});
  if (!is_finished(job.state)) end_with_step(job.id, ended, progress);
  if (waiting_steps_.contains(job.id)) room_for_steps_.push_back(job.id);
}

/// The batch script's end is the job's; so is the end of the only step of `srun`.
void RunRole::end_with_step(JobId id, const StepEnded& ended, const StepProgress& progress) {
  const bool is_node_fault = progress.is_node_fault;
  const Job& job = *state_.jobs().find(id);
  const bool is_batch = ended.step.step == kBatchStep;
  const bool is_only =
      job.spec->kind == JobKind::kRun && job.first_step != nullptr && ended.step.step == 0;
  // Any other step ends alone: those of salloc, and those that a script starts.
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
  // Counted in a row: any other end starts the count anew. A trial is not held here, because its
  // policy counts its restarts (refine_ending).
  const bool is_own_doing = is_lost_again && ++lost_runs_[id] >= NodeLink::kLossesMax;
  if (!is_lost_again || (is_own_doing && !is_trial)) lost_runs_.erase(id);
  if (is_own_doing && !is_trial) {
    ending.hold_after = job_flag::kRequeueHeld;
    engine_.warn(fmt::format("job {} is held: the supervisors of its last {} runs were lost",
                             id.value(), NodeLink::kLossesMax));
  }
  // Source: slurm.conf(5), RequeueExit and RequeueExitHold. A code in both lists holds the job.
  if (is_batch && is_in(state_.settings().requeue_exit, ended.exit.code()))
    ending.requeue_after = job.spec->is_requeue;
  if (is_batch && is_in(state_.settings().requeue_exit_hold, ended.exit.code())) {
    ending.requeue_after = job.spec->is_requeue;
    ending.hold_after = job_flag::kRequeueHeld | job_flag::kSpecialExit;
  }
  roles_.policy->refine_ending(job, !is_node_fault || is_own_doing, ending);
  ending.is_clean = std::ranges::none_of(job.run->steps, &StepState::is_running);
  engine_.emit(std::move(ending));
}

/// A run whose end was decided: its processes are told to go, nodes that have none are released.
void RunRole::on_ending(const Job& job) {
  leases_.erase(job.id);
  if ((job.flags & job_flag::kRequeueAfter) == 0) lost_runs_.erase(job.id);
  roles_.timers->arm(job);
  // No step of the job will end to make room: a srun that waits for some would wait for ever.
  if (const auto waiting = waiting_steps_.find(job.id); waiting != waiting_steps_.end()) {
    for (Command& command : waiting->second) {
      Reply reply;
      reply.error =
          Error{ErrorCode::kFailedPrecondition, "Job/step already completing or completed", ""};
      engine_.reply(command.token, std::vector<Reply>{std::move(reply)});
    }
    waiting_steps_.erase(waiting);
  }
  if (!job.is_completing()) {
    after_clean(job.id);
    return;
  }
  // These texts end the line "CANCELLED AT ..." that the job's output gets, as from Slurm's
  // slurmstepd.
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
               TerminateJob{job.id, job.attempt, cause, state_.settings().kill_wait});
    }
  }
  release_clean_nodes(job.id);
}

/// What steps that go on elsewhere came to on a node: journalled with its release, because its
/// agent may be gone by the time that they end, and this process too.
std::vector<StepPart> RunRole::extract_parts(const Job& job, NodeIndex node) {
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

void RunRole::release_clean_nodes(JobId id) {
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
    for (const StepId& step : open) finish_step(*job, *job->run->find_step(step.step));
  }
  for (const NodeIndex node : clean)
    engine_.emit(NodeReleased{id, node, extract_parts(*job, node)});
  if (!clean.empty() && !job->is_completing()) after_clean(id);
}

void RunRole::after_clean(JobId id) {
  const Job& job = *state_.jobs().find(id);
  if ((job.flags & job_flag::kRequeueAfter) == 0) {
    roles_.timers->arm(job);
    roles_.policy->after_run(job);
    return;
  }
  if (roles_.policy->after_run(job)) return;
  constexpr std::uint16_t kByUsers = job_flag::kUserHeld | job_flag::kAdminHeld;  // while it ran
  JobRequeued requeued{id, now() + state_.settings().requeue_delay,
                       static_cast<std::uint16_t>(job.hold_after | (job.flags & kByUsers))};
  // Source: slurm.conf(5), MaxBatchRequeue.
  const bool is_too_often =
      job.attempt + 1 > state_.settings().max_batch_requeue && job.state == JobState::kFailed;
  if (is_too_often) requeued.flags |= job_flag::kRequeueHeld;
  engine_.emit(requeued);
  if (is_too_often) {
    JobChanged why;
    why.job = id;
    why.reason = PendingReason::kJobHoldMaxRequeue;
    engine_.emit(std::move(why));
  }
}

void RunRole::end_job(JobId id, JobState state, std::string cause) {
  JobEnding ending;
  ending.job = id;
  ending.state = state;
  ending.detail = std::move(cause);
  ending.reason = state == JobState::kTimeout    ? PendingReason::kTimeLimit
                  : state == JobState::kNodeFail ? PendingReason::kNodeDown
                  : state == JobState::kDeadline ? PendingReason::kDeadline
                                                 : PendingReason::kNone;
  const Job& job = *state_.jobs().find(id);
  if (job.is_pending() && job.reason == PendingReason::kDependencyNeverSatisfied)
    ending.reason = job.reason;
  if (state == JobState::kNodeFail) {
    ending.requeue_after = job.spec->is_requeue && job.spec->kind == JobKind::kBatch;
    ending.exit = ExitStatus::exited(1);
  }
  roles_.policy->refine_ending(job, state != JobState::kNodeFail, ending);
  engine_.emit(std::move(ending));
}

void RunRole::retry_waiting_steps_of(JobId id) {
  const auto waiting = waiting_steps_.find(id);
  if (waiting == waiting_steps_.end()) return;
  // Taken out first: a step that still finds no room puts itself back.
  std::vector<Command> commands = std::move(waiting->second);
  waiting_steps_.erase(waiting);
  for (Command& command : commands) engine_.handle(std::move(command));
}

/// Whether the node has said that it runs its part of the step, or has before this controller.
bool RunRole::has_begun_on(NodeIndex node, const StepId& id) const {
  const Job* job = running_job(state_, id.job, id.attempt);
  const StepState* step = job == nullptr ? nullptr : job->run->find_step(id.step);
  const auto part = step == nullptr ? std::nullopt : part_on(*step, node);
  const auto progress = progress_.find(id);
  return part && progress != progress_.end() && progress->second.running.test(*part);
}

/// What nodes have begun is written down when it is a second old: most short steps are over by then
/// and cost nothing.
void RunRole::record_begun() {
  std::map<StepId, Bitmap> begun;
  for (std::size_t looked = 0; looked < kBegunPerTurn && !heard_starts_.empty() &&
                               now() - heard_starts_.front().time >= kBegunAge;
       ++looked) {
    const HeardStart heard = heard_starts_.front();
    heard_starts_.pop_front();
    const Job* job = running_job(state_, heard.step.job, heard.step.attempt);
    const StepState* step = job == nullptr ? nullptr : job->run->find_step(heard.step.step);
    if (step != nullptr && step->is_running() && !step->begun.test(heard.part))
      begun[heard.step].set(heard.part);
  }
  for (auto& [step, parts] : begun) engine_.emit(StepBegun{step, std::move(parts)});
}

/// Whether the state has the step running there: neither it, nor its part, nor the job is over on
/// that node.
bool RunRole::is_wanted_on(NodeIndex node, const Job* job, const StepState* step) const {
  const auto part = step == nullptr || !step->is_running() ? std::nullopt : part_on(*step, node);
  if (!part || !std::ranges::binary_search(state_.nodes().at(node).jobs, job->id)) return false;
  const auto progress = progress_.find(step->id);
  return progress == progress_.end() || !progress->second.done.test(*part);
}

/// Every node of a run.
void RunRole::send_to_nodes(const Job& job, const ToAgent& message) {
  for (const NodeGrant& grant : job.run->allocation->nodes) engine_.send(grant.node, message);
}

/// When the nodes themselves may end the job, should nobody reach them.
ChangeEnd RunRole::end_of(const Job& job) const {
  const TimePoint end =
      // The grace moves the end (slurm.conf(5), OverTimeLimit), so that nodes do not end the job
      // before the controller would.
      job.end_time.is_set() ? job.end_time + over_time_limit(job) : TimePoint::never();
  return ChangeEnd{job.id, job.attempt, end, end - std::max(now(), state_.time())};
}

void RunRole::send_signals(const std::vector<SignalOrder>& orders) {
  for (const SignalOrder& order : orders) {
    const Job* job = state_.jobs().find(order.step.job);
    // A script alone is sent its signal, and whoever asks is a child of it.
    const bool is_asker_spared = order.batch_only || !engine_.has_asked(order.step.job);
    const StepState& step = *job->run->find_step(order.step.step);
    for (const NodeGrant& grant : step.layout->nodes) {
      ToAgent message =
          SignalStep{order.step, order.signal, order.batch_only, job->run->launch_key_of(step)};
      if (is_asker_spared) {
        engine_.send(grant.node, std::move(message));
      } else {
        later_orders_.emplace(now() + roles_.options.signal_grace,
                              std::pair(grant.node, std::move(message)));
      }
    }
  }
}

void RunRole::accept_step(Command& command) {
  const PreparedStep request = get<PreparedStep>(command.requests.front());
  const std::uint64_t token = command.token;
  Reply reply = create_step(request, command.identity, command);
  if (reply.error && reply.error->code == ErrorCode::kUnavailable)
    return;  // kept until a step ends
  engine_.reply(token, std::vector<Reply>{std::move(reply)});
}

Reply RunRole::create_step(const PreparedStep& request, const Identity& identity,
                           Command& command) {
  Reply reply;
  if (engine_.refusal()) {
    reply.error = engine_.refusal();
    return reply;
  }
  Draft draft(state_, now());
  auto spec = std::make_shared<StepSpec>(*request.spec);
  spec->environment = draft.blob_for(request.environment);
  const bool is_immediate = spec->is_immediate;
  auto created = requests::create_step(state_, request.job, std::move(spec), identity);
  if (!created.has_value()) {
    reply.error = created.error();
    // Source: srun(1), --immediate: a step that does not fit now is refused, not kept.
    if (created.error().code == ErrorCode::kUnavailable && is_immediate) {
      reply.error->code = ErrorCode::kFailedPrecondition;
    } else if (created.error().code == ErrorCode::kUnavailable) {
      waiting_steps_[request.job].push_back(std::move(command));
    }
    return reply;
  }
  const StepId step = created->step;
  created->launch_key = draw_launch_key(state_, step);
  draft.add(std::move(created).value());
  if (const Status sound = engine_.check(draft); !sound.has_value()) {
    reply.error = sound.error();
    return reply;
  }
  reply.job = request.job;
  reply.step = step;
  reply.is_started = true;
  engine_.apply(draft);
  roles_.launches->order_launch(*reply.step);
  // A repeat after a lost answer gets this one, and no second step is started.
  if (command.request.is_set())
    engine_.emit(RequestAnswered{command.request, identity.user, {reply}});
  return reply;
}

/// `scontrol requeue $SLURM_JOB_ID` must not be ended by the very order it gave.
void RunRole::send_end(JobId job, NodeIndex node, ToAgent message) {
  if (!engine_.has_asked(job)) return engine_.send(node, std::move(message));
  later_orders_.emplace(now() + roles_.options.answer_grace, std::pair(node, std::move(message)));
}

/// Scripts often exit once they have asked for their end.
bool RunRole::is_to_be_terminated(const TerminateJob& order, NodeIndex node) const {
  const Job* job = state_.jobs().find(order.job);
  return job != nullptr && job->attempt == order.attempt && job->is_completing() &&
         is_running_on(*job, node);
}

void RunRole::send_due_orders() {
  while (!later_orders_.empty() && later_orders_.begin()->first <= now()) {
    auto [node, message] = std::move(later_orders_.begin()->second);
    later_orders_.erase(later_orders_.begin());
    const auto* terminate = get_if<TerminateJob>(&message);
    if (terminate == nullptr || is_to_be_terminated(*terminate, node))
      engine_.send(node, std::move(message));
  }
}

/// A run with a session asks by itself and gets no signal before its deadline; its stop file is
/// there all the same. Steps of the script's own hear of it where there are any, because their
/// shell would end with the signal and they with it.
void RunRole::deliver_stop(const Job& job, std::optional<NodeIndex> only) {
  const auto is_own = [](const StepState& step) {
    return step.is_running() && step.id.step != kBatchStep;
  };
  const bool has_steps = std::ranges::any_of(job.run->steps, is_own);
  for (const StepState& step : job.run->steps) {
    if (!step.is_running()) continue;
    const bool is_quiet = job.run->has_session || (has_steps && step.id.step == kBatchStep);
    const std::uint16_t signal = is_quiet ? std::uint16_t{0} : std::uint16_t{SIGTERM};
    for (const NodeGrant& grant : step.layout->nodes) {
      if (only && grant.node != *only) continue;
      engine_.send(grant.node,
                   StopStep{step.id, job.run->stop->call, job.run->stop->deadline, signal});
    }
  }
}

/// The time to stop by itself is over.
void RunRole::end_stopped(const Job& job) {
  JobEnding ending;
  ending.job = job.id;
  ending.state = JobState::kCancelled;
  roles_.policy->refine_ending(job, false, ending);
  engine_.emit(std::move(ending));
}

/// A job over which this process died again and again waits until an operator has looked at it; all
/// others go on.
void RunRole::hold_suspect(JobId suspect) {
  const Job* job = state_.jobs().find(suspect);
  const std::string died =
      fmt::format("the controller stopped twice while it worked on job {}", suspect.value());
  if (job == nullptr || job->is_over()) {
    engine_.warn(died + ", which is not in its state: see what this log says of the stop");
  } else if (!job->is_pending()) {
    // Nothing is done to what runs: a hold would not reach it, and an end would cost its work.
    engine_.warn(
        fmt::format("{}, which has begun and cannot be held: if it does so again, stop it and run "
                    "`musterd --drop-job {}`",
                    died, suspect.value()));
  } else {
    auto spec = std::make_shared<JobSpec>(*job->spec);
    spec->text.set(JobText::kAdminComment, "held: " + died);
    JobChanged change;
    change.job = suspect;
    change.spec = std::move(spec);
    change.flags =
        static_cast<std::uint16_t>((job->flags & job_flag::kAnyHold) | job_flag::kAdminHeld);
    change.priority = 0;
    change.reason = PendingReason::kJobHeldAdmin;
    engine_.emit(std::move(change));
    engine_.warn(fmt::format("{}: it is held. Release it with `scontrol release {}`, or cancel it",
                             died, suspect.value()));
  }
}

Duration RunRole::over_time_limit(const Job& job) const {
  const Duration of_partition = state_.partition(job.partition).over_time_limit;
  return of_partition < Duration() ? state_.settings().over_time_limit : of_partition;
}

}  // namespace muster
