// Where the state and a node disagree, this file decides who is right. The state is right about
// what shall run: work that it does not know is fenced, that is, the node takes nothing else until
// it is gone, and ended. The node is right about what did run: a step that it may have begun is
// looked for (FindSteps), never launched again. An agent is believed about its own node alone
// (why_not_of), and about ids and epochs only within bounds.
#include "workload/node_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "state/views.h"
#include "workload/launch_role.h"
#include "workload/run_lookup.h"
#include "workload/run_role.h"
#include "workload/start_role.h"
#include "workload/workload_port.h"

namespace muster {
namespace {

/// A turn that comes so late means that this process stood still: stopped, suspended with its
/// machine, or busy.
constexpr Duration kPause = Duration::seconds(1);

/// What the node lacks of what the configuration says. Empty: nothing.
std::string shortfall(const NodeConfig& config, const RegisterNode& hello) {
  if (hello.cpus < config.cpus)
    return fmt::format("Low CPUs (found {}, configured {})", hello.cpus, config.cpus);
  if (hello.memory_mib < config.memory_mib) {
    return fmt::format("Low RealMemory (found {} MiB, configured {} MiB)", hello.memory_mib,
                       config.memory_mib);
  }
  for (const GresPool& pool : config.gres) {
    std::uint32_t found = 0;
    // Several pools of the agent, each with a type, may together serve one of the configuration
    // without.
    for (const GresPool& have : hello.gres) {
      if (have.name == pool.name && (pool.type.empty() || have.type == pool.type))
        found += have.count;
    }
    if (found < pool.count) {
      return fmt::format("gres/{} count reported lower than configured ({} < {})", pool.name, found,
                         pool.count);
    }
  }
  return "";
}

/// What had the node down and is over when it registers. Source: slurm.conf(5), ReturnToService.
std::uint16_t forgiven_by(std::uint8_t return_to_service) {
  constexpr std::uint16_t kAny = node_condition::kDownBySilence | node_condition::kDownByOrder;
  return return_to_service == 2   ? kAny
         : return_to_service == 1 ? node_condition::kDownBySilence
                                  : std::uint16_t{0};
}

/// Empty: as it is, or none where nothing is left that has one.
std::string reason_of(const NodeRegistered& event, NodeStatus status) {
  const std::uint16_t after =
      changed_conditions(status.conditions, {event.set_conditions, event.clear_conditions});
  if ((after & node_condition::kOrders) != 0) return "";
  status.shortfall = event.shortfall;
  std::string reason = standing_reason(status, after);
  return reason == status.reason ? "" : reason;
}

bool has_node(const std::vector<NodeGrant>& grants, NodeIndex node) {
  return std::ranges::find(grants, node, &NodeGrant::node) != grants.end();
}

/// How far a node's knowledge may be ahead of a state that was lost. Beyond that its spool is
/// damaged, or somebody else speaks for it: ids and epochs that are skipped never come back.
constexpr std::uint32_t kJobIdsLostMax = 100'000'000;
constexpr std::uint64_t kEpochsLostMax = 1'000'000;

}  // namespace

NodeRole::NodeRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

void NodeRole::load() { is_new_state_ = state_.next_job() == JobId(1); }

void NodeRole::resume_watch() {
  if (std::exchange(is_node_watch_cut_, false)) watch_nodes();
}

void NodeRole::begin() {
  start_time_ = timeout_since_ = last_tick_ = now();
  links_.resize(state_.nodes().all().size());
  for (std::uint32_t i = 0; i < state_.nodes().all().size(); ++i) {
    const Node& node = state_.nodes().at(NodeIndex(i));
    // A crash came between the event that took the node down and the ends of its jobs: they are
    // continued.
    if ((node.status.conditions & node_condition::kDown) != 0 && !node.jobs.empty())
      downed_.push_back(NodeIndex(i));
  }
}

/// What the node's agent, its silence or the controller itself makes of it. `fault`: as in
/// NodeChanged.
void NodeRole::mark(NodeIndex node, ConditionChange what, std::optional<std::string> fault) {
  NodeStatus after = state_.nodes().at(node).status;
  if (fault) after.fault = *fault;
  NodeChanged change;
  change.node = node;
  change.set_conditions = what.set;
  change.clear_conditions = what.clear;
  change.reason = reason_after(after, what);
  change.fault = std::move(fault);
  engine_.emit(std::move(change));
}

/// Whether the node belongs to this cluster, and what it knows that our state does not.
std::optional<Error> NodeRole::check_identity(const RegisterNode& hello) {
  // A spool that has served no cluster yet has no id and fits any.
  const bool is_foreign = !hello.cluster_id.empty() && hello.cluster_id != state_.cluster_id();
  const bool has_absurd_epoch = !is_foreign && hello.epoch > state_.epoch() &&
                                hello.epoch.value() - state_.epoch().value() > kEpochsLostMax;
  const bool has_absurd_floor =
      hello.job_floor >= state_.next_job() &&
      hello.job_floor.value() - state_.next_job().value() >= kJobIdsLostMax;
  // A state is lost once; who knows of ever higher ids makes them up, and those that are skipped
  // are gone for good.
  NodeLink& link = links_[state_.nodes().find_by_name(hello.node_name)->value()];
  const bool has_second_floor = hello.job_floor >= state_.next_job() && link.has_moved_ids;
  if (has_absurd_epoch || has_absurd_floor || has_second_floor) {
    return Error{
        ErrorCode::kFailedPrecondition,
        fmt::format("node {} says that it was told to start jobs up to {} under epoch {}, and here "
                    "the next job is {} and the epoch {}: not believed",
                    hello.node_name, hello.job_floor.value(), hello.epoch.value(),
                    state_.next_job().value(), state_.epoch().value()),
        "its spool is damaged: stop its agent, empty SlurmdSpoolDir there and start it again"};
  }
  // No event was emitted so far, and none is: this process starts again, under an epoch beyond the
  // node's.
  if (!is_foreign && hello.epoch > state_.epoch()) {
    const std::string met = fmt::format(
        "node {} has met epoch {} of this cluster, and this controller leads under epoch {}: its "
        "state is an "
        "older copy",
        hello.node_name, hello.epoch.value(), state_.epoch().value());
    engine_.warn(met);
    roles_.port.lead_beyond(hello.epoch);
    return Error{ErrorCode::kUnavailable, met, "it starts again under a newer epoch"};
  }
  // The agent's spool records the highest job id that it was told to start. Ids up to that one
  // stand in output files and in people's hands: a second job with one would be mixed up with the
  // first.
  if (hello.job_floor >= state_.next_job()) {
    const auto open = std::ranges::count_if(
        hello.steps, [](const KnownStep& step) { return step.phase != StepPhase::kEnded; });
    engine_.warn(
        fmt::format("node {} was told to start jobs up to {} by {}, and this controller's state "
                    "knows none beyond {}: state was lost or "
                    "an older copy was put back. Ids go on after {}; {} steps that it does not "
                    "know are ended there",
                    hello.node_name, hello.job_floor.value(),
                    is_foreign ? "cluster " + hello.cluster_id : std::string("this cluster"),
                    state_.next_job().value() - 1, hello.job_floor.value(), open));
    engine_.emit(JobIdsReserved{JobId(hello.job_floor.value() + 1)});
    link.has_moved_ids = true;
  }
  const bool has_work = std::ranges::any_of(
      hello.steps, [](const KnownStep& step) { return step.phase != StepPhase::kEnded; });
  if (is_foreign && has_work) {
    return Error{ErrorCode::kFailedPrecondition,
                 fmt::format("node {} runs steps of another cluster", hello.node_name),
                 fmt::format("they are of cluster {}, this is {}: its agent ends them first",
                             hello.cluster_id, state_.cluster_id())};
  }
  return std::nullopt;
}

namespace {

/// Whether the agent speaks after the boot in which the node was last heard of.
bool is_same_boot(const NodeStatus& status, const RegisterNode& hello) {
  return status.boot_id.empty() || status.boot_id == hello.boot_id;
}

/// What the agent says of the node, as an event that does not say yet why.
NodeRegistered registration_of(NodeIndex index, const NodeConfig& config, const RegisterNode& hello,
                               std::uint8_t return_to_service) {
  NodeRegistered event{index,
                       hello.boot_id,
                       hello.boot_time,
                       hello.agent_start_time,
                       hello.version,
                       hello.arch,
                       hello.os,
                       0,
                       node_condition::kUnknown | node_condition::kNotResponding,
                       "",
                       hello.machine_id,
                       shortfall(config, hello)};
  (event.shortfall.empty() ? event.clear_conditions : event.set_conditions) |=
      node_condition::kInvalid;
  event.clear_conditions |= forgiven_by(return_to_service);
  return event;
}

}  // namespace

/// Errors: kAlreadyExists: another agent, or another machine whose jobs may still run, has the
/// node's name; those of check_identity().
Status NodeRole::check_hello(NodeIndex index, const RegisterNode& hello) {
  const NodeLink& link = links_[index.value()];
  // Two agents under one name would each start the node's steps. One that has died is replaced as
  // soon as it counts as silent.
  const bool is_heard =
      now() - std::max(link.last_contact, timeout_since_) <= roles_.options.silence;
  if (link.is_connected && link.agent_id != hello.agent_id && is_heard) {
    return fail(ErrorCode::kAlreadyExists,
                fmt::format("node {} has an agent already", hello.node_name),
                "stop the other agent first; one that is gone is forgotten after a few seconds");
  }
  const Node& node = state_.nodes().at(index);
  // The boot id changes with each boot, the machine id stays. The same machine booted anew has lost
  // its processes; another machine under this name leaves them running elsewhere.
  const bool is_same_machine =
      is_same_boot(node.status, hello) ||
      (!hello.machine_id.empty() && hello.machine_id == node.status.machine_id);
  const bool is_given_up = (node.status.conditions & node_condition::kDown) != 0;
  if (!is_same_machine && !node.jobs.empty() && !is_given_up) {
    return fail(
        ErrorCode::kAlreadyExists,
        fmt::format("node {} is another machine, whose jobs may still run", hello.node_name),
        "stop this agent, or give it a name of its own; the other machine is given up when it has "
        "been silent for SlurmdTimeout, or set down");
  }
  if (const auto refused = check_identity(hello)) return fail(*refused);
  return {};
}

/// The registration names all that is there: steps of ours of which the state knows nothing are
/// ended.
void NodeRole::fence_strangers(NodeIndex index, const RegisterNode& hello) {
  const Node& node = state_.nodes().at(index);
  const bool is_foreign = !hello.cluster_id.empty() && hello.cluster_id != state_.cluster_id();
  std::size_t others = 0;  // steps there of runs of ours, of which the state knows nothing
  StepId other;
  // A step that the agent names is one of these: it runs or has ended as the state has it (nothing
  // to do); its run is over here, or not on this node (the whole run is fenced); its run goes on,
  // but the step is unknown or the number another launch's (that step alone is fenced).
  for (const KnownStep& known : hello.steps) {
    const Job* job = running_job(state_, known.id.job, known.id.attempt);
    const bool holds_node = std::ranges::binary_search(node.jobs, known.id.job);
    const bool goes_on_here =
        !is_foreign && job != nullptr && holds_node && !is_finished(job->state);
    const StepState* own =
        !is_foreign && holds_node ? own_step(job, known.id, known.launch_key) : nullptr;
    if (own != nullptr && (own->is_running() || known.phase == StepPhase::kEnded)) continue;
    if (!goes_on_here) {
      if (known.phase != StepPhase::kEnded) fence_job(index, known.id.job, known.id.attempt);
      continue;
    }
    // One that has ended is in nobody's way, unless another is to be started under its number.
    if (known.phase == StepPhase::kEnded && job->run->find_step(known.id.step) == nullptr) continue;
    fence_step(index, known.id, known.launch_key);
    if (others++ == 0) other = known.id;
  }
  if (others > 0) {
    // Once for all of them: an agent may name as many as it likes.
    engine_.warn(
        fmt::format("node {} has step {}.{}{}, of which the state here knows nothing: it is an "
                    "older copy. The step is ended there",
                    hello.node_name, other.job.value(), other.step,
                    others == 1 ? "" : fmt::format(" and {} more", others - 1)));
  }
}

Result<NodeIndex> NodeRole::on_register(const RegisterNode& hello) {
  const auto index = state_.nodes().find_by_name(hello.node_name);
  if (!index) {
    return fail(ErrorCode::kNotFound,
                fmt::format("no node {} in the configuration", hello.node_name),
                "add a NodeName line for it, or start the agent with --name of one that is there");
  }
  TRY(check_hello(*index, hello));
  const Node& node = state_.nodes().at(*index);
  const bool is_booted_since = !is_same_boot(node.status, hello);
  NodeLink& link = links_[index->value()];
  roles_.launches->forget_node(*index);  // its last connection's loss may not have been noticed
  link.is_connected = true;
  link.agent_id = hello.agent_id;
  link.protocol = hello.protocol;
  link.last_contact = now();
  NodeRegistered event =
      registration_of(*index, node.config, hello, state_.settings().return_to_service);
  // No process outlives a boot, so that no agent will ever report the ends of what ran before it.
  if (is_booted_since) fail_jobs_on(*index, fmt::format("node {} restarted", hello.node_name));
  // The registration names all that is there: fences are put up anew from it.
  link.fenced.clear();
  link.fenced_steps.clear();
  fence_strangers(*index, hello);
  // The planner keeps away from a node that does not respond: it counts as one until others' work
  // is gone (welcome_back).
  if (link.is_fenced()) {
    event.clear_conditions &= static_cast<std::uint16_t>(~node_condition::kNotResponding);
    event.set_conditions |= node_condition::kNotResponding;
  }
  event.reason = reason_of(event, node.status);
  engine_.emit(std::move(event));
  reconcile(*index, hello, !is_booted_since);
  return *index;
}

/// The node takes no work until the step, of which the state knows nothing, has ended there. False:
/// it was known.
bool NodeRole::fence_step(NodeIndex node, const StepId& step, std::uint64_t launch_key) {
  auto& fenced = links_[node.value()].fenced_steps;
  return fenced.size() < NodeLink::kFencedMax && fenced.insert({step, launch_key}).second;
}

/// The same for a whole run.
bool NodeRole::fence_job(NodeIndex node, JobId job, std::uint32_t attempt) {
  auto& fenced = links_[node.value()].fenced;
  return fenced.size() < NodeLink::kFencedMax && fenced.insert({job, attempt}).second;
}

/// An agent of an older version takes no EndStep: there the number, which one step alone has, says
/// which is meant.
void NodeRole::end_alone(NodeIndex node, const StepId& step, std::uint64_t launch_key) {
  if (links_[node.value()].protocol >= 1) {
    engine_.send(node, EndStep{step, launch_key});
  } else {
    engine_.send(node, SignalStep{step, SIGKILL, false, launch_key});
  }
}

/// Brings the node to what the state wants: orders that may have been lost are given again.
void NodeRole::reconcile(NodeIndex node, const RegisterNode& hello, bool is_same_boot) {
  // Ends come first, so that nothing is launched beside what has to go; signals last, because they
  // may be for steps that are launched here.
  for (const auto& [job, attempt] : links_[node.value()].fenced) {
    engine_.send(node, TerminateJob{job, attempt, "", Duration()});
  }
  for (const auto& [step, key] : links_[node.value()].fenced_steps) end_alone(node, step, key);
  for (const KnownStep& known : hello.steps) {
    const Job* job = running_job(state_, known.id.job, known.id.attempt);
    const StepState* step = own_step(job, known.id, known.launch_key);
    // The state has its end, a launch that was given up for one, while the node goes on with it.
    const bool is_given_up =
        step != nullptr && !step->is_running() && known.phase != StepPhase::kEnded;
    if (is_given_up) engine_.send(node, SignalStep{known.id, SIGKILL, false, known.launch_key});
  }
  // After another boot nothing of its jobs is left: on_register has failed them.
  if (!is_same_boot) return;
  launch_or_find(node, hello);
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    const Job& job = *state_.jobs().find(id);
    if (job.is_completing()) {
      engine_.send(node, TerminateJob{id, job.attempt, "", state_.settings().kill_wait});
      continue;
    }
    // What was ordered while the node was away may not have come through.
    engine_.send(node, roles_.runs->end_of(job));
    // Told either way: a job that was resumed while the node was away still stands still there.
    if (job.run->suspend_time.is_set()) {
      engine_.send(node, SuspendJob{id, job.attempt, job.state == JobState::kSuspended});
    }
    if (job.run->stop) roles_.runs->deliver_stop(job, node);
    for (const StepState& step : job.run->steps) {
      if (step.is_running() && step.cancelled_by && has_node(step.layout->nodes, node))
        engine_.send(node, SignalStep{step.id, SIGKILL, false, job.run->launch_key_of(step)});
    }
  }
  deliver_missed_signals(node);
  roles_.starts->mark_freed();
}

/// What was sent to steps there while the node was away.
void NodeRole::deliver_missed_signals(NodeIndex node) {
  for (SignalStep& signal : std::exchange(links_[node.value()].missed_signals, {})) {
    const Job* job = running_job(state_, signal.id.job, signal.id.attempt);
    const StepState* step = own_step(job, signal.id, signal.launch_key);
    if (step != nullptr && step->is_running()) engine_.send(node, signal);
  }
}

/// Of the steps that are to run there and that the node does not name: one that ran, or may have
/// before the spool was lost, is not started a second time: the agent finds out what became of it,
/// before anything else is ordered about its job.
void NodeRole::launch_or_find(NodeIndex node, const RegisterNode& hello) {
  // A cluster id that differs, also an empty one, means a new or emptied spool: steps may run there
  // of which it has no record.
  const bool may_have_forgotten = hello.cluster_id != state_.cluster_id() || hello.has_lost_records;
  FindSteps wanted;
  for (const JobId id : state_.nodes().at(node).jobs) {
    const Job& job = *state_.jobs().find(id);
    for (const StepState& step : job.run->steps) {
      const auto part = part_on(step, node);
      if (!step.is_running() || !part) continue;
      const bool is_named = std::ranges::any_of(hello.steps, [&](const KnownStep& known) {
        return known.id == step.id && known.launch_key == job.run->launch_key_of(step);
      });
      if (is_named) continue;
      // The state or an earlier word of the node has it as begun, or nobody can say that it has
      // not.
      if (may_have_forgotten || roles_.runs->progress(step.id).running.test(*part)) {
        // It counts as begun until the agent has found out: nothing else may launch it meanwhile.
        roles_.runs->progress(step.id).running.set(*part);
        wanted.steps.push_back({step.id, StepPhase::kRunning, job.run->launch_key_of(step)});
      } else if (!is_finished(job.state)) {
        engine_.launch(step.id);
      }
    }
  }
  // An agent that has lost records is told even when nothing is wanted: only this order lets it
  // trust its spool again.
  if (may_have_forgotten || !wanted.steps.empty()) engine_.send(node, std::move(wanted));
}

/// What the state has on the node and its agent has not said that it runs: it waited until others'
/// work was gone from there.
void NodeRole::launch_on(NodeIndex node) {
  for (const JobId id : state_.nodes().at(node).jobs) {
    const Job& job = *state_.jobs().find(id);
    if (is_finished(job.state)) continue;
    for (const StepState& step : job.run->steps) {
      const auto part = part_on(step, node);
      if (!step.is_running() || !part) continue;
      const StepProgress* progress = roles_.runs->find_progress(step.id);
      const bool is_heard =
          progress != nullptr && (progress->running.test(*part) || progress->done.test(*part));
      if (!is_heard) engine_.launch(step.id);
    }
  }
  deliver_missed_signals(node);
}

/// A silent node is heard again: it may take work once nothing of a lost run is left on it.
void NodeRole::welcome_back(NodeIndex index) {
  const std::uint16_t conditions = state_.nodes().at(index).status.conditions;
  if ((conditions & node_condition::kNotResponding) == 0 || links_[index.value()].is_fenced())
    return;
  // Source: slurm.conf(5), ReturnToService: with 0 an operator decides about a node that was
  // silent.
  const bool is_forgiven = state_.settings().return_to_service != 0;
  const std::uint16_t over = is_forgiven ? node_condition::kDownBySilence : std::uint16_t{0};
  mark(index, {0, static_cast<std::uint16_t>(node_condition::kNotResponding | over)});
}

/// What the agent says of its own node: drained while it stands, and taken back by itself.
void NodeRole::record_fault(NodeIndex index, const std::string& fault) {
  const std::uint16_t conditions = state_.nodes().at(index).status.conditions;
  const bool is_known = (conditions & node_condition::kDrainByFault) != 0;
  if (fault.empty() && is_known) mark(index, {0, node_condition::kDrainByFault}, "");
  if (fault.empty() || is_known || is_away(index)) return;
  engine_.warn(fmt::format("node {} is drained: {}", state_.nodes().at(index).config.name, fault));
  mark(index, {node_condition::kDrainByFault, 0}, fault);
}

/// A fault that may pass ends with the agent's next word that nothing is wrong. Agents of earlier
/// versions do not say which does, but what they see themselves does.
void NodeRole::drain_for_launch(NodeIndex index, const StepDone& done) {
  const NodeStatus& status = state_.nodes().at(index).status;
  const bool is_agents =
      (status.conditions & node_condition::kDrainByFault) != 0 && done.error == status.fault;
  if (done.may_pass || is_agents) return record_fault(index, done.error);
  drain_for(index, "Launch failure: " + done.error);
}

/// Nobody is heard there: it is dealt with as such.
bool NodeRole::is_away(NodeIndex index) const {
  const std::uint16_t conditions = state_.nodes().at(index).status.conditions;
  return !links_[index.value()].is_connected || (conditions & node_condition::kNotResponding) != 0;
}

/// Until an operator has looked at it: no job is to find out again what one has.
void NodeRole::drain_for(NodeIndex index, const std::string& reason) {
  const Node& node = state_.nodes().at(index);
  if ((node.status.conditions & node_condition::kDrainByOrder) != 0 || is_away(index)) return;
  engine_.warn(fmt::format("node {} is drained: {}", node.config.name, reason));
  NodeChanged change;
  change.node = index;
  change.set_conditions = node_condition::kDrainByOrder;
  // The text of an order that still stands is not written over.
  if ((node.status.conditions & node_condition::kOrders) == 0) change.reason = reason;
  engine_.emit(std::move(change));
}

/// What makes the message one about somebody else's work. Nothing for what is over, or of a run
/// that the state here knows nothing of: that is only acknowledged.
std::optional<std::string> NodeRole::why_not_of(NodeIndex node, const FromAgent& message) const {
  const auto of_step = [&](const StepId& id,
                           std::uint64_t launch_key) -> std::optional<std::string> {
    const StepState* step = own_step(running_job(state_, id.job, id.attempt), id, launch_key);
    if (step == nullptr || has_node(step->layout->nodes, node)) return std::nullopt;
    return fmt::format("step {}.{}, which has no task there", id.job.value(), id.step);
  };
  if (const auto* running = get_if<StepRunning>(&message))
    return of_step(running->id, running->launch_key);
  if (const auto* done = get_if<StepDone>(&message)) return of_step(done->id, done->launch_key);
  if (const auto* clean = get_if<JobClean>(&message)) {
    const Job* job = running_job(state_, clean->job, clean->attempt);
    const bool is_fenced = links_[node.value()].fenced.contains({clean->job, clean->attempt});
    if (job == nullptr || is_fenced || has_node(job->run->allocation->nodes, node))
      return std::nullopt;
    return fmt::format("job {}, which is not placed there", clean->job.value());
  }
  if (const auto* output = get_if<OutputSent>(&message)) {
    const auto& owner = output->fragment.owner;
    const Trial* trial =
        owner.kind == LogOwnerKind::kTrial ? state_.experiments().find(TrialId(owner.id)) : nullptr;
    const Job* job = trial == nullptr ? nullptr : state_.jobs().find(trial->job);
    // Of runs before this one it is not known any more where they were.
    if (job == nullptr || job->run == nullptr || run_number(*job) != output->fragment.run ||
        has_node(job->run->allocation->nodes, node))
      return std::nullopt;
    return fmt::format("trial {}, whose run {} is not there", owner.id, output->fragment.run);
  }
  return std::nullopt;
}

bool NodeRole::on_agent(NodeIndex index, const FromAgent& message) {
  NodeLink& link = links_[index.value()];
  link.last_contact = now();
  welcome_back(index);
  if (const auto why = why_not_of(index, message)) {
    constexpr Duration kWarnPause = Duration::seconds(60);
    if (!link.warned.is_set() || now() - link.warned >= kWarnPause) {
      link.warned = now();
      engine_.warn(fmt::format("the agent of node {} speaks of {}: not obeyed",
                               state_.nodes().at(index).config.name, *why));
    }
    return false;
  }
  hear(index, message);
  return true;
}

void NodeRole::hear(NodeIndex index, const FromAgent& message) {
  NodeLink& link = links_[index.value()];
  if (const auto* heartbeat = get_if<Heartbeat>(&message)) {
    link.load_hundredths = heartbeat->load_hundredths;
    link.free_memory_mib = heartbeat->free_memory_mib;
    record_fault(index, heartbeat->fault);
  } else if (const auto* running = get_if<StepRunning>(&message)) {
    const Job* job = running_job(state_, running->id.job, running->id.attempt);
    const StepState* step = own_step(job, running->id, running->launch_key);
    if (!roles_.runs->is_wanted_on(index, job, step)) return end_stranger(index, *running);
    roles_.runs->on_running(index, *step);
  } else if (const auto* done = get_if<StepDone>(&message)) {
    const Job* job = running_job(state_, done->id.job, done->id.attempt);
    const StepState* step = own_step(job, done->id, done->launch_key);
    const bool was_fenced = link.fenced_steps.erase({done->id, done->launch_key}) > 0;
    // Where the job goes on and the number is another launch's, after an older state was put back,
    // the end is nobody's: the agent may forget it, and no step ends with it.
    if (job == nullptr || step != nullptr) {
      count_losses(index, *done);
      roles_.runs->on_step_done(index, *done);
    } else {
      engine_.send(index, AcknowledgeStep{done->id, done->launch_key});
    }
    // This end may have lifted the last fence: only then does the node count as responding, and
    // what waited for that is launched.
    welcome_back(index);
    if (was_fenced && !link.is_fenced()) launch_on(index);
  } else if (const auto* clean = get_if<JobClean>(&message)) {
    std::size_t fences = link.fenced.erase({clean->job, clean->attempt});
    fences += std::erase_if(link.fenced_steps, [&](const auto& step) {
      return step.first.job == clean->job && step.first.attempt == clean->attempt;
    });
    welcome_back(index);
    if (fences > 0 && !link.is_fenced()) launch_on(index);
    const Job* job = running_job(state_, clean->job, clean->attempt);
    if (job == nullptr || !job->is_completing()) return;
    // Nothing of it runs there: a step that was to run there and never reported is over as well.
    // The ids are collected first: each end below changes the list that is walked.
    std::vector<StepId> lost;
    for (const StepState& step : job->run->steps) {
      if (step.is_running()) lost.push_back(step.id);
    }
    for (const StepId& step : lost) {
      if (!has_node(job->run->find_step(step.step)->layout->nodes, index)) continue;
      StepDone gone;
      gone.id = step;
      gone.tasks = {ExitStatus::signalled(9)};
      roles_.runs->on_step_done(index, gone);
    }
  }
}

/// A node that loses each supervisor that is started there would take the queue's jobs one after
/// the other: no job is to find out again what five in a row have.
void NodeRole::count_losses(NodeIndex index, const StepDone& done) {
  NodeLink& link = links_[index.value()];
  if (!done.is_lost) {
    link.losses = 0;
    link.lost_jobs.clear();
    return;
  }
  if (!done.error.empty()) return;  // it was refused: there was no supervisor to be lost
  const StepState* step =
      own_step(running_job(state_, done.id.job, done.id.attempt), done.id, done.launch_key);
  if (step == nullptr || !step->is_running()) return;
  // Those that were lost together count once.
  if (link.last_loss.is_set() && step->start_time < link.last_loss) return;
  link.last_loss = now();
  link.lost_jobs.insert(done.id.job);
  // A job may end its own supervisors wherever it comes to: that is not the nodes' fault.
  if (++link.losses < NodeLink::kLossesMax || link.lost_jobs.size() < 2) return;
  link.losses = 0;
  link.lost_jobs.clear();
  drain_for(index,
            fmt::format("Launch failure: the supervisors of {} steps in a row were lost there",
                        NodeLink::kLossesMax));
}

/// A supervisor that was lost sight of has come back to its agent, and nobody wants its step any
/// more. Until that is gone the node is nobody else's.
void NodeRole::end_stranger(NodeIndex node, const StepRunning& running) {
  const StepId& step = running.id;
  const Job* job = running_job(state_, step.job, step.attempt);
  const bool goes_on_there =
      job != nullptr && std::ranges::binary_search(state_.nodes().at(node).jobs, step.job);
  const bool is_news = goes_on_there ? fence_step(node, step, running.launch_key)
                                     : fence_job(node, step.job, step.attempt);
  if (goes_on_there) {
    end_alone(node, step, running.launch_key);
  } else {
    engine_.send(node, TerminateJob{step.job, step.attempt, "", Duration()});
  }
  if (!is_news) return;
  engine_.warn(fmt::format("node {} runs step {}.{}, which is over here: it is ended there",
                           state_.nodes().at(node).config.name, step.job.value(),
                           step.step == kBatchStep ? "batch" : std::to_string(step.step)));
  if ((state_.nodes().at(node).status.conditions & node_condition::kNotResponding) == 0)
    mark(node, {node_condition::kNotResponding, 0});
}

bool NodeRole::awaits_nodes() const {
  // A state without a job is a new cluster's, or all that is left of one whose jobs the nodes know:
  // those are asked for longer.
  const Duration timeout = is_new_state_ ? Duration::seconds(5) : Duration::seconds(1);
  constexpr auto kAbsent = node_condition::kUnknown | node_condition::kFuture |
                           node_condition::kNotResponding | node_condition::kDown;
  if (now() - start_time_ >= timeout) return false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::uint16_t conditions =
        state_.nodes().at(NodeIndex(static_cast<std::uint32_t>(i))).status.conditions;
    if (is_new_state_) conditions &= node_condition::kFuture;
    const bool is_expected = (conditions & kAbsent) == 0;
    if (is_expected && !links_[i].last_contact.is_set()) return true;
  }
  return false;
}

void NodeRole::on_agent_lost(NodeIndex node) {
  links_[node.value()].is_connected = false;
  roles_.launches->forget_node(node);
}

void NodeRole::on_unheard(NodeIndex node, const std::vector<SignalStep>& signals) {
  for (const SignalStep& signal : signals) send_or_store(node, signal);
}

/// The node is gone: its part of every job is over, and so is every job that cannot do without it.
void NodeRole::fail_jobs_on(NodeIndex node, const std::string& why) {
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    const Job* job = state_.jobs().find(id);
    if (!is_finished(job->state)) roles_.runs->end_job(id, JobState::kNodeFail, why);
    std::vector<StepId> steps;
    for (const StepState& step : job->run->steps) {
      if (step.is_running() && has_node(step.layout->nodes, node)) steps.push_back(step.id);
    }
    for (const StepId& step : steps) {
      StepDone done;
      done.id = step;
      done.is_lost = true;
      done.error = why;
      roles_.runs->on_step_done(node, done);
    }
    if (const Job* left = state_.jobs().find(id); left != nullptr && left->is_completing())
      roles_.runs->release_clean_nodes(id);
  }
}

/// The node is given up while its connection may still stand: what runs there is ended before the
/// node is used again.
void NodeRole::fence_jobs_on(NodeIndex node) {
  for (const JobId id : state_.nodes().at(node).jobs) {
    const std::uint32_t attempt = state_.jobs().find(id)->attempt;
    links_[node.value()].fenced.insert({id, attempt});
    engine_.send(node, TerminateJob{id, attempt, "", Duration()});
  }
}

/// An operator took the node down: what runs there is ended, and keeps its resources until the node
/// says that it is gone. False: not all of it yet.
bool NodeRole::end_jobs_on(NodeIndex node) {
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    if (is_finished(state_.jobs().find(id)->state)) continue;
    if (engine_.allowance() == 0) return false;
    engine_.spend(1);
    roles_.runs->end_job(id, JobState::kNodeFail,
                         fmt::format("node {} was set down", state_.nodes().at(node).config.name));
  }
  return true;
}

/// Operators took nodes down: what runs there is ended.
void NodeRole::end_jobs_on_downed() {
  while (engine_.allowance() > 0 && !downed_.empty()) {
    const NodeIndex node = downed_.back();
    const bool is_down = (state_.nodes().at(node).status.conditions & node_condition::kDown) != 0;
    if (!is_down || end_jobs_on(node)) downed_.pop_back();
  }
}

/// After a pause of our own everybody's silence begins anew, and so do the leases of clients: what
/// they sent meanwhile has not been read yet.
void NodeRole::notice_pause() {
  const bool has_paused = now() - last_tick_ > kPause;
  last_tick_ = now();
  if (!has_paused) return;
  timeout_since_ = now();
  roles_.runs->extend_leases();
  roles_.launches->extend_all();
}

/// A job's end may have been on its way while we were away: its nodes are heard first, as long as
/// they count as there.
bool NodeRole::may_judge(const Job& job) const {
  const Duration since = now() - timeout_since_;
  if (since > roles_.options.silence || job.run == nullptr) return true;
  // For the first second nobody is judged: the agents' messages of the pause are still being read.
  if (since < kPause) return false;
  return std::ranges::all_of(job.run->allocation->nodes, [&](const NodeGrant& grant) {
    return links_[grant.node.value()].is_connected;
  });
}

void NodeRole::watch_nodes() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    const std::uint16_t conditions = state_.nodes().at(index).status.conditions;
    const bool is_expected =
        (conditions & (node_condition::kUnknown | node_condition::kFuture)) == 0;
    if (!is_expected) continue;
    const Duration silent = now() - std::max(links_[i].last_contact, timeout_since_);
    if (silent > roles_.options.silence && (conditions & node_condition::kNotResponding) == 0) {
      mark(index, {node_condition::kNotResponding, 0});
    }
    const Duration timeout = state_.settings().slurmd_timeout;
    if (timeout == Duration() || silent <= timeout) continue;
    if (engine_.allowance() == 0) {
      is_node_watch_cut_ = true;
      return;
    }
    engine_.spend(state_.nodes().at(index).jobs.size());
    // The second is what its next word takes back.
    constexpr std::uint16_t kGone = node_condition::kDownBySilence | node_condition::kNotResponding;
    // Before its jobs are failed: none of them may be placed there again.
    if ((conditions & node_condition::kDownBySilence) == 0) mark(index, {kGone, 0});
    if (!state_.nodes().at(index).jobs.empty()) {
      fence_jobs_on(index);
      fail_jobs_on(index, fmt::format("node {} did not respond for {} s",
                                      state_.nodes().at(index).config.name,
                                      state_.settings().slurmd_timeout.seconds()));
    }
  }
}

/// What may be lost on the way to a node is given again when that registers, by the state; of a
/// signal the state knows nothing.
void NodeRole::send_or_store(NodeIndex node, const ToAgent& message) {
  NodeLink& link = links_[node.value()];
  const auto* signal = get_if<SignalStep>(&message);
  // Where launches wait, for others' work to be gone or for their turn, so do signals to what is to
  // be launched. An end is in the state.
  const bool is_end = signal != nullptr && signal->signal == SIGKILL && !signal->batch_only;
  const bool is_waiting = signal != nullptr && !is_end &&
                          (link.is_fenced() || roles_.launches->is_waiting({signal->id, node})) &&
                          !roles_.runs->has_begun_on(node, signal->id);
  if (link.is_connected && !is_waiting) return roles_.port.send(node, message);
  if (signal != nullptr) store_signal(node, *signal);
}

/// Once is enough of each, in the order in which they were last given: SIGSTOP and SIGCONT undo one
/// another.
void NodeRole::store_signal(NodeIndex node, const SignalStep& signal) {
  auto& missed = links_[node.value()].missed_signals;
  std::erase_if(missed, [&](const SignalStep& one) {
    return one.id == signal.id && one.launch_key == signal.launch_key &&
           one.signal == signal.signal && one.batch_only == signal.batch_only;
  });
  const auto owner_of = [&](const SignalStep& one) {
    const Job* job = state_.jobs().find(one.id.job);
    return job == nullptr ? UserId() : job->spec->user;
  };
  const auto owned = [&] { return std::ranges::count(missed, owner_of(signal), owner_of); };
  if (owned() >= NodeLink::kMissedSignalsMax) {
    std::erase_if(missed, [&](const SignalStep& one) {
      return roles_.launches->find_launchable(one.id) == nullptr;
    });
  }
  if (owned() < NodeLink::kMissedSignalsMax) return missed.push_back(signal);
  engine_.warn(fmt::format(
      "signals that wait for node {} are many: signal {} to step {}.{} is lost",
      state_.nodes().at(node).config.name, signal.signal, signal.id.job.value(), signal.id.step));
}

}  // namespace muster
