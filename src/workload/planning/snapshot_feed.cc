// Idempotent by construction: each event names jobs, and for each of them the snapshot's entries
// are made from the state as it is now and written where they differ. Nothing depends on what the
// event says beyond that.
#include "workload/planning/snapshot_feed.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "state/resource_need.h"

namespace muster {
namespace {

/// The jobs that an event concerns.
template <class Visit>
void for_each_job(const EventBody& body, Visit&& use) {
  muster::visit(
      [&](const auto& event) {
        using Kind = std::decay_t<decltype(event)>;
        if constexpr (std::is_same_v<Kind, ArraySplit>) {
          use(event.array);
          use(event.element);
        } else if constexpr (std::is_same_v<Kind, JobsEvicted>) {
          for (const JobId id : event.jobs) use(id);
        } else if constexpr (requires { JobId(event.job); }) {
          // Every other event of a job has a member `job`.
          use(event.job);
        }
      },
      body);
}

bool is_waiting(const Job& job) {
  if (!job.is_pending()) return false;
  // A record of which all elements have split off waits for nothing.
  return job.array == nullptr || job.array_index || !job.array->remaining.indices.empty();
}

}  // namespace

// Holds before dependencies: a held job waits for its release, whatever else it waits for.
PendingReason standing_hold(const Job& job) {
  if ((job.flags & job_flag::kAdminHeld) != 0) return PendingReason::kJobHeldAdmin;
  if ((job.flags & job_flag::kAnyHold) != 0) {
    return job.reason == PendingReason::kJobHoldMaxRequeue ? job.reason
                                                           : PendingReason::kJobHeldUser;
  }
  if (job.reason == PendingReason::kDependencyNeverSatisfied) return job.reason;
  if (job.dependencies != nullptr && !job.eligible_time.is_set()) return PendingReason::kDependency;
  return PendingReason::kNone;
}

sched::NodeAmount amount_of(const NodeGrant& grant, const sched::ClusterSnapshot& snapshot) {
  sched::NodeAmount amount{grant.node,
                           grant.task_count,
                           static_cast<std::uint32_t>(grant.cpus.count()),
                           grant.memory_mib,
                           {}};
  for (const GresGrant& gres : grant.gres) {
    if (const auto kind = snapshot.find_gres_kind(gres.name, gres.type)) {
      amount.gres.push_back({*kind, static_cast<std::uint32_t>(gres.devices.count())});
    }
  }
  std::ranges::sort(amount.gres, {}, &sched::GresCount::kind);
  return amount;
}

std::shared_ptr<const ResourceRequest> SnapshotFeed::need_of(const Job& job,
                                                             PartitionIndex partition,
                                                             const ClusterState& state) {
  auto need = resource_need(*job.spec, state.partition(partition), state.settings());
  if (!need.has_value()) return nullptr;
  return needs_.share(std::move(need).value());
}

sched::PendingJob SnapshotFeed::pending_job(const Job& job, const ClusterState& state) {
  sched::PendingJob pending;
  pending.id = job.id;
  pending.request = need_of(job, job.partitions.front(), state);
  bool is_alike = true;
  for (std::size_t i = 1; i < job.partitions.size() && pending.request != nullptr; ++i) {
    auto later = need_of(job, job.partitions[i], state);
    // The partition cannot serve it: the first one's need stands in its place.
    if (later == nullptr) later = pending.request;
    is_alike = is_alike && later == pending.request;
    pending.later_requests.push_back(std::move(later));
  }
  // One request serves all partitions: so it does for most jobs.
  if (is_alike) pending.later_requests.clear();
  pending.partitions = job.partitions;
  pending.time_limit = job.time_limit;
  pending.priority = job.priority;
  pending.submit_time = job.submit_time;
  // Shares permute the order among the user's trials: time and place of another of them.
  if (const ShareFeed::QueuePosition* place = shares_.position_of(job.id)) {
    pending.submit_time = place->time;
    pending.place = place->job;
  }
  pending.eligible_time = job.eligible_time;
  pending.hold = standing_hold(job);
  pending.user = job.spec->user;
  // It cannot be resolved: it waits with a reason that says so, instead of being lost to the plan.
  if (pending.request == nullptr) {
    pending.request = std::make_shared<const ResourceRequest>();
    pending.hold = PendingReason::kBadConstraints;
  }
  if (job.array != nullptr && !job.array_index) {
    pending.element_count = static_cast<std::uint32_t>(job.array->remaining.indices.count());
    pending.throttle = job.array->remaining.throttle;
    pending.running_count = job.array->active_elements;
  } else if (const Job* record =
                 job.array_job.value() != 0 ? state.jobs().find(job.array_job) : nullptr;
             record != nullptr && record->array != nullptr) {
    pending.throttle = record->array->remaining.throttle;
    pending.running_count = record->array->active_elements;
  }
  return pending;
}

void SnapshotFeed::update_element(const Job& job) {
  // The element that kept its array's id is the record.
  if (!job.array_index || job.array_job == job.id) return;
  if (is_waiting(job)) {
    waiting_elements_[job.array_job].insert(job.id);
  } else if (const auto array = waiting_elements_.find(job.array_job);
             array != waiting_elements_.end()) {
    array->second.erase(job.id);
    if (array->second.empty()) waiting_elements_.erase(array);
  }
}

void SnapshotFeed::refresh_pending(JobId id, const Job* job, const ClusterState& state) {
  if (job != nullptr) update_element(*job);
  const sched::PendingJob* known = snapshot_.find_pending(id);
  if (job == nullptr) {
    shares_.forget(id);
  } else {
    shares_.record(*job, is_waiting(*job) && standing_hold(*job) == PendingReason::kNone);
  }
  if (job == nullptr || !is_waiting(*job)) {
    if (known != nullptr) snapshot_.remove_pending(id);
    return;
  }
  sched::PendingJob pending = pending_job(*job, state);
  if (known == nullptr) {
    snapshot_.add_pending(std::move(pending));
  } else if (!(*known == pending)) {
    snapshot_.update_pending(std::move(pending));
  }
}

void SnapshotFeed::refresh_running(JobId id, const Job* job, const ClusterState& state) {
  const sched::RunningJob* known = snapshot_.find_running(id);
  if (job == nullptr || !job->holds_resources()) {
    if (known != nullptr) snapshot_.end_job(id);
    return;
  }
  TimePoint end = job->end_time.is_set() ? job->end_time : TimePoint::never();
  // What is left of it is killed after KillWait; until then its nodes are not free.
  if (job->is_completing()) end = job->end_time + state.settings().kill_wait;
  if (known == nullptr) {
    sched::RunningJob running{id, job->partition, {}, end};
    for (std::size_t i = 0; i < job->run->allocation->nodes.size(); ++i) {
      if (!job->run->released.test(i))
        running.nodes.push_back(amount_of(job->run->allocation->nodes[i], snapshot_));
    }
    snapshot_.start_job(std::move(running));
    return;
  }
  if (known->end != end) snapshot_.change_end(id, end);
  for (std::size_t i = 0; i < job->run->allocation->nodes.size(); ++i) {
    const NodeIndex node = job->run->allocation->nodes[i].node;
    // Looked up anew, because a release may end the job in the snapshot.
    known = snapshot_.find_running(id);
    const bool is_held =
        known != nullptr && std::ranges::any_of(known->nodes, [&](const sched::NodeAmount& amount) {
          return amount.node == node;
        });
    if (is_held && job->run->released.test(i)) snapshot_.release_node(id, node);
  }
}

void SnapshotFeed::refresh(JobId id, const ClusterState& state) {
  const Job* job = state.jobs().find(id);
  refresh_running(id, job, state);
  refresh_pending(id, job, state);
}

void SnapshotFeed::refresh_array_of(JobId id, const ClusterState& state) {
  const Job* job = state.jobs().find(id);
  if (job == nullptr || job->array_job.value() == 0) return;
  const Job* record = state.jobs().find(job->array_job);
  if (record == nullptr || record->array == nullptr) return;
  if (record->id != id) refresh_pending(record->id, record, state);
  const auto waiting = waiting_elements_.find(record->id);
  if (waiting == waiting_elements_.end()) return;
  const bool is_free = record->array->remaining.throttle == 0;
  // Told before they are copied: they may be very many, and each of them may be what has changed.
  const auto other =
      std::ranges::find_if(waiting->second, [id](JobId element) { return element != id; });
  if (other == waiting->second.end()) return;
  const sched::PendingJob* first = snapshot_.find_pending(*other);
  if (is_free && first != nullptr && first->throttle == 0) return;
  for (const JobId element : std::set<JobId>(waiting->second)) {
    if (element == id) continue;
    // Without a throttle nothing of them changes; they are alike, so one tells of all.
    const sched::PendingJob* known = snapshot_.find_pending(element);
    if (is_free && known != nullptr && known->throttle == 0) return;
    refresh_pending(element, state.jobs().find(element), state);
  }
}

void SnapshotFeed::set_cluster(const ClusterState& state) {
  ClusterConfig config;
  config.settings = state.settings();
  config.partitions = state.partitions();
  for (const Node& node : state.nodes().all()) config.nodes.push_back(node.config);
  snapshot_.set_cluster(std::move(config));
  for (std::size_t i = 0; i < state.nodes().all().size(); ++i) {
    snapshot_.set_node_conditions(NodeIndex(static_cast<std::uint32_t>(i)),
                                  state.nodes().all()[i].status.conditions);
  }
}

void SnapshotFeed::load(const ClusterState& state) {
  if (!state.is_configured()) return;
  set_cluster(state);
  snapshot_.advance_time(state.time());
  state.jobs().for_each([&](const Job& job) { refresh(job.id, state); });
  refresh(state);
}

void SnapshotFeed::compile(const ClusterState& state) {
  if (std::exchange(is_cluster_stale_, false)) set_cluster(state);
}

void SnapshotFeed::refresh(const ClusterState& state) {
  compile(state);
  for (const JobId id : shares_.refresh(state)) refresh_pending(id, state.jobs().find(id), state);
}

void SnapshotFeed::on_event(const Event& event, const ClusterState& state) {
  const bool is_cluster_change = holds_alternative<ConfigApplied>(event.body) ||
                                 holds_alternative<PartitionChanged>(event.body);
  if (is_cluster_change) {
    // The configuration may change what each job needs and where it may run: all is compiled again.
    is_cluster_stale_ = false;
    set_cluster(state);
    state.jobs().for_each([&](const Job& job) { refresh(job.id, state); });
    return;
  }
  if (const auto* registered = get_if<NodeRegistered>(&event.body)) {
    snapshot_.set_node_conditions(registered->node,
                                  state.nodes().at(registered->node).status.conditions);
    return;
  }
  if (const auto* changed = get_if<NodeChanged>(&event.body)) {
    // Compiled once for many nodes (compile), not at each event.
    is_cluster_stale_ = is_cluster_stale_ || changed->weight || changed->features;
    snapshot_.set_node_conditions(changed->node, state.nodes().at(changed->node).status.conditions);
    return;
  }
  if (const auto* experiment = get_if<ExperimentChanged>(&event.body);
      experiment != nullptr && experiment->share) {
    shares_.record(*state.experiments().find(experiment->experiment));
  }
  for_each_job(event.body, [&](JobId id) {
    refresh(id, state);
    refresh_array_of(id, state);
  });
}

}  // namespace muster
