// Each mutator brings every derived table up to date at once: free amounts, the ends in order, the
// ready jobs of each shape, and the logs of what changed, from which memos tell what of theirs
// still holds. The revision is raised first, so that the logs name the state that has the change.

#include "sched/snapshot/snapshot.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "sched/placement/fit.h"
#include "sched/placement/select.h"

namespace muster::sched {
namespace {

/// Beyond this many entries a change log forgets its older half.
constexpr std::size_t kLogSize = 1U << 16;

void add_amounts(Hasher& hasher, const std::vector<GresAmount>& amounts) {
  hasher.add(amounts.size());
  for (const GresAmount& amount : amounts)
    hasher.add(amount.name).add(amount.type).add(amount.count);
}

void add_texts(Hasher& hasher, const std::vector<std::string>& texts) {
  hasher.add(texts.size());
  for (const std::string& text : texts) hasher.add(text);
}

/// Equal shapes hash equally; unequal ones are told apart by comparison.
std::uint64_t shape_hash(const PendingJob& job) {
  const ResourceRequest& r = *job.request;
  Hasher hasher;
  for (const auto& later : job.later_requests) {
    hasher.add(later->memory_scope)
        .add(later->memory_mib)
        .add(later->is_exclusive)
        .add(later->cpus_per_gpu);
  }
  hasher.add(job.time_limit.microseconds()).add(r.min_nodes).add(r.max_nodes).add(r.task_count);
  hasher.add(r.tasks_per_node).add(r.cpus_per_task).add(r.min_cpus_per_node).add(r.cpus_per_gpu);
  hasher.add(r.tasks_per_gpu).add(r.memory_scope).add(r.memory_mib).add(r.is_exclusive);
  add_amounts(hasher, r.gres_per_node);
  add_amounts(hasher, r.gres_per_job);
  add_amounts(hasher, r.gres_per_task);
  for (const auto& alternative : r.features.alternatives) add_texts(hasher, alternative);
  add_texts(hasher, r.required_nodes);
  add_texts(hasher, r.excluded_nodes);
  for (const PartitionIndex partition : job.partitions) hasher.add(partition.value());
  return hasher.digest();
}

bool has_shape(const Shape& shape, const PendingJob& job) {
  if (shape.time_limit != job.time_limit || shape.partitions != job.partitions) return false;
  const auto is_same = [](const Demand& demand,
                          const std::shared_ptr<const ResourceRequest>& request) {
    return demand.request == request || *demand.request == *request;
  };
  return is_same(shape.demand, job.request) &&
         std::ranges::equal(shape.later_demands, job.later_requests, is_same);
}

/// Takes away the nodes that could not carry one task, with a share of each per-job need, even when
/// empty.
void restrict_to_capable(Demand& demand, const ClusterInventory& inventory) {
  // Without the quota of a partition: the set holds for all of them.
  const Fitter fitter(inventory, demand, {demand.request->is_exclusive, std::nullopt});
  std::vector<bool> is_capable;
  for (const NodeIndex like : inventory.classes)
    is_capable.push_back(candidate_at(fitter, like, inventory.total.at(like)).has_value());
  NodeSet capable = demand.feasible_nodes;
  demand.feasible_nodes.for_each([&](NodeIndex node) {
    if (!is_capable[inventory.class_of[node.value()]]) capable.reset(node);
  });
  demand.feasible_nodes = std::move(capable);
}

Demand compile(const std::shared_ptr<const ResourceRequest>& request,
               const ClusterInventory& inventory) {
  Demand demand = Demand::compile(request, inventory);
  if (demand.has_unknown_name) {
    demand.feasible_nodes = NodeSet(inventory.node_count());
  } else {
    restrict_to_capable(demand, inventory);
  }
  return demand;
}

}  // namespace

const Demand& Shape::demand_in(PartitionIndex partition) const {
  if (later_demands.empty()) return demand;
  const auto found = std::ranges::find(partitions, partition);
  CHECK(found != partitions.end(), "partition {} is none of the shape's", partition.value());
  return found == partitions.begin()
             ? demand
             : later_demands[static_cast<std::size_t>(found - partitions.begin()) - 1];
}

std::uint32_t PendingJob::startable_count() const {
  if (throttle == 0) return element_count;
  return running_count >= throttle ? 0 : std::min(element_count, throttle - running_count);
}

template <class T>
void ClusterSnapshot::ChangeLog<T>::add(std::uint64_t revision, T value) {
  if (entries.size() >= kLogSize) {
    // The older half at once, so that forgetting costs O(1) an entry.
    complete_after = entries[kLogSize / 2 - 1].first;
    entries.erase(entries.begin(), entries.begin() + kLogSize / 2);
  }
  entries.emplace_back(revision, value);
}

template <class T>
std::optional<std::span<const std::pair<std::uint64_t, T>>> ClusterSnapshot::ChangeLog<T>::since(
    std::uint64_t revision) const {
  // Strictly older: at complete_after itself nothing is missing.
  if (revision < complete_after) return std::nullopt;
  const auto first =
      std::ranges::upper_bound(entries, revision, {}, &std::pair<std::uint64_t, T>::first);
  return std::span(first, entries.end());
}

ClusterSnapshot::ClusterSnapshot() { set_cluster({}); }
ClusterSnapshot::~ClusterSnapshot() = default;

void ClusterSnapshot::set_cluster(ClusterConfig config) {
  config_revision_ = ++revision_;
  inventory_ = ClusterInventory::create(std::move(config));
  free_ = inventory_->total;
  conditions_.resize(node_count(), 0);
  freed_revisions_.assign(node_count(), revision_);
  // Every node may be another: nobody may count on changes from before.
  node_log_ = {{}, revision_};
  usable_ = NodeSet(node_count());
  for (std::uint32_t i = 0; i < node_count(); ++i) {
    usable_.put(NodeIndex(i), (conditions_[i] & node_condition::kNoNewWork) == 0);
  }
  shares_.assign(node_count(), {});
  // Amounts are charged anew, because quotas and kinds have other numbers now.
  for (const ExpectedEnd& end : ends_) {
    for (NodeAmount& amount : slots_[end.slot].nodes) allocate(end.slot, amount);
  }
  for (Shape& shape : shapes_) {
    if (shape.serial == 0) continue;
    // Under a new number, so that nothing is believed that a plan or memo knows of the shape.
    shape.serial = next_serial_++;
    shape.demand = compile(shape.demand.request, *inventory_);
    for (Demand& later : shape.later_demands) later = compile(later.request, *inventory_);
    shape.reach = reach_of(shape);
  }
}

void ClusterSnapshot::set_node_conditions(NodeIndex node, std::uint16_t bits) {
  CHECK(node.value() < node_count(), "node {}", node.value());
  ++revision_;
  conditions_[node.value()] = bits;
  usable_.put(node, (bits & node_condition::kNoNewWork) == 0);
  mark_freed(node);
}

void ClusterSnapshot::advance_time(TimePoint now) {
  if (now <= now_) return;
  now_ = now;
  while (!later_.empty() && later_.begin()->first <= now) {
    const JobId job = later_.begin()->second;
    later_.erase(later_.begin());
    ++revision_;
    refresh_ready(pending_record(job));
  }
}

ClusterSnapshot::PendingRecord& ClusterSnapshot::pending_record(JobId job) {
  const auto found = pending_.find(job);
  CHECK(found != pending_.end(), "job {} is not pending", job.value());
  return found->second;
}

ShapeIndex ClusterSnapshot::enter_shape(const PendingJob& job) {
  std::vector<ShapeIndex>& known = shapes_by_hash_[shape_hash(job)];
  for (const ShapeIndex index : known) {
    // Equal hashes do not make equal shapes.
    if (!has_shape(shapes_[index.value()], job)) continue;
    ++shapes_[index.value()].job_count;
    return index;
  }
  if (vacant_shapes_.empty()) {
    vacant_shapes_.push_back(ShapeIndex(static_cast<std::uint32_t>(shapes_.size())));
    shapes_.emplace_back();
  }
  const ShapeIndex index = vacant_shapes_.back();
  vacant_shapes_.pop_back();
  std::vector<Demand> later;
  for (const auto& request : job.later_requests) later.push_back(compile(request, *inventory_));
  shapes_[index.value()] = {next_serial_++,
                            job.time_limit,
                            job.partitions,
                            compile(job.request, *inventory_),
                            std::move(later),
                            NodeSet(),
                            {},
                            1};
  shapes_[index.value()].reach = reach_of(shapes_[index.value()]);
  known.push_back(index);
  return index;
}

NodeSet ClusterSnapshot::reach_of(const Shape& shape) const {
  NodeSet reach(node_count());
  for (const PartitionIndex partition : shape.partitions) {
    // The partition may be gone: what waits only there reaches no node.
    if (partition.value() >= config().partitions.size()) continue;
    reach |= shape.demand_in(partition).feasible_nodes & partition_nodes(partition);
  }
  return reach;
}

void ClusterSnapshot::leave_shape(ShapeIndex index) {
  Shape& shape = shapes_[index.value()];
  CHECK(shape.job_count > 0);
  if (--shape.job_count > 0) return;
  // The hash is not stored: it is worked out once more from what the shape has.
  PendingJob key;
  key.request = shape.demand.request;
  for (const Demand& later : shape.later_demands) key.later_requests.push_back(later.request);
  key.partitions = shape.partitions;
  key.time_limit = shape.time_limit;
  const auto found = shapes_by_hash_.find(shape_hash(key));
  CHECK(found != shapes_by_hash_.end());
  std::erase(found->second, index);
  if (found->second.empty()) shapes_by_hash_.erase(found);
  shape = {};
  vacant_shapes_.push_back(index);
}

void ClusterSnapshot::withdraw_ready(PendingRecord& record) {
  if (record.is_ready) shapes_[record.shape.value()].ready.erase(record.job.rank());
  record.is_ready = false;
  // Whether it is there or not: a job is in one of the two sets at most.
  later_.erase({record.job.eligible_time, record.job.id});
}

/// Requires: the record is in neither set.
void ClusterSnapshot::refresh_ready(PendingRecord& record) {
  const PendingJob& job = record.job;
  if (job.eligible_time > now_) {
    later_.emplace(job.eligible_time, job.id);
    return;
  }
  if (job.hold != PendingReason::kNone || job.startable_count() == 0) return;
  shapes_[record.shape.value()].ready.insert(job.rank());
  record.is_ready = true;
  record.ready_revision = revision_;
  ready_log_.add(revision_, job.id);
}

void ClusterSnapshot::add_pending(PendingJob job) {
  CHECK(job.request != nullptr, "job {} has no request", job.id.value());
  CHECK(!job.partitions.empty(), "job {} has no partition", job.id.value());
  CHECK(job.later_requests.empty() || job.later_requests.size() + 1 == job.partitions.size(),
        "job {} has {} requests for {} partitions", job.id.value(), job.later_requests.size() + 1,
        job.partitions.size());
  ++revision_;
  const JobId id = job.id;
  const ShapeIndex shape = enter_shape(job);
  const auto [place, is_new] =
      pending_.try_emplace(id, PendingRecord{std::move(job), shape, false, 0});
  CHECK(is_new, "job {} is pending already", id.value());
  refresh_ready(place->second);
}

void ClusterSnapshot::remove_pending(JobId job) {
  ++revision_;
  PendingRecord& record = pending_record(job);
  withdraw_ready(record);
  leave_shape(record.shape);
  pending_.erase(job);
}

void ClusterSnapshot::update_pending(PendingJob job) {
  remove_pending(job.id);
  add_pending(std::move(job));
}

void ClusterSnapshot::set_hold(JobId job, PendingReason hold) {
  ++revision_;
  PendingRecord& record = pending_record(job);
  withdraw_ready(record);
  record.job.hold = hold;
  refresh_ready(record);
}

void ClusterSnapshot::set_priority(JobId job, std::int64_t priority) {
  ++revision_;
  PendingRecord& record = pending_record(job);
  withdraw_ready(record);
  record.job.priority = priority;
  refresh_ready(record);
}

void ClusterSnapshot::set_elements(JobId job, std::uint32_t element_count,
                                   std::uint32_t running_count) {
  ++revision_;
  PendingRecord& record = pending_record(job);
  const bool was_startable = record.is_ready;
  const std::uint64_t ready_revision = record.ready_revision;
  withdraw_ready(record);
  record.job.element_count = element_count;
  record.job.running_count = running_count;
  refresh_ready(record);
  // One element fewer of a job that was ready before is nothing new to rank against.
  if (was_startable && record.is_ready) {
    record.ready_revision = ready_revision;
    // The entry that refresh_ready() has just added.
    ready_log_.entries.pop_back();
  }
}

void ClusterSnapshot::allocate(std::uint32_t slot, NodeAmount& amount) {
  CHECK(amount.node.value() < node_count(), "node {}", amount.node.value());
  // Charged with its partition's quota, so that giving back needs no look at the partition.
  amount = inventory_->charged(std::move(amount), slots_[slot].partition);
  free_.subtract(amount);
  shares_[amount.node.value()].push_back({slot, amount});
  node_log_.add(revision_, amount.node);
}

void ClusterSnapshot::release(std::uint32_t slot, const NodeAmount& amount) {
  free_.add(amount);
  std::vector<NodeShare>& shares = shares_[amount.node.value()];
  const auto erased =
      std::erase_if(shares, [&](const NodeShare& share) { return share.slot == slot; });
  CHECK(erased == 1, "job {} held {} shares of node {}", slots_[slot].id.value(), erased,
        amount.node.value());
  mark_freed(amount.node);
}

void ClusterSnapshot::mark_freed(NodeIndex node) {
  freed_revisions_[node.value()] = revision_;
  node_log_.add(revision_, node);
}

void ClusterSnapshot::insert_end(std::uint32_t slot) {
  const RunningJob& job = slots_[slot];
  ExpectedEnd end{job.end, job.id, slot};
  if (job.nodes.size() == 1) end.sole_node = job.nodes.front().node;
  // A vector in order, though inserting moves what is behind: a search walks it from end to end.
  ends_.insert(std::ranges::lower_bound(ends_, end), end);
}

void ClusterSnapshot::erase_end(std::uint32_t slot) {
  const ExpectedEnd end{slots_[slot].end, slots_[slot].id, slot};
  const auto found = std::ranges::lower_bound(ends_, end);
  CHECK(found != ends_.end() && *found == end, "job {} has no expected end", end.job.value());
  ends_.erase(found);
}

void ClusterSnapshot::start_job(RunningJob job) {
  ++revision_;
  if (vacant_slots_.empty()) {
    vacant_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = vacant_slots_.back();
  vacant_slots_.pop_back();
  CHECK(running_.emplace(job.id, slot).second, "job {} is running already", job.id.value());
  slots_[slot] = std::move(job);
  insert_end(slot);
  for (NodeAmount& amount : slots_[slot].nodes) allocate(slot, amount);
}

std::uint32_t ClusterSnapshot::running_slot_of(JobId job) const {
  const auto found = running_.find(job);
  CHECK(found != running_.end(), "job {} is not running", job.value());
  return found->second;
}

void ClusterSnapshot::forget_slot(std::uint32_t slot) {
  erase_end(slot);
  running_.erase(slots_[slot].id);
  slots_[slot] = {};
  vacant_slots_.push_back(slot);
}

void ClusterSnapshot::release_node(JobId job, NodeIndex node) {
  ++revision_;
  const std::uint32_t slot = running_slot_of(job);
  std::vector<NodeAmount>& nodes = slots_[slot].nodes;
  const auto found = std::ranges::find(nodes, node, &NodeAmount::node);
  CHECK(found != nodes.end(), "job {} does not hold node {}", job.value(), node.value());
  release(slot, *found);
  nodes.erase(found);
  if (nodes.empty()) forget_slot(slot);
}

void ClusterSnapshot::end_job(JobId job) {
  ++revision_;
  const std::uint32_t slot = running_slot_of(job);
  for (const NodeAmount& amount : slots_[slot].nodes) release(slot, amount);
  forget_slot(slot);
}

void ClusterSnapshot::change_end(JobId job, TimePoint end) {
  ++revision_;
  const std::uint32_t slot = running_slot_of(job);
  erase_end(slot);
  slots_[slot].end = end;
  insert_end(slot);
  // Nothing became free, but what was planned by the old end is no longer right.
  for (const NodeAmount& amount : slots_[slot].nodes) mark_freed(amount.node);
}

const PartitionConfig& ClusterSnapshot::partition(PartitionIndex index) const {
  CHECK(index.value() < config().partitions.size(), "partition {}", index.value());
  return config().partitions[index.value()];
}

const PendingJob* ClusterSnapshot::find_pending(JobId job) const {
  const auto found = pending_.find(job);
  return found == pending_.end() ? nullptr : &found->second.job;
}

const RunningJob* ClusterSnapshot::find_running(JobId job) const {
  const auto found = running_.find(job);
  return found == running_.end() ? nullptr : &slots_[found->second];
}

ShapeIndex ClusterSnapshot::shape_of(JobId pending_job) const {
  const auto found = pending_.find(pending_job);
  CHECK(found != pending_.end(), "job {} is not pending", pending_job.value());
  return found->second.shape;
}

std::uint64_t ClusterSnapshot::ready_revision(JobId pending_job) const {
  const auto found = pending_.find(pending_job);
  return found == pending_.end() ? 0 : found->second.ready_revision;
}

std::optional<GresKindId> ClusterSnapshot::find_gres_kind(const std::string& name,
                                                          const std::string& type) const {
  for (std::size_t i = 0; i < inventory_->kinds.size(); ++i) {
    if (inventory_->kinds[i] == GresKind{name, type})
      return GresKindId(static_cast<std::uint16_t>(i));
  }
  return std::nullopt;
}

std::optional<std::span<const std::pair<std::uint64_t, JobId>>> ClusterSnapshot::ready_since(
    std::uint64_t revision) const {
  return ready_log_.since(revision);
}

std::optional<std::span<const std::pair<std::uint64_t, NodeIndex>>> ClusterSnapshot::changed_since(
    std::uint64_t revision) const {
  return node_log_.since(revision);
}

}  // namespace muster::sched
