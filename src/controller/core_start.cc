// From plan to running: committing starts, creating first steps, launching.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "codec/hostlist.h"
#include "codec/launch_size.h"
#include "codec/rank_layout.h"
#include "codec/service_text.h"
#include "codec/trial_text.h"
#include "controller/backend/launch_key.h"
#include "controller/backend/trial_rules.h"
#include "controller/core.h"
#include "controller/planning/commit.h"
#include "controller/planning/forecast.h"
#include "sched/fast_path.h"
#include "state/resource_need.h"
#include "state/views.h"

namespace muster {
namespace {

/// Starts tried per turn before the next plan is awaited: bounds the time that a turn can take.
constexpr std::size_t kStartsPerTurn = 512;

}  // namespace

Status Core::check_satisfiable(const JobSpec& spec, const std::vector<PartitionIndex>& partitions) const {
  return muster::check_satisfiable(state_, snapshot_, spec, partitions);
}

/// Jobs that are new or newly unblocked start in this turn if they take nothing from anybody.
void Core::start_candidates(TimePoint now) {
  std::vector<JobId> jobs = std::exchange(candidates_, {});
  if (plan_ == nullptr || jobs.empty()) return;
  snapshot_.advance_time(std::max(now, state_.time()));
  for (const JobId id : jobs) {
    for (std::size_t started = 0; started < kStartsPerTurn; ++started) {
      if (snapshot_.find_pending(id) == nullptr) break;
      const auto result = sched::try_start_now(snapshot_, *plan_, id, std::max(now, state_.time()));
      const auto* start = std::get_if<sched::Start>(&result);
      if (start == nullptr || !commit(*start, now)) break;
    }
  }
}

/// Room has appeared: the plan's successors take it in their order.
void Core::start_successors(TimePoint now) {
  if (!std::exchange(has_freed_, false) || plan_ == nullptr) return;
  snapshot_.advance_time(std::max(now, state_.time()));
  std::size_t tries = 0;
  for (const sched::Successor& successor : plan_->successors) {
    while (tries++ < kStartsPerTurn) {
      if (successor.shape.value() >= snapshot_.shapes().size()) break;
      const sched::Shape& shape = snapshot_.shape(successor.shape);
      if (shape.serial != successor.serial || shape.ready.empty()) break;
      const auto result = sched::try_start_now(snapshot_, *plan_, shape.ready.begin()->job, std::max(now, state_.time()));
      const auto* start = std::get_if<sched::Start>(&result);
      if (start == nullptr || !commit(*start, now)) break;
    }
  }
}

void Core::on_plan(PlanResult result, TimePoint now) {
  auto plan = std::make_shared<sched::Plan>(*result.plan);
  for (const sched::Start& start : plan->starts) commit(start, now);
  // The plan speaks of the planner's snapshot; ours has its own count of changes.
  plan->revision = 0;
  for (const auto& [seq, revision] : revisions_) {
    if (seq > result.seq) break;
    plan->revision = revision;
  }
  while (!revisions_.empty() && revisions_.front().first < result.seq) revisions_.pop_front();
  plan_ = std::move(plan);
  if (result.resize) resize(*result.resize, now);
  end_turn(now);
  port_.plan_consumed(state_.seq());
}

/// False: it no longer fits. The next plan will see why.
bool Core::commit(const sched::Start& start, TimePoint now) {
  // An element that this start splits off is its array's doing: it has no number yet that anybody knows.
  starting_ = start.job;
  port_.works_on(start.job);
  const bool is_started = commit_start(start, now);
  starting_ = JobId();
  return is_started;
}

bool Core::commit_start(const sched::Start& start, TimePoint now) {
  const Job* job = state_.jobs().find(start.job);
  if (job == nullptr || !job->is_pending() || standing_hold(*job) != PendingReason::kNone || refusal_) return false;
  const bool is_record = job->array != nullptr && !job->array_index;
  if (is_record && job->array->remaining.indices.empty()) return false;
  if (is_record && job->array->remaining.throttle != 0 &&
      job->array->active_elements >= job->array->remaining.throttle) {
    return false;
  }
  if (const Job* array = is_record || job->array_job.value() == 0 ? nullptr : state_.jobs().find(job->array_job);
      array != nullptr && array->array != nullptr && array->array->remaining.throttle != 0 &&
      array->array->active_elements >= array->array->remaining.throttle) {
    return false;
  }
  const auto allocation = choose_resources(state_, start, snapshot_);
  if (!allocation) return false;
  JobId id = start.job;
  if (is_record && job->array->remaining.indices.count() > 1) {
    const auto index = static_cast<std::uint32_t>(job->array->remaining.indices.lowest(1).indices().front());
    id = state_.next_job();
    emit(ArraySplit{start.job, index, id}, now);
  }
  const Duration limit = state_.jobs().find(id)->time_limit;
  emit(JobStarted{id, start.partition, *allocation, limit, draw_run_key(state_, id)}, now);
  create_first_step(*state_.jobs().find(id), now);
  return true;
}

void Core::create_first_step(const Job& job, TimePoint now) {
  if (job.spec->kind == JobKind::kBatch) {
    auto layout = std::make_shared<StepLayout>();
    layout->nodes.push_back(job.run->allocation->nodes.front());
    layout->nodes.front().task_count = 1;
    const StepId step{job.id, job.attempt, kBatchStep};
    emit(StepCreated{step, nullptr, std::move(layout), draw_launch_key(state_, step)}, now);
    order_launch(step);
    return;
  }
  if (job.first_step == nullptr) return;
  auto layout = frontend::lay_out_first_step(state_, job);
  std::uint32_t tasks = 0;
  for (const NodeGrant& grant : layout->nodes) tasks += grant.task_count;
  auto spec = job.first_step;
  if (tasks != spec->task_count) {
    auto counted = std::make_shared<StepSpec>(*spec);
    counted->task_count = tasks;
    spec = std::move(counted);
  }
  const StepId step{job.id, job.attempt, job.run->next_step};
  emit(StepCreated{step, std::move(spec), std::move(layout), draw_launch_key(state_, step)}, now);
  order_launch(step);
}

void Core::watch_launch(const StepId& step) {
  const TimePoint deadline = now_ + state_.settings().launch_timeout;
  if (launch_deadlines_.try_emplace(step, deadline).second) launch_watch_.emplace(deadline, step);
}

void Core::forget_launch(const StepId& step) {
  const auto found = launch_deadlines_.find(step);
  if (found == launch_deadlines_.end()) return;
  launch_watch_.erase({found->second, step});
  launch_deadlines_.erase(found);
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
  Doom doom{"its agent does not take the launch: " + why, launch.launch_key};
  if (check_launch_size(launch).has_value()) doom.node = node;
  doomed_launches_[launch.id] = std::move(doom);
}

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
    forget_launch(step);
    fail_launch(step, fmt::format("did not start it within {} s", state_.settings().launch_timeout.seconds()), true, now);
  }
}

/// Ends the step on every node that has not said that it runs there. `is_node_fault`: those nodes
/// are not to be trusted with another one, and the job may run elsewhere. `culprit`: of those nodes
/// the one that alone is at fault.
void Core::fail_launch(const StepId& id, const std::string& why, bool is_node_fault, TimePoint now,
                       std::optional<NodeIndex> culprit) {
  const Job* job = state_.jobs().find(id.job);
  const StepState* step = job == nullptr || job->run == nullptr || job->attempt != id.attempt ? nullptr : job->run->find_step(id.step);
  if (step == nullptr || !step->is_running()) return;
  const auto layout = step->layout;
  const StepProgress progress = progress_[id];
  const bool ends_run = id.step == kBatchStep || (job->spec->kind == JobKind::kRun && job->first_step != nullptr && id.step == 0);
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
      drain_for(node, fmt::format("Launch failure: step {}.{} of attempt {}: {}", id.job.value(), id.step == kBatchStep ? "batch" : std::to_string(id.step),
                                  id.attempt, why), now);
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
  if (std::ranges::find(steps, waiting) == steps.end()) steps.push_back(waiting);
  return nullptr;
}

void Core::on_blob(BlobId id, Result<Bytes> bytes) {
  const auto found = waiting_launches_.find(id);
  if (found == waiting_launches_.end()) return;
  const std::vector<StepId> steps = std::move(found->second);
  waiting_launches_.erase(found);
  if (!bytes.has_value()) {
    state_.do_not_share(id);
    for (const StepId& step : steps) {
      fetched_.erase(step);
      fail_launch(step, "its script or environment cannot be read: " + bytes.error().text(), false, now_);
    }
    return;
  }
  blobs_.put(id, *bytes);
  for (const StepId& step : steps) {
    fetched_[step][id] = *bytes;
    if (launch(step)) fetched_.erase(step);
  }
}

namespace {

/// The job with the memory that the partition it started in gives by default, where its partitions differed in that.
JobSpecRef spec_in_partition(const Job& job, const ClusterState& state) {
  const bool is_open = job.spec->memory_scope == MemoryScope::kDefault && job.spec->get(JobText::kPartition).find(',') != std::string_view::npos;
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
    const std::uint32_t usable = usable_cpus(*job.spec, grant.cpus.count(), state.nodes().at(grant.node).config);
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

std::uint32_t rank_in(const std::vector<NodeGrant>& grants, NodeIndex node) {
  const auto found = std::ranges::find(grants, node, &NodeGrant::node);
  CHECK(found != grants.end());
  return static_cast<std::uint32_t>(found - grants.begin());
}

}  // namespace

/// Sends a step to those of its nodes that are connected, free of others' work, and have not said that they run it. False: it waits for blobs.
bool Core::launch(const StepId& id) {
  const Job* job = state_.jobs().find(id.job);
  if (job == nullptr || job->run == nullptr || job->attempt != id.attempt || is_finished(job->state)) return true;
  const StepState* step = job->run->find_step(id.step);
  if (step == nullptr || !step->is_running()) return true;
  const BlobId environment = step->spec != nullptr && step->spec->environment.value() != 0 ? step->spec->environment
                                                                                            : job->spec->environment;
  const Bytes environment_bytes = bytes_of(environment, id);
  const Bytes script = step->spec == nullptr ? bytes_of(job->spec->script, id) : std::make_shared<const std::string>();
  if (environment_bytes == nullptr || script == nullptr) return false;
  LaunchStep message = launch_of(*job, *step, state_);
  message.time_left = message.end_time - std::max(now_, state_.time());
  message.script = script;
  message.environment = environment_bytes;
  if (const Trial* trial = trial_of(state_, *job)) {
    const Experiment& experiment = *state_.experiments().find(trial->experiment);
    auto variables = trial_variables(experiment, *trial, run_number(*job), settings_of(experiment));
    if (!variables.has_value()) {
      doomed_launches_[id] = {variables.error().text(), message.launch_key};
      return true;
    }
    message.variables = std::move(*variables);
  }
  if (const Status sized = check_launch_size(message); !sized.has_value()) {
    doomed_launches_[id] = {sized.error().text(), message.launch_key};
    return true;
  }
  if (service_kind(*job->spec) && !http_.master.empty()) connect_service(message, *job);
  const StepProgress& progress = progress_[id];
  for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
    const NodeGrant& grant = step->layout->nodes[i];
    const NodeLink& link = links_[grant.node.value()];
    if (progress.running.test(i) || progress.done.test(i) || !link.is_connected || link.is_fenced())
      continue;
    const Node& node = state_.nodes().at(grant.node);
    message.node_name = node.config.name;
    message.pools = node.config.gres;
    message.node_rank = static_cast<std::uint32_t>(i);
    message.job_node_rank = rank_in(job->run->allocation->nodes, grant.node);
    message.job_grant = job->run->allocation->nodes[message.job_node_rank];
    message.step_grant = grant;
    if (const Trial* trial = trial_of(state_, *job); trial != nullptr && !http_.master.empty()) {
      LaunchStep connected = message;
      connect_trial(connected, *job, *trial);
      port_.send(grant.node, connected);
    } else {
      port_.send(grant.node, message);
    }
    // It was asked to end before it could be told to begin.
    if (step->cancelled_by)
      port_.send(grant.node, SignalStep{id, SIGKILL, false, message.launch_key});
    if (over_time_limit(*job) != Duration()) port_.send(grant.node, end_of(*job));
    if (job->run->stop) deliver_stop(*job, grant.node);
  }
  return true;
}

}  // namespace muster
