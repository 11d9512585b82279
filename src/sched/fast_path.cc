// The fast path places one job beside what the plan has decided. Two things keep it from
// overtaking: windows of the plan are kept in the timeline, and nodes that a better ranked job
// could start on, for reasons that the plan has not seen, are taken out of what is allowed.

#include "sched/fast_path.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {
namespace {

/// Room as the plan keeps it: windows of jobs that still wait, other than the job's own.
Timeline timeline_with_windows(const ClusterSnapshot& snapshot, const Plan& plan, JobId job,
                               TimePoint now) {
  // The windows are those of an older state: Timeline::reserve_again lets them overlap with what
  // started since.
  Timeline timeline(snapshot, now, plan.options);
  for (const Window& window : plan.windows) {
    // A job may take the room that was kept for itself, and what has started needs none.
    if (window.job == job || snapshot.find_pending(window.job) == nullptr) continue;
    timeline.reserve_again(window);
  }
  return timeline;
}

/// `free`: what is free now, of which the snapshot's own counts what is overdue as taken.
void refresh(FastMemo& memo, const ClusterSnapshot& snapshot, const FreeTable& free,
             bool is_overdue_free) {
  // A memo of a later revision would be of another snapshot.
  const bool is_same = memo.revision > 0 && memo.revision <= snapshot.revision() &&
                       memo.config_revision == snapshot.config_revision() && !is_overdue_free;
  const auto changes = is_same ? snapshot.changed_since(memo.revision) : std::nullopt;
  const auto look_at = [&](NodeIndex node) { memo.with_cpus.put(node, free.at(node).cpus > 0); };
  if (changes) {
    NodeSet changed(snapshot.node_count());
    for (const auto& [revision, node] : *changes) changed.set(node);
    memo.order.update(snapshot.inventory(), free, changed.first(snapshot.node_count()));
    changed.for_each(look_at);
  } else {
    memo.order = BestFitOrder(snapshot.inventory(), free);
    memo.with_cpus = NodeSet(snapshot.node_count());
    for (std::uint32_t i = 0; i < snapshot.node_count(); ++i) look_at(NodeIndex(i));
  }
  memo.config_revision = snapshot.config_revision();
  // 0: with overdue jobs counted as free nothing of this call is right for the next.
  memo.revision = is_overdue_free ? 0 : snapshot.revision();
}

class FastPath {
 public:
  FastPath(const ClusterSnapshot& snapshot, const Plan& plan, JobId job, TimePoint now,
           FastMemo& memo)
      : snapshot_(snapshot),
        plan_(plan),
        job_(*snapshot.find_pending(job)),
        lane_(snapshot.lane(snapshot.lane_of(job))),
        now_(now),
        freed_(freed_since_plan()),
        memo_(memo) {}

  FastStart run() {
    if (!lane_.ready.contains(job_.rank())) return Hesitation::kNotReady;
    const auto newer = snapshot_.ready_since(plan_.revision);
    // What the plan has not weighed must be known in full: a change that is forgotten could be the
    // job that this one overtakes.
    const bool is_known = newer && snapshot_.changed_since(plan_.revision);
    if (!is_known || snapshot_.config_revision() > plan_.revision) return Hesitation::kPlanTooOld;
    Timeline timeline = timeline_with_windows(snapshot_, plan_, job_.id, now_);
    refresh(memo_, snapshot_, timeline.free(), plan_.options.is_overdue_free);
    const std::vector<NodeIndex>& order = memo_.order.nodes();
    Hesitation hesitation = Hesitation::kNotReady;
    for (const NeedIndex index : lane_.needs) {
      const Need& need = snapshot_.need(index);
      if (!accepts(need, lane_)) continue;
      const QueueRank rank{tier_of(need), job_.rank()};
      const NodeSet all = need.nodes() & snapshot_.usable();
      // First without the nodes of others; only a failure asks whether they were the reason.
      const NodeSet open = all - spoken_for(rank, timeline, order, *newer);
      if (auto nodes = placement_of(need, lane_, timeline, order, open)) {
        return Start{job_.id, need.partition, now_ + lane_.time_limit, std::move(*nodes)};
      }
      // That somebody goes first says more than that another partition has no room.
      if (hesitation == Hesitation::kOutranked) continue;
      hesitation = placement_of(need, lane_, timeline, order, all) ? Hesitation::kOutranked
                                                                   : Hesitation::kNoRoom;
    }
    return hesitation;
  }

 private:
  static bool accepts(const Need& need, const Lane& lane) {
    return need.refusal_of(lane.time_limit) == PendingReason::kNone;
  }
  std::uint32_t tier_of(const Need& need) const {
    return snapshot_.partition(need.partition).priority_tier;
  }

  /// Nodes on which this job has to wait for the next plan: those that gained room since and that a
  /// better ranked job could start on, and all that a better ranked job could use which the plan
  /// has not seen.
  NodeSet spoken_for(const QueueRank& rank, const Timeline& timeline,
                     std::span<const NodeIndex> order,
                     std::span<const std::pair<std::uint64_t, JobId>> newer) const {
    NodeSet wanted(snapshot_.node_count());
    // Room that the plan saw and left is for anybody: only what was freed since is weighed.
    if (!freed_.empty()) wanted = freed_for_better(rank, timeline, order);
    for (const auto& [revision, id] : newer) {
      const PendingJob* other = snapshot_.find_pending(id);
      if (other == nullptr || id == job_.id) continue;
      const Lane& lane = snapshot_.lane(snapshot_.lane_of(id));
      // It may have become ready and have been held again since.
      if (!lane.ready.contains(other->rank())) continue;
      for_each_better(lane, other->rank(), rank,
                      [&](NeedIndex need) { wanted |= snapshot_.need(need).nodes(); });
    }
    return wanted & snapshot_.usable();
  }

  /// The lane's needs through which a job of rank `best` goes before `rank`.
  template <class F>
  void for_each_better(const Lane& lane, const Rank& best, const QueueRank& rank, F&& f) const {
    for (const NeedIndex index : lane.needs) {
      const Need& need = snapshot_.need(index);
      if (accepts(need, lane) && QueueRank{tier_of(need), best} < rank) f(index);
    }
  }

  /// Nodes that gained room and that a better ranked job could start on.
  NodeSet freed_for_better(const QueueRank& rank, const Timeline& timeline,
                           std::span<const NodeIndex> order) const {
    NodeSet wanted(snapshot_.node_count());
    // Once for all lanes of a need.
    std::vector<NodeSet> freed_of;
    freed_of.reserve(snapshot_.needs().size());
    for (const Need& need : snapshot_.needs())
      freed_of.push_back(need.serial == 0 ? NodeSet() : freed_ & need.nodes());
    for (const Lane& lane : snapshot_.lanes()) {
      if (lane.ready.empty()) continue;
      // The lane's best stands for all of them: they need the same.
      NodeSet nodes(snapshot_.node_count());
      for_each_better(lane, *lane.ready.begin(), rank,
                      [&](NeedIndex need) { nodes |= freed_of[need.value()]; });
      nodes &= snapshot_.usable();
      // Nothing that another lane has not claimed yet: to place it would change nothing.
      if (nodes.empty() || nodes == (wanted & nodes)) continue;
      if (could_start(lane, timeline, order, nodes)) wanted |= nodes;
    }
    return wanted;
  }

  /// Empty also where it is too long ago to tell: the job waits for the next plan then.
  NodeSet freed_since_plan() const {
    NodeSet freed(snapshot_.node_count());
    for (const NodeIndex node : freed_since(snapshot_, plan_).value_or(std::vector<NodeIndex>()))
      freed.set(node);
    return freed;
  }

  /// Could a job of the lane start now, using some of `freed`? Without them it could not when the
  /// plan was made.
  bool could_start(const Lane& lane, const Timeline& timeline, std::span<const NodeIndex> order,
                   const NodeSet& freed) const {
    for (const NeedIndex index : lane.needs) {
      const Need& need = snapshot_.need(index);
      if (!accepts(need, lane)) continue;
      const NodeSet nodes = need.nodes() & snapshot_.usable();
      if (has_candidate(need, lane, timeline, nodes & freed) &&
          placement_of(need, lane, timeline, order, nodes)) {
        return true;
      }
    }
    return false;
  }
  bool has_candidate(const Need& need, const Lane& lane, const Timeline& timeline,
                     const NodeSet& nodes) const {
    const Timeline::Interval interval(timeline, now_ + lane.time_limit);
    const Fitter fitter = need.fitter(snapshot_.inventory());
    bool result = false;
    nodes.for_each([&](NodeIndex node) {
      result = result || candidate_at(fitter, node, interval.at(node)).has_value();
    });
    return result;
  }

  std::optional<std::vector<NodeAmount>> placement_of(const Need& need, const Lane& lane,
                                                      const Timeline& timeline,
                                                      std::span<const NodeIndex> order,
                                                      const NodeSet& allowed) const {
    const Timeline::Interval interval(timeline, now_ + lane.time_limit);
    Seeking how{Effort::kQuick};  // what takes longer to place waits for the plan
    // Nodes without a free CPU take no task: on a full cluster this leaves few.
    return place_widest(need.fitter(snapshot_.inventory()), interval, need.limits, order,
                        allowed & memo_.with_cpus, &how);
  }

  const ClusterSnapshot& snapshot_;
  const Plan& plan_;
  const PendingJob& job_;
  const Lane& lane_;
  TimePoint now_;
  NodeSet freed_;
  FastMemo& memo_;
};

}  // namespace

FastStart try_start_now(const ClusterSnapshot& snapshot, const Plan& plan, JobId job, TimePoint now,
                        FastMemo* memo) {
  CHECK(snapshot.find_pending(job) != nullptr, "job {} is not pending", job.value());
  CHECK(snapshot.revision() >= plan.revision, "the plan is of a later state");
  FastMemo own;
  return FastPath(snapshot, plan, job, now, memo != nullptr ? *memo : own).run();
}

std::optional<std::vector<NodeIndex>> freed_since(const ClusterSnapshot& snapshot,
                                                  const Plan& plan) {
  const auto changes = snapshot.changed_since(plan.revision);
  if (!changes) return std::nullopt;
  NodeSet freed(snapshot.node_count());
  for (const auto& [revision, node] : *changes) {
    if (snapshot.freed_revision(node) > plan.revision) freed.set(node);
  }
  return freed.first(snapshot.node_count());
}

bool may_start_on(const ClusterSnapshot& snapshot, const Lane& lane,
                  std::span<const NodeIndex> freed) {
  return std::ranges::any_of(lane.needs, [&](NeedIndex index) {
    const Need& need = snapshot.need(index);
    const Fitter fitter = need.fitter(snapshot.inventory());
    return std::ranges::any_of(freed, [&](NodeIndex node) {
      return snapshot.usable().test(node) && need.nodes().test(node) &&
             candidate_at(fitter, node, snapshot.free().at(node)).has_value();
    });
  });
}

}  // namespace muster::sched
