// Agents: registration, what they report, silence.
#include <fmt/format.h>

#include <algorithm>

#include "controller/config_alignment.h"
#include "controller/core.h"

namespace muster {
namespace {

constexpr const char* kNotResponding = "Not responding";

/// What the node lacks of what the configuration says. Empty: nothing.
std::string shortfall(const NodeConfig& config, const RegisterNode& hello) {
  if (hello.cpus < config.cpus) return fmt::format("Low CPUs (found {}, configured {})", hello.cpus, config.cpus);
  if (hello.memory_mib < config.memory_mib) {
    return fmt::format("Low RealMemory (found {} MiB, configured {} MiB)", hello.memory_mib, config.memory_mib);
  }
  for (const GresPool& pool : config.gres) {
    std::uint32_t found = 0;
    for (const GresPool& have : hello.gres) {
      if (have.name == pool.name && (pool.type.empty() || have.type == pool.type)) found += have.count;
    }
    if (found < pool.count) {
      return fmt::format("gres/{} count reported lower than configured ({} < {})", pool.name, found, pool.count);
    }
  }
  return "";
}

}  // namespace

void Core::mark(NodeIndex node, std::uint16_t set, std::uint16_t clear, std::optional<std::string> reason, TimePoint now) {
  NodeChanged change;
  change.node = node;
  change.set_conditions = set;
  change.clear_conditions = clear;
  change.reason = std::move(reason);
  emit(std::move(change), now);
}

Result<NodeIndex> Core::on_register(const RegisterNode& hello, TimePoint now) {
  const auto index = state_.nodes().find_by_name(hello.node_name);
  if (!index) {
    return fail(ErrorCode::kNotFound, fmt::format("no node {} in the configuration", hello.node_name),
                "add a NodeName line for it, or start the agent with --name of one that is there");
  }
  NodeLink& link = links_[index->value()];
  link.is_connected = true;
  link.last_contact = now;
  const Node& node = state_.nodes().at(*index);
  const bool is_same_boot = node.status.boot_id.empty() || node.status.boot_id == hello.boot_id;
  NodeRegistered event{*index, hello.boot_id, hello.boot_time, hello.agent_start_time, hello.version, hello.arch,
                       hello.os, 0, node_condition::kUnknown | node_condition::kNotResponding, ""};
  const std::string lack = shortfall(node.config, hello);
  if (!lack.empty()) {
    event.set_conditions = node_condition::kInvalid;
    event.reason = lack;
  } else {
    event.clear_conditions |= node_condition::kInvalid;
  }
  const std::uint8_t policy = state_.settings().return_to_service;
  const bool is_down_by_silence = node.status.reason == kNotResponding;
  if ((node.status.conditions & node_condition::kDown) != 0 && !is_unnamed(node) && (policy == 2 || (policy == 1 && is_down_by_silence))) {
    event.clear_conditions |= node_condition::kDown;
  }
  if (!is_same_boot) fail_jobs_on(*index, fmt::format("node {} restarted", hello.node_name), now);
  link.fenced.clear();
  for (const KnownStep& known : hello.steps) {
    const Job* job = state_.jobs().find(known.id.job);
    const bool holds_node = std::ranges::binary_search(node.jobs, known.id.job);
    const bool is_ours = job != nullptr && job->attempt == known.id.attempt && job->run != nullptr && holds_node &&
                         job->run->find_step(known.id.step) != nullptr;
    if (!is_ours && known.phase != StepPhase::kEnded) link.fenced.insert({known.id.job, known.id.attempt});
  }
  if (!link.fenced.empty()) {
    event.clear_conditions &= static_cast<std::uint16_t>(~node_condition::kNotResponding);
    event.set_conditions |= node_condition::kNotResponding;
  }
  emit(std::move(event), now);
  reconcile(*index, hello, is_same_boot, now);
  return *index;
}

/// Brings the node to what the state wants: orders that may have been lost are given again.
void Core::reconcile(NodeIndex node, const RegisterNode& hello, bool is_same_boot, TimePoint now) {
  for (const auto& [job, attempt] : links_[node.value()].fenced) {
    send_when_durable(node, TerminateJob{job, attempt, "", Duration()});
  }
  if (!is_same_boot) return;
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    const Job& job = *state_.jobs().find(id);
    if (job.is_completing()) {
      send_when_durable(node, TerminateJob{id, job.attempt, "", state_.settings().kill_wait});
      continue;
    }
    // What was ordered while the node was away may not have come through.
    send_when_durable(node, end_of(job));
    if (job.suspend_time.is_set()) {
      send_when_durable(node, SuspendJob{id, job.attempt, job.state == JobState::kSuspended});
    }
    if (job.run->stop) deliver_stop(job, node);
    for (const StepState& step : job.run->steps) {
      const bool is_here = std::ranges::find(step.layout->nodes, node, &NodeGrant::node) != step.layout->nodes.end();
      if (!step.is_running() || !is_here) continue;
      const bool is_known = std::ranges::find(hello.steps, step.id, &KnownStep::id) != hello.steps.end();
      if (!is_known) outbox_.push_back(Outgoing{Seq(state_.seq().value() + 1), step.id});
    }
  }
  has_freed_ = true;
  (void)now;
}

/// A silent node is heard again: it may take work once nothing of a lost run is left on it.
void Core::welcome_back(NodeIndex index, TimePoint now) {
  const NodeStatus& status = state_.nodes().at(index).status;
  if ((status.conditions & node_condition::kNotResponding) == 0 || !links_[index.value()].fenced.empty()) return;
  const bool is_down_by_silence = (status.conditions & node_condition::kDown) != 0 && status.reason == kNotResponding;
  if (is_down_by_silence && state_.settings().return_to_service != 0) {
    mark(index, 0, node_condition::kNotResponding | node_condition::kDown, "", now);
  } else {
    mark(index, 0, node_condition::kNotResponding, std::nullopt, now);
  }
}

void Core::on_agent(NodeIndex index, const FromAgent& message, TimePoint now) {
  NodeLink& link = links_[index.value()];
  link.last_contact = now;
  welcome_back(index, now);
  if (const auto* heartbeat = std::get_if<Heartbeat>(&message)) {
    link.load_hundredths = heartbeat->load_hundredths;
    link.free_memory_mib = heartbeat->free_memory_mib;
  } else if (const auto* running = std::get_if<StepRunning>(&message)) {
    const Job* job = state_.jobs().find(running->id.job);
    const StepState* step = job == nullptr || job->run == nullptr || job->attempt != running->id.attempt
                                ? nullptr : job->run->find_step(running->id.step);
    if (step == nullptr || !step->is_running()) return;
    for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
      if (step->layout->nodes[i].node == index) progress_[running->id].running.set(i);
    }
  } else if (const auto* done = std::get_if<StepDone>(&message)) {
    on_step_done(index, *done, now);
  } else if (const auto* clean = std::get_if<JobClean>(&message)) {
    link.fenced.erase({clean->job, clean->attempt});
    welcome_back(index, now);
    const Job* job = state_.jobs().find(clean->job);
    if (job == nullptr || job->run == nullptr || job->attempt != clean->attempt || !job->is_completing()) return;
    // Nothing of it runs there: a step that was to run there and never reported is over as well.
    std::vector<StepId> lost;
    for (const StepState& step : job->run->steps) {
      if (step.is_running()) lost.push_back(step.id);
    }
    for (const StepId& step : lost) {
      const auto layout = job->run->find_step(step.step)->layout;
      if (std::ranges::find(layout->nodes, index, &NodeGrant::node) == layout->nodes.end()) continue;
      StepDone gone;
      gone.id = step;
      gone.tasks = {ExitStatus::signalled(9)};
      on_step_done(index, gone, now);
    }
  }
}

void Core::on_agent_lost(NodeIndex node) { links_[node.value()].is_connected = false; }

/// The node is gone: its part of every job is over, and so is every job that cannot do without it.
void Core::fail_jobs_on(NodeIndex node, const std::string& why, TimePoint now) {
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    const Job* job = state_.jobs().find(id);
    if (!is_finished(job->state)) end_job(id, JobState::kNodeFail, why, now);
    std::vector<StepId> steps;
    for (const StepState& step : job->run->steps) {
      const bool is_here = std::ranges::find(step.layout->nodes, node, &NodeGrant::node) != step.layout->nodes.end();
      if (step.is_running() && is_here) steps.push_back(step.id);
    }
    for (const StepId& step : steps) {
      StepDone done;
      done.id = step;
      done.is_lost = true;
      done.error = why;
      on_step_done(node, done, now);
    }
    if (const Job* left = state_.jobs().find(id); left != nullptr && left->is_completing()) release_clean_nodes(id, now);
  }
}

/// The node is given up while its connection may still stand: what runs there is ended before the node is used again.
void Core::fence_jobs_on(NodeIndex node) {
  for (const JobId id : state_.nodes().at(node).jobs) {
    const std::uint32_t attempt = state_.jobs().find(id)->attempt;
    links_[node.value()].fenced.insert({id, attempt});
    send_when_durable(node, TerminateJob{id, attempt, "", Duration()});
  }
}

/// An operator took the node down: what runs there is ended, and keeps its resources until the node says that it is gone.
void Core::end_jobs_on(NodeIndex node, TimePoint now) {
  for (const JobId id : std::vector<JobId>(state_.nodes().at(node).jobs)) {
    if (is_finished(state_.jobs().find(id)->state)) continue;
    end_job(id, JobState::kNodeFail, fmt::format("node {} was set down", state_.nodes().at(node).config.name), now);
  }
}

void Core::watch_nodes(TimePoint now) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto index = NodeIndex(static_cast<std::uint32_t>(i));
    const std::uint16_t conditions = state_.nodes().at(index).status.conditions;
    const bool is_expected = (conditions & (node_condition::kUnknown | node_condition::kFuture)) == 0;
    if (!is_expected) continue;
    const Duration silent = now - std::max(links_[i].last_contact, start_time_);
    if (silent > options_.silence && (conditions & node_condition::kNotResponding) == 0) {
      mark(index, node_condition::kNotResponding, 0, std::nullopt, now);
    }
    const Duration timeout = state_.settings().slurmd_timeout;
    if (timeout == Duration() || silent <= timeout) continue;
    if ((conditions & node_condition::kDown) == 0) mark(index, node_condition::kDown, 0, kNotResponding, now);
    if (!state_.nodes().at(index).jobs.empty()) {
      fence_jobs_on(index);
      fail_jobs_on(index, fmt::format("node {} did not respond for {} s", state_.nodes().at(index).config.name,
                                      state_.settings().slurmd_timeout.seconds()), now);
    }
  }
}

}  // namespace muster
