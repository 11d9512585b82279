// The search behind Timeline::earliest_start: the ends are walked in order of time, and of each
// allowed node is known how much of the job it could carry, so that the job is tried only where the
// counts suffice.
#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

class EarliestStartSearch final : public Availability {
 public:
  EarliestStartSearch(Timeline& timeline, const Fitter& fitter, NodeLimits limits,
                      std::span<const NodeIndex> order, const NodeSet& allowed, Duration duration)
      : timeline_(timeline),
        fitter_(fitter),
        limits_(limits),
        order_(order),
        allowed_(allowed),
        duration_(duration),
        future_(timeline.free_),
        candidates_(timeline.free_.node_count()),
        time_(timeline.now_) {
    tasks_wanted_ = std::max({fitter.request().task_count, limits.min, 1U});
  }

  std::optional<FuturePlacement> run(const NodeSet& room) {
    prepare();
    room.for_each([this](NodeIndex node) { recount(node); });
    while (advance()) {
      if (!is_worth_trying()) continue;
      if (auto nodes = place(fitter_, *this, limits_, order_, allowed_))
        return FuturePlacement{time_, *nodes};
      ++failed_count_;
    }
    return std::nullopt;
  }

  /// What stays free on the node from time_ on for the job's duration.
  NodeFree at(NodeIndex node) const override {
    NodeFree free = future_.at(node);
    const TimePoint until = time_ + duration_;
    bool is_copied = false;
    for (std::uint32_t i = timeline_.first_slot_[node.value()]; i != Timeline::kNone;
         i = timeline_.slots_[i].next) {
      const Timeline::Slot& slot = timeline_.slots_[i];
      if (slot.start <= time_ || slot.start >= until) continue;  // what has begun is in future_
      if (!is_copied) row_ = FreeRow(free, slot.spare.gres.size());
      is_copied = true;
      row_.limit(slot.spare);
    }
    return is_copied ? row_.view() : free;
  }

 private:
  /// After this many tries in vain while windows lie ahead, only the time after the last window is
  /// tried: an upper bound on the work, and a later start than possible only where windows
  /// interlock badly.
  static constexpr int kTryMax = 64;

  void prepare() {
    timeline_.sort_planned();
    for (std::uint32_t i = 0; i < timeline_.slots_.size(); ++i) {
      const Timeline::Slot& slot = timeline_.slots_[i];
      if (!allowed_.test(slot.amount.node)) continue;
      boundaries_.push_back({slot.start, i, true});
      last_boundary_ = std::max(last_boundary_, slot.start);
      if (slot.end.is_never()) continue;
      boundaries_.push_back({slot.end, i, false});
      last_boundary_ = std::max(last_boundary_, slot.end);
    }
    std::ranges::sort(boundaries_);
    const auto& ends = timeline_.snapshot_.ends();
    while (overdue_ < ends.size() && ends[overdue_].end <= timeline_.now_) ++overdue_;
    next_end_ = overdue_;
    if (timeline_.options_.is_overdue_free) overdue_ = 0;
  }

  TimePoint next_time() const {
    TimePoint next = TimePoint::never();
    const auto& ends = timeline_.snapshot_.ends();
    if (overdue_ > 0) next = timeline_.now_ + timeline_.options_.overdue_grace;
    if (next_end_ < ends.size()) next = std::min(next, ends[next_end_].end);
    if (next_planned_ < timeline_.planned_by_end_.size())
      next = std::min(next, planned(next_planned_).end);
    if (next_boundary_ < boundaries_.size())
      next = std::min(next, boundaries_[next_boundary_].time);
    return next;
  }
  const Timeline::Planned& planned(std::size_t place) const {
    return timeline_.planned_[timeline_.planned_by_end_[place]];
  }

  /// Goes to the next instant at which an allowed node changes. False: there is none.
  bool advance() {
    dirty_.clear();
    while (dirty_.empty()) {
      fetch_ahead();
      time_ = next_time();
      if (time_.is_never()) return false;
      apply_ends();
      apply_planned();
      apply_boundaries();
    }
    for (const NodeIndex node : dirty_) recount(node);
    return true;
  }
  void apply_ends() {
    const auto& ends = timeline_.snapshot_.ends();
    if (overdue_ > 0 && time_ == timeline_.now_ + timeline_.options_.overdue_grace) {
      for (std::size_t i = 0; i < overdue_; ++i) release(ends[i]);
      overdue_ = 0;
    }
    for (; next_end_ < ends.size() && ends[next_end_].end <= time_; ++next_end_)
      release(ends[next_end_]);
  }
  void release(const ExpectedEnd& end) {
    if (end.is_on_one_node() && !allowed_.test(end.sole_node)) return;
    for (const NodeAmount& amount : timeline_.snapshot_.running_slot(end.slot).nodes) {
      change(amount, true);
    }
  }
  /// The walk waits for memory more than for anything else: what comes in a few steps is asked for now.
  void fetch_ahead() const {
    constexpr std::size_t kFar = 64;
    constexpr std::size_t kNear = 32;
    const auto& ends = timeline_.snapshot_.ends();
    if (next_end_ + kFar >= ends.size()) return;
    const ClusterSnapshot& snapshot = timeline_.snapshot_;
    __builtin_prefetch(&snapshot.running_slot(ends[next_end_ + kFar].slot));
    const ExpectedEnd& near = ends[next_end_ + kNear];
    if (near.is_on_one_node() && !allowed_.test(near.sole_node)) return;
    __builtin_prefetch(snapshot.running_slot(near.slot).nodes.data());
  }
  void apply_planned() {
    const std::size_t count = timeline_.planned_by_end_.size();
    for (; next_planned_ < count && planned(next_planned_).end <= time_; ++next_planned_) {
      change(planned(next_planned_).amount, true);
    }
  }
  void apply_boundaries() {
    for (; next_boundary_ < boundaries_.size() && boundaries_[next_boundary_].time <= time_;
         ++next_boundary_) {
      const Timeline::Boundary& boundary = boundaries_[next_boundary_];
      change(timeline_.slots_[boundary.slot].amount, !boundary.is_start);
    }
  }
  void change(const NodeAmount& amount, bool is_release) {
    if (!allowed_.test(amount.node)) return;
    is_release ? future_.add(amount) : future_.subtract(amount);
    dirty_.push_back(amount.node);
  }

  /// Brings the node's part of the sums up to date. With windows ahead a sum may be too high until
  /// it is tried.
  void recount(NodeIndex node) {
    Candidate& known = candidates_[node.value()];
    count_in(known, -1);
    known = candidate_at(fitter_, node, at(node)).value_or(Candidate{node, 0, {}});
    count_in(known, 1);
  }
  void count_in(const Candidate& candidate, int sign) {
    if (candidate.tasks == 0) return;
    count_ += sign;
    tasks_ += sign * std::int64_t{candidate.tasks};
    for (std::size_t i = 0; i < kJobNeedMax; ++i)
      shares_[i] += sign * std::int64_t{candidate.shares[i]};
    if (fitter_.demand().required.test(candidate.node)) required_ += sign;
  }

  bool is_worth_trying() const {
    if (count_ < limits_.min || tasks_ < tasks_wanted_) return false;
    if (required_ < fitter_.demand().required_count) return false;
    const auto& needs = fitter_.demand().per_job;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (shares_[i] < needs[i].count) return false;
    }
    if (failed_count_ >= kTryMax && time_ < last_boundary_) return false;
    return !fitter_.request().is_contiguous || longest_run() >= limits_.min;
  }
  std::uint32_t longest_run() const {
    std::uint32_t best = 0;
    std::uint32_t run = 0;
    for (const Candidate& candidate : candidates_) {
      run = candidate.tasks > 0 ? run + 1 : 0;
      best = std::max(best, run);
    }
    return best;
  }

  Timeline& timeline_;
  const Fitter& fitter_;
  NodeLimits limits_;
  std::span<const NodeIndex> order_;
  const NodeSet& allowed_;
  Duration duration_;
  FreeTable future_;
  std::vector<Candidate> candidates_;
  std::vector<Timeline::Boundary> boundaries_;
  std::vector<NodeIndex> dirty_;
  mutable FreeRow row_;
  TimePoint time_;
  TimePoint last_boundary_;
  std::size_t overdue_ = 0;
  std::size_t next_end_ = 0;
  std::size_t next_planned_ = 0;
  std::size_t next_boundary_ = 0;
  std::int64_t count_ = 0;
  std::int64_t tasks_ = 0;
  std::int64_t required_ = 0;
  std::array<std::int64_t, kJobNeedMax> shares_{};
  std::int64_t tasks_wanted_ = 1;
  int failed_count_ = 0;
};

std::optional<FuturePlacement> Timeline::earliest_start(const Fitter& fitter, NodeLimits limits,
                                                        std::span<const NodeIndex> order,
                                                        const NodeSet& allowed, const NodeSet& room,
                                                        Duration duration) {
  return EarliestStartSearch(*this, fitter, limits, order, allowed, duration).run(room);
}

}  // namespace muster::sched
