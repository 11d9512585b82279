// A launch: order_launch ──durable──▶ launch ──▶ sent at once where it is small, else part by part
// in the queue's turns ──▶ every node's word that it runs, or an end. Whatever stops it on the way
// (a blob that cannot be read, an agent that refuses, a timeout) leads to fail_launch, which makes
// up the ends that those nodes will not report. All maps here are derived: a start fills them again
// from the state (RunRole::begin) and from registrations.
#include "workload/launch_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/check.h"
#include "engine/run_policy.h"
#include "slurm/hostlist.h"
#include "slurm/rank_layout.h"
#include "state/views.h"
#include "text/launch_size.h"
#include "workload/node_role.h"
#include "workload/run_lookup.h"
#include "workload/run_role.h"
#include "workload/workload_port.h"

namespace muster {
namespace {

void give_up_turns(const StepId& step, LaunchQueue& launches) {
  for (const NodeIndex node : launches.unsent_turns(step)) launches.received({step, node});
}

/// What every node of a step is sent alike.
LaunchStep launch_of(const Job& job, const StepState& step, const ClusterState& state) {
  LaunchStep message;
  message.id = step.id;
  message.job = job.spec;
  message.step = step.spec;
  message.cluster_name = state.settings().cluster_name;
  message.job_node_list = compress_hostlist(node_names(job.run->allocation->nodes, state));
  message.step_node_list = compress_hostlist(node_names(step.layout->nodes, state));
  // In the order of the job's nodes, as the variables of the kind SLURM_JOB_CPUS_PER_NODE list
  // them.
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
  if (job.array_range != nullptr) message.array = *job.array_range;
  message.restart_count = job.attempt;
  message.kill_wait = state.settings().kill_wait;
  message.cluster_id = state.cluster_id();
  message.epoch = state.epoch();
  message.launch_key = job.run->launch_key_of(step);
  message.is_file_append = state.settings().is_job_file_append;
  message.kill_on_bad_exit = state.settings().kill_on_bad_exit;
  return message;
}

/// An srun inside a job sends its own environment with the step; every other step has that of the
/// submission.
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

LaunchRole::LaunchRole(WorkloadRoles& roles)
    : roles_(roles),
      engine_(roles.engine),
      state_(roles.engine.state()),
      queue_(roles.options.launches) {}

void LaunchRole::serve_turns_left() {
  if (std::exchange(has_turns_left_, false)) serve_launches();
}

void LaunchRole::extend_all() {
  std::set<std::pair<TimePoint, StepId>> watch;
  for (auto& [step, deadline] : launch_deadlines_) {
    deadline = std::max(deadline, now() + state_.settings().launch_timeout);
    watch.emplace(deadline, step);
  }
  launch_watch_ = std::move(watch);
}

void LaunchRole::watch_launch(const StepId& step) {
  const TimePoint deadline = now() + state_.settings().launch_timeout;
  if (launch_deadlines_.try_emplace(step, deadline).second) launch_watch_.emplace(deadline, step);
}

void LaunchRole::forget_launch(const StepId& step) {
  common_launches_.erase(step);
  sent_.erase(step);
  const auto found = launch_deadlines_.find(step);
  if (found == launch_deadlines_.end()) return;
  launch_watch_.erase({found->second, step});
  launch_deadlines_.erase(found);
}

void LaunchRole::extend_launch(const StepId& step, TimePoint deadline) {
  const auto found = launch_deadlines_.find(step);
  if (found == launch_deadlines_.end() || found->second >= deadline) return;
  launch_watch_.erase({found->second, step});
  launch_watch_.emplace(deadline, step);
  found->second = deadline;
}

/// A node's time begins when it is sent: that so many launches are to be sent is not its fault.
/// True: the step has been given more time.
bool LaunchRole::is_launch_held_up(const StepId& step) {
  const auto since = queue_.held_up_since(step, now());
  // Its nodes have had the whole timeout while nothing else delayed them: the fault is theirs.
  if (!since || *since + state_.settings().launch_timeout <= now()) return false;
  extend_launch(step, *since + state_.settings().launch_timeout);
  return true;
}

/// Those parts are sent. Once for each: a node that comes back again and again gives the others no
/// more time.
void LaunchRole::begin_time(const StepId& step, std::span<const std::size_t> parts) {
  if (!launch_deadlines_.contains(step)) return;
  Bitmap& sent = sent_[step];
  const bool is_first =
      std::ranges::any_of(parts, [&](std::size_t part) { return !sent.test(part); });
  for (const std::size_t part : parts) sent.set(part);
  if (is_first) extend_launch(step, now() + state_.settings().launch_timeout);
}

/// What cannot be sent to any node is its job's fault.
void LaunchRole::on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why) {
  queue_.received({launch.id, node});
  Doom doom{"its agent does not take the launch: " + why, launch.launch_key};
  // An agent objects to a size that every agent should accept: it is this node's fault. Otherwise
  // the launch is too large for any node.
  if (check_launch_size(launch).has_value()) doom.node = node;
  doomed_launches_[launch.id] = std::move(doom);
}

/// A launch is a promise: within its time there is a process, or an end with its cause.
void LaunchRole::watch_launches() {
  for (const auto& [id, doom] : std::exchange(doomed_launches_, {})) {
    if (own_step(running_job(state_, id.job, id.attempt), id, doom.launch_key) == nullptr) continue;
    if (doom.node && roles_.runs->has_begun_on(*doom.node, id))
      continue;  // it was sent another time
    forget_launch(id);
    fail_launch(id, doom.why, doom.node.has_value(), doom.node);
  }
  while (!launch_watch_.empty() && launch_watch_.begin()->first <= now()) {
    const StepId step = launch_watch_.begin()->second;
    if (is_launch_held_up(step)) continue;
    forget_launch(step);
    const auto seconds = state_.settings().launch_timeout.seconds();
    // Where its bytes have not come from the disk, no node is at fault.
    const bool is_unread = awaits_blob(step);
    give_up_turns(step, queue_);
    const std::string why =
        is_unread ? fmt::format("its script or environment was not read within {} s", seconds)
                  : fmt::format("did not start it within {} s", seconds);
    fail_launch(step, why, !is_unread);
  }
}

/// Ends the step on every node that has not said that it runs there. `is_node_fault`: those nodes
/// are not to be trusted with another one, and the job may run elsewhere. `culprit`: of those nodes
/// the one that alone is at fault.
void LaunchRole::fail_launch(const StepId& id, const std::string& why, bool is_node_fault,
                             std::optional<NodeIndex> culprit) {
  const Job* job = running_job(state_, id.job, id.attempt);
  const StepState* step = job == nullptr ? nullptr : job->run->find_step(id.step);
  if (step == nullptr || !step->is_running()) return;
  // Copies: the last part's end, given below, ends the step and drops its progress.
  const auto layout = step->layout;
  const StepProgress progress = roles_.runs->progress(id);
  const bool ends_run = id.step == kBatchStep || (job->spec->kind == JobKind::kRun &&
                                                  job->first_step != nullptr && id.step == 0);
  for (std::size_t i = 0; i < layout->nodes.size(); ++i) {
    if (progress.done.test(i)) continue;
    const NodeIndex node = layout->nodes[i].node;
    // Half of a step is of no use, and one that comes late neither.
    // Where the step is the whole run, its nodes end all of the run and take no other work until
    // they say that nothing is left. Of any other step only the tasks are killed.
    if (ends_run && is_node_fault) {
      roles_.nodes->link(node).fenced.insert({id.job, id.attempt});
      engine_.send(node, TerminateJob{id.job, id.attempt, "", Duration()});
    } else {
      engine_.send(node, SignalStep{id, SIGKILL, false, job->run->launch_key_of(*step)});
    }
    // This part ends by the signal, and its node reports that end itself.
    if (progress.running.test(i)) continue;
    const std::string& blamed = state_.nodes().at(culprit.value_or(node)).config.name;
    const std::string cause = is_node_fault ? fmt::format("node {} {}", blamed, why) : why;
    const bool is_to_blame = is_node_fault && culprit.value_or(node) == node;
    if (is_to_blame) {
      roles_.nodes->drain_for(
          node,
          fmt::format("Launch failure: step {}.{} of attempt {}: {}", id.job.value(),
                      id.step == kBatchStep ? "batch" : std::to_string(id.step), id.attempt, why));
    }
    // The end that this node will not report.
    StepDone gone;
    gone.id = id;
    gone.tasks = {ExitStatus::exited(1)};
    gone.error = cause;
    gone.is_node_fault = is_to_blame;
    roles_.runs->on_step_done(node, gone);
  }
}

void LaunchRole::order_launch(const StepId& step) {
  // From the decision on, not from the sending: what is held up on this side ends with its cause,
  // too.
  watch_launch(step);
  engine_.launch(step);
}

Bytes LaunchRole::bytes_of(BlobId id, const StepId& waiting) {
  if (id.value() == 0) return std::make_shared<const std::string>();
  if (Bytes bytes = blobs_.get(id)) return bytes;
  if (const auto kept = fetched_.find(waiting); kept != fetched_.end()) {
    if (const auto found = kept->second.find(id); found != kept->second.end()) return found->second;
  }
  auto& steps = waiting_launches_[id];
  if (steps.empty()) roles_.port.fetch_blob(id);
  steps.insert(waiting);
  return nullptr;
}

void LaunchRole::on_blob(BlobId id, Result<Bytes> bytes) {
  const auto found = waiting_launches_.find(id);
  if (found == waiting_launches_.end()) return;
  // Moved out first: a launch that still lacks another blob enters itself in the map again.
  const std::set<StepId> steps = std::move(found->second);
  waiting_launches_.erase(found);
  if (!bytes.has_value()) {
    // Else the next submission with the same bytes would be given the damaged copy, and fail, too.
    state_.do_not_share(id);
    for (const StepId& step : steps) {
      fetched_.erase(step);
      give_up_turns(step, queue_);
      fail_launch(step, "its script or environment cannot be read: " + bytes.error().text(), false);
    }
    return;
  }
  blobs_.put(id, *bytes);
  for (const StepId& step : steps) {
    // Held beside the cache, from which the launch's next blob may push this one out.
    fetched_[step][id] = *bytes;
    if (resume_launch(step)) fetched_.erase(step);
  }
  serve_launches();
}

const StepState* LaunchRole::find_launchable(const StepId& id) const {
  const Job* job = running_job(state_, id.job, id.attempt);
  const bool goes_on = job != nullptr && !is_finished(job->state);
  const StepState* step = goes_on ? job->run->find_step(id.step) : nullptr;
  return step != nullptr && step->is_running() ? step : nullptr;
}

bool LaunchRole::awaits_blob(const StepId& id) const {
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
bool LaunchRole::is_launchable_on(const StepState& step, std::size_t part) const {
  const NodeLink& link = roles_.nodes->link(step.layout->nodes[part].node);
  const StepProgress* progress = roles_.runs->find_progress(step.id);
  const bool is_heard =
      progress != nullptr && (progress->running.test(part) || progress->done.test(part));
  return !is_heard && link.is_connected && !link.is_fenced();
}

/// What each of its nodes is to be sent, as far as it may be much.
std::size_t LaunchRole::launch_bytes(const Job& job, const StepState& step) const {
  const auto size_of = [&](BlobId id) {
    const auto record = state_.blobs().record(id);
    return record ? static_cast<std::size_t>(record->size) : 0;
  };
  // An estimate for the queue, not the encoded size: it has what can be large.
  std::size_t bytes = size_of(environment_of(job, step)) + job.spec->text.bytes();
  bytes += step.spec == nullptr ? size_of(job.spec->script) : step.spec->text.bytes();
  // Three lists with a number for each node: CPUs and tasks of the job's nodes, tasks of the
  // step's.
  bytes +=
      (2 * job.run->allocation->nodes.size() + step.layout->nodes.size()) * sizeof(std::uint32_t);
  return bytes + roles_.policy->launch_bytes(job);
}

/// Sends a step to its nodes: what is large of it in turn with others. False: it waits for blobs.
bool LaunchRole::launch(const StepId& id) {
  const StepState* step = find_launchable(id);
  if (step == nullptr) return true;
  const Job& job = *state_.jobs().find(id.job);
  // A node that is away or fenced is left out: its registration, or the end of its fence, orders
  // the launch again.
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < step->layout->nodes.size(); ++i) {
    if (is_launchable_on(*step, i)) parts.push_back(i);
  }
  const std::size_t bytes = launch_bytes(job, *step);
  if (!queue_.is_large(bytes)) {
    const Launch outcome = parts.empty() ? Launch::kDoomed : send_launch(job, *step, parts);
    if (outcome == Launch::kSent) begin_time(id, parts);
    return outcome != Launch::kWaits;
  }
  // Only names wait in the queue: the message, which is large, is written when its turn has come.
  for (const std::size_t part : parts)
    queue_.add({id, step->layout->nodes[part].node}, job.spec->user, bytes);
  serve_launches();
  return true;
}

/// A few at once: each is a copy of what may be large.
void LaunchRole::serve_launches() {
  constexpr int kAtOnce = 32;
  for (int i = 0; i < kAtOnce; ++i) {
    const auto part = queue_.next(now());
    if (!part) return;
    serve_part(*part);
  }
  // What is left is work for the next turn (Workload::on_work), so that everybody else is served in
  // between.
  has_turns_left_ = true;
}

/// A launch has what it waited for. False: it waits for more.
bool LaunchRole::resume_launch(const StepId& id) {
  const std::vector<NodeIndex> nodes = queue_.unsent_turns(id);
  if (nodes.empty()) return launch(id);
  bool is_complete = true;
  for (const NodeIndex node : nodes) is_complete = serve_part({id, node}) && is_complete;
  return is_complete;
}

/// False: it waits for blobs, and keeps its turn. What nobody wants any more gives it up.
bool LaunchRole::serve_part(const LaunchPart& part) {
  const StepState* step = find_launchable(part.step);
  const auto own = step == nullptr ? std::nullopt : part_on(*step, part.node);
  auto& missed = roles_.nodes->link(part.node).missed_signals;
  const auto is_of_part = [&](const SignalStep& one) { return one.id == part.step; };
  if (!own || !is_launchable_on(*step, *own)) {
    queue_.received(part);
    // Signals are void with their step; where only the node is away they stay until it is back.
    if (step == nullptr) std::erase_if(missed, is_of_part);
    return true;
  }
  const Launch outcome = send_launch(*state_.jobs().find(part.step.job), *step, std::array{*own});
  if (outcome == Launch::kWaits) return false;
  if (outcome == Launch::kDoomed) queue_.received(part);
  if (outcome == Launch::kSent) {
    queue_.sent(part, now());
    begin_time(part.step, std::array{*own});
    // At once: what is given after them must not overtake them.
    for (const SignalStep& signal : missed) {
      if (is_of_part(signal)) roles_.port.send(part.node, signal);
    }
    std::erase_if(missed, is_of_part);
  }
  return true;
}

void LaunchRole::on_received(NodeIndex node, const StepId& step) {
  queue_.received({step, node});
  serve_launches();
}

/// Requires: there are parts.
LaunchRole::Launch LaunchRole::send_launch(const Job& job, const StepState& step,
                                           std::span<const std::size_t> parts) {
  const Bytes environment = bytes_of(environment_of(job, step), step.id);
  const Bytes script = step.spec == nullptr ? bytes_of(job.spec->script, step.id)
                                            : std::make_shared<const std::string>();
  if (environment == nullptr || script == nullptr) return Launch::kWaits;
  LaunchStep message = common_launch(job, step);
  message.time_left = message.end_time - std::max(now(), state_.time());
  message.script = script;
  message.environment = environment;
  const auto doom = [&](std::string why) {
    doomed_launches_[step.id] = {std::move(why), message.launch_key};
    return Launch::kDoomed;
  };
  if (const Status added = roles_.policy->add_to_launch(job, message); !added.has_value())
    return doom(added.error().text());
  // After the policy's additions, which count: what is too large ends here, not at each of its
  // agents.
  if (const Status sized = check_launch_size(message); !sized.has_value())
    return doom(sized.error().text());
  for (const std::size_t part : parts) send_part(message, job, step, part);
  return Launch::kSent;
}

/// `message`: what all nodes are sent; this one's own is put in.
void LaunchRole::send_part(LaunchStep& message, const Job& job, const StepState& step,
                           std::size_t part) {
  const NodeGrant& grant = step.layout->nodes[part];
  const Node& node = state_.nodes().at(grant.node);
  message.node_name = node.config.name;
  message.pools = node.config.gres;
  message.node_rank = static_cast<std::uint32_t>(part);
  message.job_node_rank = rank_in(job.run->allocation->nodes, grant.node);
  message.job_grant = job.run->allocation->nodes[message.job_node_rank];
  message.step_grant = grant;
  if (roles_.policy->has_own_parts(job)) {
    // A copy, so that what one part has of its own does not reach the next node.
    LaunchStep own = message;
    roles_.policy->add_to_part(job, own);
    roles_.port.send(grant.node, own);
  } else {
    roles_.port.send(grant.node, message);
  }
  // It was asked to end before it could be told to begin, or its job to stand still.
  if (step.cancelled_by)
    roles_.port.send(grant.node, SignalStep{step.id, SIGKILL, false, message.launch_key});
  if (job.state == JobState::kSuspended)
    roles_.port.send(grant.node, SuspendJob{job.id, job.attempt, true});
  if (roles_.runs->over_time_limit(job) != Duration())
    roles_.port.send(grant.node, roles_.runs->end_of(job));
  if (job.run->stop) roles_.runs->deliver_stop(job, grant.node);
}

/// What every node of a step is sent alike: kept for the parts that follow, a step may have ten
/// thousand.
const LaunchStep& LaunchRole::common_launch(const Job& job, const StepState& step) {
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
