// The cluster as the planner sees it: what each node has free, what runs and until when, what
// waits.
//
// A follower of the event log keeps one up event by event; every mutator is a fact that has already
// happened and is applied without judgement. Plans are made from it by plan.h and fast_path.h,
// which never change it. It has no clock: its owner calls advance_time(). It does not know names of
// users, accounts and limits (they arrive as a job's `hold`), nor which device was allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/cluster_config.h"
#include "model/ids.h"
#include "model/reason.h"
#include "model/resource_request.h"
#include "sched/placement/amounts.h"
#include "sched/placement/demand.h"
#include "sched/placement/need.h"
#include "sched/placement/node_set.h"
#include "sched/priority/rank.h"

namespace muster::sched {

/// A job that waits, or the waiting elements of an array. Of several partitions the one with the
/// earliest start wins, at equal starts the first named. `hold` is kNone when nothing but resources
/// and time stand in the way.
struct PendingJob {
  JobId id;
  /// The request with the first partition's defaults; not null.
  std::shared_ptr<const ResourceRequest> request;
  PartitionList partitions;  ///< not empty
  /// The requests with the defaults of the partitions after the first, where they lead to anything
  /// else; empty: `request` holds in all.
  std::vector<std::shared_ptr<const ResourceRequest>> later_requests;
  Duration time_limit = Duration::infinite();  ///< effective
  std::int64_t priority = 0;                   ///< higher first
  TimePoint submit_time;                       ///< as it counts in the queue
  JobId place;                                 ///< whose position in the queue it has; 0: its own
  TimePoint eligible_time;                     ///< not before this (--begin); unset: at once
  PendingReason hold = PendingReason::kNone;   ///< held, dependent, over a limit: not schedulable
  UserId user;
  std::uint32_t element_count = 1;  ///< equal elements still waiting; each start uses one
  std::uint32_t throttle = 0;       ///< elements running at once; 0: no limit
  std::uint32_t running_count = 0;  ///< elements of the array running now
  friend bool operator==(const PendingJob&, const PendingJob&) = default;

  Rank rank() const { return {priority, submit_time, place.value() == 0 ? id : place, id}; }
  /// Returns how many elements may start now as far as the throttle is concerned.
  std::uint32_t startable_count() const;
};

/// A job that holds resources. `nodes` loses entries as nodes are released. Inside a snapshot the
/// amounts also hold what the job uses of its partition's quota, under kinds that are none of
/// inventory().kinds.
struct RunningJob {
  JobId id;
  PartitionIndex partition;
  std::vector<NodeAmount> nodes;
  TimePoint end;  ///< expected: start + time limit; never: no limit
};

/// A lane's index in the snapshot's table; indices are used again, serials never.
using LaneIndex = Id<struct LaneTag, std::uint32_t>;

/// Pending jobs with equal needs and time limit: where one of them does not start, those behind it
/// do not.
struct Lane {
  std::uint64_t serial =
      0;  ///< unlike that of every other lane there ever was; 0: the entry is vacant
  Duration time_limit;
  std::vector<NeedIndex> needs;  ///< one per partition, as the jobs name them
  std::set<Rank> ready;          ///< jobs that could start if there were room, best first
  std::uint32_t job_count = 0;   ///< all its jobs, ready or not
};

/// One entry per running job in the order in which they are expected to end.
struct ExpectedEnd {
  TimePoint end;
  JobId job;
  std::uint32_t slot = 0;  ///< for `running_slot`
  /// The node of a job on one node: this saves a look at the slot.
  NodeIndex sole_node = NodeIndex(UINT32_MAX);
  bool is_on_one_node() const { return sole_node.value() != UINT32_MAX; }
  friend constexpr auto operator<=>(const ExpectedEnd& a, const ExpectedEnd& b) {
    return std::pair(a.end, a.job) <=> std::pair(b.end, b.job);
  }
  friend constexpr bool operator==(const ExpectedEnd& a, const ExpectedEnd& b) {
    return a.end == b.end && a.job == b.job;
  }
};

/// A running job's part of one node.
struct NodeShare {
  std::uint32_t slot = 0;  ///< for `running_slot`
  NodeAmount amount;
};

class ClusterSnapshot {
 public:
  ClusterSnapshot();
  ~ClusterSnapshot();

  // Mutators. Cost: O(1) or O(log n) per event and node concerned unless said otherwise. An unknown
  // job or node is a bug of the caller (CHECK), as is a second job of one id.

  /// Replaces the configuration; what runs and waits stays. Requires: nodes keep their indices and
  /// partitions theirs as long as jobs refer to them. Cost: O(nodes * (needs + kinds)). New nodes
  /// are in no condition.
  void set_cluster(ClusterConfig config);
  /// Sets a node's conditions. `bits` of node_condition; a node with any of kNoNewWork gets no new
  /// work.
  void set_node_conditions(NodeIndex node, std::uint16_t bits);
  /// Advances the time: jobs whose eligible_time is reached become ready. `now` never goes back.
  void advance_time(TimePoint now);

  /// Adds a job that waits. Cost: O(log n); the first job of a need O(nodes).
  void add_pending(PendingJob job);
  void remove_pending(JobId job);
  /// Replaces all attributes of the job of that id.
  void update_pending(PendingJob job);
  void set_hold(JobId job, PendingReason hold);
  void set_priority(JobId job, std::int64_t priority);
  /// Sets an array's elements that still wait (0 is allowed while the record lives) and those that
  /// run.
  void set_elements(JobId job, std::uint32_t element_count, std::uint32_t running_count);

  /// Lets a job hold resources from now on. Pending records stay as they are: those have their own
  /// events. Requires: nodes rise by index.
  void start_job(RunningJob job);
  /// Releases one node's share; after the last one the job is gone.
  void release_node(JobId job, NodeIndex node);
  void end_job(JobId job);
  void change_end(JobId job, TimePoint end);

  // Views. References hold until the next mutator.

  const ClusterInventory& inventory() const { return *inventory_; }
  const ClusterConfig& config() const { return inventory_->config; }
  std::size_t node_count() const { return inventory_->node_count(); }
  const PartitionConfig& partition(PartitionIndex index) const;
  const NodeSet& partition_nodes(PartitionIndex index) const {
    return inventory_->partition_nodes[index.value()];
  }
  const FreeTable& free() const { return free_; }
  /// Returns the nodes that accept new work.
  const NodeSet& usable() const { return usable_; }
  std::uint16_t node_conditions(NodeIndex node) const { return conditions_[node.value()]; }

  const PendingJob* find_pending(JobId job) const;
  const RunningJob* find_running(JobId job) const;
  std::size_t pending_count() const { return pending_.size(); }
  std::size_t running_count() const { return running_.size(); }
  LaneIndex lane_of(JobId pending_job) const;
  const Lane& lane(LaneIndex index) const { return lanes_[index.value()]; }
  const Need& need(NeedIndex index) const { return needs_[index.value()]; }
  /// Return the whole tables, vacant entries (serial 0) included.
  std::span<const Lane> lanes() const { return lanes_; }
  std::span<const Need> needs() const { return needs_; }
  /// Returns the lane's need in one of its partitions (CHECK).
  const Need& need_in(const Lane& lane, PartitionIndex partition) const;

  /// Returns the expected ends, rising by (end, job).
  const std::vector<ExpectedEnd>& ends() const { return ends_; }
  const RunningJob& running_slot(std::uint32_t slot) const { return slots_[slot]; }
  const std::vector<NodeShare>& shares_on(NodeIndex node) const { return shares_[node.value()]; }

  /// Returns the kind. Nullopt: no node has it.
  std::optional<GresKindId> find_gres_kind(const std::string& name, const std::string& type) const;
  const GresKind& gres_kind(GresKindId kind) const { return inventory_->kinds[kind.value()]; }

  /// Returns a number that rises with every change.
  std::uint64_t revision() const { return revision_; }
  /// Returns the revision of the last configuration.
  std::uint64_t config_revision() const { return config_revision_; }
  /// Returns the revision at which the node last gained room or came back into service.
  std::uint64_t freed_revision(NodeIndex node) const { return freed_revisions_[node.value()]; }
  /// Returns the revision at which the job last became ready or changed its rank.
  std::uint64_t ready_revision(JobId pending_job) const;
  /// Returns the jobs that became ready or changed rank after `revision`, oldest first; some may be
  /// gone since. Nullopt: that is too long ago to know.
  std::optional<std::span<const std::pair<std::uint64_t, JobId>>> ready_since(
      std::uint64_t revision) const;
  /// Returns the nodes whose free amounts or usability changed after `revision`, oldest first, with
  /// repeats. Nullopt: that is too long ago to know.
  std::optional<std::span<const std::pair<std::uint64_t, NodeIndex>>> changed_since(
      std::uint64_t revision) const;

 private:
  struct PendingRecord {
    PendingJob job;
    LaneIndex lane;
    bool is_ready = false;
    std::uint64_t ready_revision = 0;
  };
  template <class T>
  struct ChangeLog {
    std::vector<std::pair<std::uint64_t, T>> entries;
    std::uint64_t complete_after = 0;  ///< nothing after this revision is missing
    void add(std::uint64_t revision, T value);
    std::optional<std::span<const std::pair<std::uint64_t, T>>> since(std::uint64_t revision) const;
  };

  PendingRecord& pending_record(JobId job);
  std::uint32_t running_slot_of(JobId job) const;
  NeedIndex enter_need(const std::shared_ptr<const ResourceRequest>& request,
                       PartitionIndex partition);
  void leave_need(NeedIndex index);
  LaneIndex enter_lane(const PendingJob& job);
  void leave_lane(LaneIndex index);
  void refresh_ready(PendingRecord& record);
  void withdraw_ready(PendingRecord& record);
  void allocate(std::uint32_t slot, NodeAmount& amount);
  void release(std::uint32_t slot, const NodeAmount& amount);
  void forget_slot(std::uint32_t slot);
  void mark_freed(NodeIndex node);
  void insert_end(std::uint32_t slot);
  void erase_end(std::uint32_t slot);

  std::shared_ptr<const ClusterInventory> inventory_;
  FreeTable free_;
  NodeSet usable_;
  std::vector<std::uint16_t> conditions_;
  std::vector<std::vector<NodeShare>> shares_;

  std::unordered_map<JobId, PendingRecord> pending_;  // looked up, never iterated towards a result
  std::unordered_map<JobId, std::uint32_t> running_;
  std::unordered_map<std::uint64_t, std::vector<NeedIndex>> needs_by_hash_;
  std::vector<Need> needs_;
  std::vector<NeedIndex> vacant_needs_;
  std::unordered_map<std::uint64_t, std::vector<LaneIndex>> lanes_by_hash_;
  std::vector<Lane> lanes_;
  std::vector<LaneIndex> vacant_lanes_;
  std::uint64_t next_serial_ = 1;
  std::set<std::pair<TimePoint, JobId>> later_;  ///< eligible_time not reached
  std::vector<RunningJob> slots_;
  std::vector<std::uint32_t> vacant_slots_;
  std::vector<ExpectedEnd> ends_;

  TimePoint now_;
  std::uint64_t revision_ = 0;
  std::uint64_t config_revision_ = 0;
  std::vector<std::uint64_t> freed_revisions_;
  ChangeLog<JobId> ready_log_;
  ChangeLog<NodeIndex> node_log_;
};

}  // namespace muster::sched
