// Each mutator brings every derived table up to date at once: free amounts, the ends in order, the
// ready jobs of each lane, and the logs of what changed, from which memos tell what of theirs
// still holds. The revision is raised first, so that the logs name the state that has the change.

#include "sched/snapshot/snapshot.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace muster::sched {
namespace {

/// Beyond this many entries a change log forgets its older half.
constexpr std::size_t kLogSize = 1U << 16;

/// Equal needs hash equally; unequal ones are told apart by comparison.
std::uint64_t need_hash(const ResourceRequest& request, PartitionIndex partition) {
  return Hasher().add(partition.value()).add(table_hash(request)).digest();
}

std::uint64_t lane_hash(const std::vector<NeedIndex>& needs, Duration time_limit) {
  Hasher hasher;
  hasher.add(time_limit.microseconds());
  for (const NeedIndex need : needs) hasher.add(need.value());
  return hasher.digest();
}

/// Where to put a new entry of a table whose places are used again.
template <class Index, class Entry>
Index vacant_place(std::vector<Index>& vacant, std::vector<Entry>& table) {
  if (vacant.empty()) {
    vacant.push_back(Index(static_cast<std::uint32_t>(table.size())));
    table.emplace_back();
  }
  const Index index = vacant.back();
  vacant.pop_back();
  return index;
}

template <class Index>
void forget_entry(std::unordered_map<std::uint64_t, std::vector<Index>>& by_hash,
                  std::uint64_t hash, Index index) {
  const auto found = by_hash.find(hash);
  CHECK(found != by_hash.end());
  std::erase(found->second, index);
  if (found->second.empty()) by_hash.erase(found);
}

}  // namespace

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
  // Under new numbers, so that nothing is believed that a plan or memo knows of them.
  for (Need& need : needs_) {
    if (need.serial == 0) continue;
    const std::uint32_t lane_count = need.lane_count;
    need = Need::compile(need.demand.request, need.partition, *inventory_);
    need.serial = next_serial_++;
    need.lane_count = lane_count;
  }
  for (Lane& lane : lanes_) {
    if (lane.serial != 0) lane.serial = next_serial_++;
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

NeedIndex ClusterSnapshot::enter_need(const std::shared_ptr<const ResourceRequest>& request,
                                      PartitionIndex partition) {
  std::vector<NeedIndex>& known = needs_by_hash_[need_hash(*request, partition)];
  for (const NeedIndex index : known) {
    Need& need = needs_[index.value()];
    // Equal hashes do not make equal needs.
    const bool is_same = need.demand.request == request || need.request() == *request;
    if (need.partition != partition || !is_same) continue;
    ++need.lane_count;
    return index;
  }
  const NeedIndex index = vacant_place(vacant_needs_, needs_);
  Need& need = needs_[index.value()];
  need = Need::compile(request, partition, *inventory_);
  need.serial = next_serial_++;
  need.lane_count = 1;
  known.push_back(index);
  return index;
}

void ClusterSnapshot::leave_need(NeedIndex index) {
  Need& need = needs_[index.value()];
  CHECK(need.lane_count > 0);
  if (--need.lane_count > 0) return;
  forget_entry(needs_by_hash_, need_hash(need.request(), need.partition), index);
  need = {};
  vacant_needs_.push_back(index);
}

LaneIndex ClusterSnapshot::enter_lane(const PendingJob& job) {
  std::vector<NeedIndex> needs;
  for (std::size_t i = 0; i < job.partitions.size(); ++i) {
    const auto& request =
        i == 0 || job.later_requests.empty() ? job.request : job.later_requests[i - 1];
    needs.push_back(enter_need(request, job.partitions[i]));
  }
  std::vector<LaneIndex>& known = lanes_by_hash_[lane_hash(needs, job.time_limit)];
  for (const LaneIndex index : known) {
    Lane& lane = lanes_[index.value()];
    // Equal hashes do not make equal lanes.
    if (lane.time_limit != job.time_limit || lane.needs != needs) continue;
    // The lane counts once among those of a need, however many jobs it has.
    for (const NeedIndex need : needs) leave_need(need);
    ++lane.job_count;
    return index;
  }
  const LaneIndex index = vacant_place(vacant_lanes_, lanes_);
  lanes_[index.value()] = {next_serial_++, job.time_limit, std::move(needs), {}, 1};
  known.push_back(index);
  return index;
}

void ClusterSnapshot::leave_lane(LaneIndex index) {
  Lane& lane = lanes_[index.value()];
  CHECK(lane.job_count > 0);
  if (--lane.job_count > 0) return;
  forget_entry(lanes_by_hash_, lane_hash(lane.needs, lane.time_limit), index);
  for (const NeedIndex need : lane.needs) leave_need(need);
  lane = {};
  vacant_lanes_.push_back(index);
}

const Need& ClusterSnapshot::need_in(const Lane& lane, PartitionIndex partition) const {
  const auto found = std::ranges::find(
      lane.needs, partition, [this](NeedIndex need) { return this->need(need).partition; });
  CHECK(found != lane.needs.end(), "partition {} is none of the lane's", partition.value());
  return need(*found);
}

void ClusterSnapshot::withdraw_ready(PendingRecord& record) {
  if (record.is_ready) lanes_[record.lane.value()].ready.erase(record.job.rank());
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
  lanes_[record.lane.value()].ready.insert(job.rank());
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
  const LaneIndex lane = enter_lane(job);
  const auto [place, is_new] =
      pending_.try_emplace(id, PendingRecord{std::move(job), lane, false, 0});
  CHECK(is_new, "job {} is pending already", id.value());
  refresh_ready(place->second);
}

void ClusterSnapshot::remove_pending(JobId job) {
  ++revision_;
  PendingRecord& record = pending_record(job);
  withdraw_ready(record);
  leave_lane(record.lane);
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

LaneIndex ClusterSnapshot::lane_of(JobId pending_job) const {
  const auto found = pending_.find(pending_job);
  CHECK(found != pending_.end(), "job {} is not pending", pending_job.value());
  return found->second.lane;
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
