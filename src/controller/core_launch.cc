// Launches: from the order to the node's word that it runs, or the end with its cause.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/check.h"
#include "controller/backend/trial_rules.h"
#include "controller/core.h"
#include "slurm/hostlist.h"
#include "slurm/rank_layout.h"
#include "state/resource_need.h"
#include "state/views.h"
#include "text/launch_size.h"
#include "trials/service_text.h"
#include "trials/trial_text.h"

namespace muster {

void Core::watch_launch(const StepId& step) {
  const TimePoint deadline = now_ + state_.settings().launch_timeout;
  if (launch_deadlines_.try_emplace(step, deadline).second) launch_watch_.emplace(deadline, step);
}

void Core::forget_launch(const StepId& step) {
  common_launches_.erase(step);
  told_.erase(step);
  const auto found = launch_deadlines_.find(step);
  if (found == launch_deadlines_.end()) return;
  launch_watch_.erase({found->second, step});
  launch_deadlines_.erase(found);
}

void Core::extend_launch(const StepId& step, TimePoint deadline) {
  const auto found = launch_deadlines_.find(step);
  if (found == launch_deadlines_.end() || found->second >= deadline) return;
  launch_watch_.erase({found->second, step});
  launch_watch_.emplace(deadline, step);
  found->second = deadline;
}

/// A node's time begins when it is told: that so many launches are to be sent is not its fault.
/// True: the step has been given more time.
bool Core::is_launch_held_up(const StepId& step, TimePoint now) {
  const auto since = launches_.held_up_since(step, now);
  if (!since || *since + state_.settings().launch_timeout <= now) return false;
  extend_launch(step, *since + state_.settings().launch_timeout);
  return true;
}

/// Those parts are told. Once for each: a node that comes back again and again gives the others no
/// more time.
void Core::begin_time(const StepId& step, std::span<const std::size_t> parts) {
  if (!launch_deadlines_.contains(step)) return;
  Bitmap& told = told_[step];
  const bool is_first =
      std::ranges::any_of(parts, [&](std::size_t part) { return !told.test(part); });
  for (const std::size_t part : parts) told.set(part);
  if (is_first) extend_launch(step, now_ + state_.settings().launch_timeout);
}

/// Read once for the trials of an experiment that begin one after the other.
const TrialSettings& Core::settings_of(const Experiment& experiment) {
  constexpr std::size_t kMost = 64;
  auto known = trial_settings_.find(experiment.id);
  if (known == trial_settings_.end() || known->second.first != experiment.spec) {
    if (trial_settings_.size() > kMost) trial_settings_.clear();
    const std::pair fresh(experiment.spec, trial_settings(*experiment.spec));
    known = trial_settings_.insert_or_assign(experiment.id, fresh).first;
  }
  return known->second.second;
}

/// What cannot be told to any node is its job's fault.
void Core::on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why) {
  launches_.received({launch.id, node});
  Doom doom{"its agent does not take the launch: " + why, launch.launch_key};
  if (check_launch_size(launch).has_value()) doom.node = node;
  doomed_launches_[launch.id] = std::move(doom);
}

namespace {

void give_up_turns(const StepId& step, LaunchQueue& launches) {
  for (const NodeIndex node : launches.unsent_turns(step)) launches.received({step, node});
}

}  // namespace

/// A launch is a promise: within its time there is a process, or an end with its cause.
void Core::watch_launches(TimePoint now) {
  for (const auto& [id, doom] : std::exchange(doomed_launches_, {})) {
    const Job* job = state_.jobs().find(id.job);
    const bool is_run = job != nullptr && job->run != nullptr && job->attempt == id.attempt;
    const StepState* step = is_run ? job->run->find_step(id.step) : nullptr;
    if (step == nullptr || job->run->launch_key_of(*step) != doom.launch_key) continue;
    if (doom.node && has_begun_on(*doom.node, id)) continue;  // it was told another time
    forget_launch(id);
    fail_launch(id, doom.why, doom.node.has_value(), now, doom.node);
  }
  while (!launch_watch_.empty() && launch_watch_.begin()->first <= now) {
    const StepId step = launch_watch_.begin()->second;
    if (is_launch_held_up(step, now)) continue;
    forget_launch(step);
    const auto seconds = state_.settings().launch_timeout.seconds();
    // Where its bytes have not come from the disk, no node is at fault.
    const bool is_unread = awaits_blob(step);
    give_up_turns(step, launches_);
    const std::string why =
        is_unread ? fmt::format("its script or environment was not read within {} s", seconds)
                  : fmt::format("did not start it within {} s", seconds);
    fail_launch(step, why, !is_unread, now);
  }
}

/// Ends the step on every node that has not said that it runs there. `is_node_fault`: those nodes
/// are not to be trusted with another one, and the job may run elsewhere. `culprit`: of those nodes
/// the one that alone is at fault.
void Core::fail_launch(const StepId& id, const std::string& why, bool is_node_fault, TimePoint now,
                       std::optional<NodeIndex> culprit) {
  const Job* job = state_.jobs().find(id.job);
  const StepState* step = job == nullptr || job->run == nullptr || job->attempt != id.attempt
                              ? nullptr
                              : job->run->find_step(id.step);
  if (step == nullptr || !step->is_running()) return;
  const auto layout = step->layout;
  const StepProgress progress = progress_[id];
  const bool ends_run = id.step == kBatchStep || (job->spec->kind == JobKind::kRun &&
                                                  job->first_step != nullptr && id.step == 0);
  for (std::size_t i = 0; i < layout->nodes.size(); ++i) {
    if (progress.done.test(i)) continue;
    const NodeIndex node = layout->nodes[i].node;
    // Half of a step is of no use, and one that comes late neither.
    if (ends_run && is_node_fault) {
      links_[node.value()].fenced.insert({id.job, id.attempt});
      send_when_durable(node, TerminateJob{id.job, id.attempt, "", Duration()});
    } else {
      send_when_durable(node, SignalStep{id, SIGKILL, false, job->run->launch_key_of(*step)});
    }
    if (progress.running.test(i)) continue;
    const std::string& blamed = state_.nodes().at(culprit.value_or(node)).config.name;
    const std::string cause = is_node_fault ? fmt::format("node {} {}", blamed, why) : why;
    const bool is_to_blame = is_node_fault && culprit.value_or(node) == node;
    if (is_to_blame) {
      drain_for(
          node,
          fmt::format("Launch failure: step {}.{} of attempt {}: {}", id.job.value(),
                      id.step == kBatchStep ? "batch" : std::to_string(id.step), id.attempt, why),
          now);
    }
    StepDone gone;
    gone.id = id;
    gone.tasks = {ExitStatus::exited(1)};
    gone.error = cause;
    gone.is_node_fault = is_to_blame;
    on_step_done(node, gone, now);
  }
}

void Core::order_launch(const StepId& step) {
  watch_launch(step);
  outbox_.push_back(Outgoing{due(), step});
}

Bytes Core::bytes_of(BlobId id, const StepId& waiting) {
  if (id.value() == 0) return std::make_shared<const std::string>();
  if (Bytes bytes = blobs_.get(id)) return bytes;
  if (const auto kept = fetched_.find(waiting); kept != fetched_.end()) {
    if (const auto found = kept->second.find(id); found != kept->second.end()) return found->second;
  }
  auto& steps = waiting_launches_[id];
  if (steps.empty()) port_.fetch_blob(id);
  steps.insert(waiting);
  return nullptr;
}

void Core::on_blob(BlobId id, Result<Bytes> bytes) {
  const auto found = waiting_launches_.find(id);
  if (found == waiting_launches_.end()) return;
  const std::set<StepId> steps = std::move(found->second);
  waiting_launches_.erase(found);
  if (!bytes.has_value()) {
    state_.do_not_share(id);
    for (const StepId& step : steps) {
      fetched_.erase(step);
      give_up_turns(step, launches_);
      fail_launch(step, "its script or environment cannot be read: " + bytes.error().text(), false,
                  now_);
    }
    return;
  }
  blobs_.put(id, *bytes);
  for (const StepId& step : steps) {
    fetched_[step][id] = *bytes;
    if (resume_launch(step)) fetched_.erase(step);
  }
  serve_launches(now_);
}

namespace {

/// The job with the memory that the partition it started in gives by default, where its partitions
/// differed in that.
JobSpecRef spec_in_partition(const Job& job, const ClusterState& state) {
  const bool is_open = job.spec->memory_scope == MemoryScope::kDefault &&
                       job.spec->get(JobText::kPartition).find(',') != std::string_view::npos;
  if (!is_open) return job.spec;
  const auto need = resource_need(*job.spec, state.partition(job.partition), state.settings());
  if (!need.has_value() || need->memory_mib == 0) return job.spec;
  auto spec = std::make_shared<JobSpec>(*job.spec);
  spec->memory_scope = need->memory_scope;
  spec->memory_mib = need->memory_mib;
  return spec;
}

/// What every node of a step is told alike.
LaunchStep launch_of(const Job& job, const StepState& step, const ClusterState& state) {
  LaunchStep message;
  message.id = step.id;
  message.job = spec_in_partition(job, state);
  message.step = step.spec;
  message.cluster_name = state.settings().cluster_name;
  message.job_node_list = compress_hostlist(node_names(job.run->allocation->nodes, state));
  message.step_node_list = compress_hostlist(node_names(step.layout->nodes, state));
  for (const NodeGrant& grant : job.run->allocation->nodes) {
    const std::uint32_t usable =
        usable_cpus(*job.spec, grant.cpus.count(), state.nodes().at(grant.node).config);
    message.job_cpus.push_back(usable);
    message.job_tasks.push_back(job_tasks_on(*job.spec, grant, usable));
  }
  for (const NodeGrant& grant : step.layout->nodes) message.step_tasks.push_back(grant.task_count);
  message.partition = state.partition(job.partition).name;
  message.start_time = job.start_time;
  message.end_time = job.end_time.is_set() ? job.end_time : TimePoint::never();
  message.array_job = job.array_job;
  message.array_index = job.array_index.value_or(0);
  if (job.array_facts != nullptr) message.array = *job.array_facts;
  message.restart_count = job.attempt;
  message.kill_wait = state.settings().kill_wait;
  message.cluster_id = state.cluster_id();
  message.epoch = state.epoch();
  message.launch_key = job.run->launch_key_of(step);
  message.is_file_append = state.settings().is_job_file_append;
  message.kill_on_bad_exit = state.settings().kill_on_bad_exit;
  return message;
}

BlobId environment_of(const Job& job, const StepState& step) {
  const bool has_own = step.spec != nullptr && step.spec->environment.value() != 0;
  return has_own ? step.spec->environment : job.spec->environment;
}

std::uint32_t rank_in(const std::vector<NodeGrant>& grants, NodeIndex node) {
  const auto found = std::ranges::find(grants, node, &NodeGrant::node);
  CHECK(found != grants.end());
  return static_cast<std::uint32_t>(found - grants.begin());
}

}  // namespace

const StepState* Core::find_launchable(const StepId& id) const {
  const Job* job = state_.jobs().find(id.job);
  const bool is_run = job != nullptr && job->run != nullptr && job->attempt == id.attempt &&
                      !is_finished(job->state);
  const StepState* step = is_run ? job->run->find_step(id.step) : nullptr;
  return step != nullptr && step->is_running() ? step : nullptr;
}

bool Core::awaits_blob(const StepId& id) const {
  const StepState* step = find_launchable(id);
  if (step == nullptr) return false;
  const Job& job = *state_.jobs().find(id.job);
  return std::ranges::any_of(
      std::array{environment_of(job, *step), job.spec->script}, [&](BlobId blob) {
        const auto waiting = waiting_launches_.find(blob);
        return waiting != waiting_launches_.end() && waiting->second.contains(id);
      });
}

/// Whether that one of its nodes is connected, free of others' work, and has not said that it runs
/// it.
bool Core::is_launchable_on(const StepState& step, std::size_t part) const {
  const NodeLink& link = links_[step.layout->nodes[part].node.value()];
  const auto progress = progress_.find(step.id);
  const bool is_heard = progress != progress_.end() &&
                        (progress->second.running.test(part) || progress->second.done.test(part));
  return !is_heard && link.is_connected && !link.is_fenced();
}

/// What each of its nodes is to be told, as far as it may be much.
std::size_t Core::launch_bytes(const Job& job, const StepState& step) const {
  const auto size_of = [&](BlobId id) {
    const auto facts = state_.blobs().facts(id);
    return facts ? static_cast<std::size_t>(facts->size) : 0;
  };
  std::size_t bytes = size_of(environment_of(job, step)) + job.spec->text.bytes();
  bytes += step.spec == nullptr ? size_of(job.spec->script) : step.spec->text.bytes();
  bytes +=
      (2 * job.run->allocation->nodes.size() + step.layout->nodes.size()) * sizeof(std::uint32_t);
  if (const Trial* trial = trial_of(state_, job))
    bytes += trial_variable_bytes(*state_.experiments().find(trial->experiment)->spec, *trial);
  return bytes;
}

/// Sends a step to its nodes: what is large of it in turn with others. False: it waits for blobs.
bool Core::launch(const StepId& id) {
  const StepState* step = find_launchable(id);
  if (step == nullptr) return true;
  const Job& job = *state_.jobs().find(id.job);
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
    if (is_launchable_on(*step, i)) parts.push_back(i);
  }
  const std::size_t bytes = launch_bytes(job, *step);
  if (!launches_.is_large(bytes)) {
    const Launch outcome = parts.empty() ? Launch::kDoomed : send_launch(job, *step, parts);
    if (outcome == Launch::kSent) begin_time(id, parts);
    return outcome != Launch::kWaits;
  }
  for (const std::size_t part : parts)
    launches_.add({id, step->layout->nodes[part].node}, job.spec->user, bytes);
  serve_launches(now_);
  return true;
}

/// A few at once: each is a copy of what may be large.
void Core::serve_launches(TimePoint now) {
  constexpr int kAtOnce = 32;
  for (int i = 0; i < kAtOnce; ++i) {
    const auto part = launches_.next(now);
    if (!part) return;
    take_turn(*part);
  }
  has_turns_left_ = true;
}

/// A launch has what it waited for. False: it waits for more.
bool Core::resume_launch(const StepId& id) {
  const std::vector<NodeIndex> nodes = launches_.unsent_turns(id);
  if (nodes.empty()) return launch(id);
  bool is_complete = true;
  for (const NodeIndex node : nodes) is_complete = take_turn({id, node}) && is_complete;
  return is_complete;
}

/// False: it waits for blobs, and keeps its turn. What nobody wants any more gives it up.
bool Core::take_turn(const LaunchPart& part) {
  const StepState* step = find_launchable(part.step);
  const auto own = step == nullptr ? std::nullopt : part_on(*step, part.node);
  auto& missed = links_[part.node.value()].missed_signals;
  const auto is_of_part = [&](const SignalStep& one) { return one.id == part.step; };
  if (!own || !is_launchable_on(*step, *own)) {
    launches_.received(part);
    if (step == nullptr) std::erase_if(missed, is_of_part);
    return true;
  }
  const Launch outcome = send_launch(*state_.jobs().find(part.step.job), *step, std::array{*own});
  if (outcome == Launch::kWaits) return false;
  if (outcome == Launch::kDoomed) launches_.received(part);
  if (outcome == Launch::kSent) {
    launches_.sent(part, now_);
    begin_time(part.step, std::array{*own});
    // At once: what is given after them must not overtake them.
    for (const SignalStep& signal : missed) {
      if (is_of_part(signal)) port_.send(part.node, signal);
    }
    std::erase_if(missed, is_of_part);
  }
  return true;
}

void Core::on_received(NodeIndex node, const StepId& step, TimePoint now) {
  now_ = now;
  launches_.received({step, node});
  serve_launches(now);
}

/// Requires: there are parts.
Core::Launch Core::send_launch(const Job& job, const StepState& step,
                               std::span<const std::size_t> parts) {
  const Bytes environment = bytes_of(environment_of(job, step), step.id);
  const Bytes script = step.spec == nullptr ? bytes_of(job.spec->script, step.id)
                                            : std::make_shared<const std::string>();
  if (environment == nullptr || script == nullptr) return Launch::kWaits;
  LaunchStep message = common_launch(job, step);
  message.time_left = message.end_time - std::max(now_, state_.time());
  message.script = script;
  message.environment = environment;
  const auto doom = [&](std::string why) {
    doomed_launches_[step.id] = {std::move(why), message.launch_key};
    return Launch::kDoomed;
  };
  const Trial* trial = trial_of(state_, job);
  if (trial != nullptr) {
    const Experiment& experiment = *state_.experiments().find(trial->experiment);
    auto variables = trial_variables(experiment, *trial, run_number(job), settings_of(experiment));
    if (!variables.has_value()) return doom(variables.error().text());
    message.variables = std::move(*variables);
  }
  if (const Status sized = check_launch_size(message); !sized.has_value())
    return doom(sized.error().text());
  if (service_kind(*job.spec) && !http_.master.empty()) connect_service(message, job);
  for (const std::size_t part : parts) send_part(message, job, step, part);
  return Launch::kSent;
}

/// `message`: what all nodes are told; this one's own is put in.
void Core::send_part(LaunchStep& message, const Job& job, const StepState& step, std::size_t part) {
  const NodeGrant& grant = step.layout->nodes[part];
  const Node& node = state_.nodes().at(grant.node);
  message.node_name = node.config.name;
  message.pools = node.config.gres;
  message.node_rank = static_cast<std::uint32_t>(part);
  message.job_node_rank = rank_in(job.run->allocation->nodes, grant.node);
  message.job_grant = job.run->allocation->nodes[message.job_node_rank];
  message.step_grant = grant;
  if (const Trial* trial = trial_of(state_, job); trial != nullptr && !http_.master.empty()) {
    LaunchStep connected = message;
    connect_trial(connected, job, *trial);
    port_.send(grant.node, connected);
  } else {
    port_.send(grant.node, message);
  }
  // It was asked to end before it could be told to begin, or its job to stand still.
  if (step.cancelled_by)
    port_.send(grant.node, SignalStep{step.id, SIGKILL, false, message.launch_key});
  if (job.state == JobState::kSuspended)
    port_.send(grant.node, SuspendJob{job.id, job.attempt, true});
  if (over_time_limit(job) != Duration()) port_.send(grant.node, end_of(job));
  if (job.run->stop) deliver_stop(job, grant.node);
}

/// What every node of a step is told alike: kept for the parts that follow, a step may have ten
/// thousand.
const LaunchStep& Core::common_launch(const Job& job, const StepState& step) {
  constexpr std::size_t kMost = 64;
  CommonLaunchKey key{job.run->launch_key_of(step), job.end_time, job.spec, job.run->allocation,
                      step.layout};
  auto known = common_launches_.find(step.id);
  if (known == common_launches_.end() || known->second.first != key) {
    if (common_launches_.size() >= kMost) common_launches_.clear();
    std::pair fresh(std::move(key), launch_of(job, step, state_));
    known = common_launches_.insert_or_assign(step.id, std::move(fresh)).first;
  }
  return known->second.second;
}

}  // namespace muster
