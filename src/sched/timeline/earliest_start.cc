// The search behind Timeline::earliest_start: the ends are walked in order of time, and of each
// allowed node is known how much of the job it could carry, so that the job is tried only where the
// counts suffice.
#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

void SearchSums::raise(const SearchSums& other) {
  nodes = std::max(nodes, other.nodes);
  tasks = std::max(tasks, other.tasks);
  required = std::max(required, other.required);
  for (std::size_t i = 0; i < kJobNeedMax; ++i) shares[i] = std::max(shares[i], other.shares[i]);
}

class EarliestStartSearch final : public Availability {
 public:
  EarliestStartSearch(Timeline& timeline, const StartQuestion& question, SearchMemory* memory)
      : timeline_(timeline), question_(question), fitter_(question.fitter), memory_(memory) {
    tasks_wanted_ = least_task_count(fitter_.request(), question.limits);
  }

  std::optional<FuturePlacement> run() {
    prepare();
    // A memory lets it begin shortly before the last answer.
    if (!resume()) begin();
    while (advance()) {
      // The highest sums until here: a checkpoint holds while even those did not suffice.
      most_.raise(state_.sums);
      if (!is_worth_trying()) {
        remember();
        continue;
      }
      Seeking how{timeline_.is_effort_left() ? Effort::kFull : Effort::kQuick};
      const auto nodes =
          place(fitter_, *this, question_.limits, question_.order, question_.allowed, &how);
      timeline_.spend(how.cost);
      cost_ += how.cost;
      if (nodes) return FuturePlacement{state_.time, *nodes};
      ++failed_count_;
      failed_at_ = state_.sums;
    }
    return std::nullopt;
  }

  /// What stays free on the node from the state's time on for the job's duration.
  NodeFree at(NodeIndex node) const override {
    NodeFree free = state_.future.at(node);
    const TimePoint until = state_.time + question_.duration;
    bool is_copied = false;
    for (std::uint32_t i = timeline_.first_slot_[node.value()]; i != Timeline::kNone;
         i = timeline_.slots_[i].next) {
      const Timeline::Slot& slot = timeline_.slots_[i];
      if (slot.start <= state_.time || slot.start >= until)
        continue;  // what has begun is in the state
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
  /// When tries in vain have cost so much, the next one waits until there is an eighth more of
  /// something, or all has ended: an upper bound on the work, and a start that may come somewhat
  /// later than it could.
  static constexpr std::uint64_t kCostMax = 200'000;

  void prepare() {
    timeline_.sort_planned();
    for (std::uint32_t i = 0; i < timeline_.slots_.size(); ++i) {
      const Timeline::Slot& slot = timeline_.slots_[i];
      if (slot.is_released || !question_.allowed.test(slot.amount.node)) continue;
      // Ends as well: a window that is over gives its room back.
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
    // Those count as gone already, in the timeline's free amounts.
    if (timeline_.options_.is_overdue_free) overdue_ = 0;
  }

  /// From now on, with what has room now.
  void begin() {
    state_ = {
        timeline_.now_, timeline_.free_, std::vector<Candidate>(timeline_.free_.node_count()), {}};
    // Only nodes with room now: the others carry nothing until something ends there.
    question_.room.for_each([this](NodeIndex node) { recount(node); });
    most_ = state_.sums;  // room that is there now may be gone by the first end
  }

  /// From the memory's latest checkpoint on that still holds. False: none does.
  bool resume() {
    if (memory_ == nullptr) return false;
    for (auto* checkpoint : {&memory_->early, &memory_->late}) {
      if (!bring_up_to_date(*checkpoint)) checkpoint->reset();
    }
    const auto& known = memory_->late ? memory_->late : memory_->early;
    if (!known) return false;
    state_ = known->state;
    most_ = known->most;
    skip_to(state_.time);
    return true;
  }
  /// False: with all that the changed nodes have free by then the job may be worth trying before,
  /// or there is none.
  bool bring_up_to_date(std::optional<SearchCheckpoint>& checkpoint) {
    // Overdue jobs end a grace after now, which moves: nothing kept is right then.
    if (!checkpoint || overdue_ > 0) return false;
    SearchCheckpoint& known = *checkpoint;
    const TimePoint from = known.state.time;
    if (from <= timeline_.now_) return false;
    for (const NodeIndex node : memory_->changed) {
      if (!question_.allowed.test(node)) continue;
      const FreeRow row = timeline_.row_without_windows(node, from);
      // As much as the node could have by then at most, windows aside: if even that does not
      // suffice, no instant before was worth trying.
      if (const auto candidate = candidate_at(fitter_, node, row.view()))
        count_in(known.most, *candidate, 1);
    }
    if (is_enough(known.most)) return false;
    state_ = std::move(known.state);
    for (const NodeIndex node : memory_->changed) {
      if (question_.allowed.test(node)) look_again(node, from);
    }
    state_.time = from;
    known.state = std::move(state_);
    return true;
  }
  void look_again(NodeIndex node, TimePoint from) {
    state_.future.set(node, timeline_.row_at(node, from));
    // recount() looks at windows from the state's time on: it must be the one at which the node
    // changed last, as in a full walk.
    state_.time = timeline_.last_change(node, from);
    recount(node);
  }
  /// Past what has happened until `from`.
  void skip_to(TimePoint from) {
    const auto& ends = timeline_.snapshot_.ends();
    // By halves: the ends before it may be thousands.
    const auto is_past = [&](const ExpectedEnd& end) { return end.end <= from; };
    next_end_ = static_cast<std::size_t>(std::partition_point(ends.begin(), ends.end(), is_past) -
                                         ends.begin());
    while (next_planned_ < timeline_.planned_by_end_.size() && planned(next_planned_).end <= from)
      ++next_planned_;
    while (next_boundary_ < boundaries_.size() && boundaries_[next_boundary_].time <= from)
      ++next_boundary_;
  }
  /// What follows a checkpoint must be walked again, so each is made as late as its purpose lets.
  void remember() {
    // A search that has failed depends on how often: it leaves nothing.
    if (memory_ == nullptr || failed_count_ > 0) return;
    if (!memory_->early && is_nearly_enough()) memory_->early = SearchCheckpoint{state_, most_};
    if (is_last_before_expected()) memory_->late = SearchCheckpoint{state_, most_};
  }
  bool is_nearly_enough() const {
    return state_.sums.nodes * 8 >= std::int64_t{question_.limits.min} * 7 &&
           state_.sums.tasks * 8 >= tasks_wanted_ * 7;
  }
  bool is_last_before_expected() const {
    const TimePoint expected = memory_->expected_start;
    return expected.is_set() && state_.time < expected && next_time() >= expected;
  }

  TimePoint next_time() const {
    TimePoint next = TimePoint::never();
    const auto& ends = timeline_.snapshot_.ends();
    // All overdue jobs are expected to end at this one instant.
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
      state_.time = next_time();
      if (state_.time.is_never()) return false;
      apply_ends();
      apply_planned();
      apply_boundaries();
    }
    for (const NodeIndex node : dirty_) recount(node);
    return true;
  }
  void apply_ends() {
    const auto& ends = timeline_.snapshot_.ends();
    if (overdue_ > 0 && state_.time == timeline_.now_ + timeline_.options_.overdue_grace) {
      // The first `overdue_` of the ends, which next_end_ has passed already.
      for (std::size_t i = 0; i < overdue_; ++i) release(ends[i]);
      overdue_ = 0;
    }
    for (; next_end_ < ends.size() && ends[next_end_].end <= state_.time; ++next_end_)
      release(ends[next_end_]);
  }
  void release(const ExpectedEnd& end) {
    // A job on one node is judged without a look at its slot, which is seldom in the cache.
    if (end.is_on_one_node() && !question_.allowed.test(end.sole_node)) return;
    for (const NodeAmount& amount : timeline_.snapshot_.running_slot(end.slot).nodes) {
      change(amount, true);
    }
  }
  /// The walk waits for memory more than for anything else: what comes in a few steps is asked for
  /// now.
  void fetch_ahead() const {
    constexpr std::size_t kFar = 64;
    constexpr std::size_t kNear = 32;
    const auto& ends = timeline_.snapshot_.ends();
    if (next_end_ + kFar >= ends.size()) return;
    const ClusterSnapshot& snapshot = timeline_.snapshot_;
    __builtin_prefetch(&snapshot.running_slot(ends[next_end_ + kFar].slot));
    const ExpectedEnd& near = ends[next_end_ + kNear];
    if (near.is_on_one_node() && !question_.allowed.test(near.sole_node)) return;
    __builtin_prefetch(snapshot.running_slot(near.slot).nodes.data());
  }
  void apply_planned() {
    const std::size_t count = timeline_.planned_by_end_.size();
    for (; next_planned_ < count && planned(next_planned_).end <= state_.time; ++next_planned_) {
      change(planned(next_planned_).amount, true);
    }
  }
  void apply_boundaries() {
    for (; next_boundary_ < boundaries_.size() && boundaries_[next_boundary_].time <= state_.time;
         ++next_boundary_) {
      const Timeline::Boundary& boundary = boundaries_[next_boundary_];
      change(timeline_.slots_[boundary.slot].amount, !boundary.is_start);
    }
  }
  void change(const NodeAmount& amount, bool is_release) {
    // Nodes that are not allowed are not kept up: nobody asks for them.
    if (!question_.allowed.test(amount.node)) return;
    is_release ? state_.future.add(amount) : state_.future.subtract(amount);
    dirty_.push_back(amount.node);
  }

  /// Brings the node's part of the sums up to date. With windows ahead a sum may be too high until
  /// it is tried.
  void recount(NodeIndex node) {
    Candidate& known = state_.candidates[node.value()];
    count_in(state_.sums, known, -1);
    known = candidate_at(fitter_, node, at(node)).value_or(Candidate{node, 0, {}});
    count_in(state_.sums, known, 1);
  }
  void count_in(SearchSums& sums, const Candidate& candidate, int sign) const {
    if (candidate.tasks == 0) return;
    sums.nodes += sign;
    sums.tasks += sign * std::int64_t{candidate.tasks};
    for (std::size_t i = 0; i < kJobNeedMax; ++i)
      sums.shares[i] += sign * std::int64_t{candidate.shares[i]};
    if (fitter_.demand().required.test(candidate.node)) sums.required += sign;
  }

  bool is_enough(const SearchSums& sums) const {
    // The cheapest tests first; this is asked at every instant.
    if (sums.nodes < question_.limits.min || sums.tasks < tasks_wanted_) return false;
    if (sums.required < fitter_.demand().required_count) return false;
    const auto& needs = fitter_.demand().per_job;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (sums.shares[i] < needs[i].count) return false;
    }
    return true;
  }
  bool is_worth_trying() const {
    if (!is_enough(state_.sums)) return false;
    // After the last boundary nothing lies ahead, and room only grows.
    if (failed_count_ >= kTryMax && state_.time < last_boundary_) return false;
    // At the last end of all it is tried in any case: there will be no later chance.
    if (cost_ >= kCostMax && !has_grown() && !next_time().is_never()) return false;
    return !fitter_.request().is_contiguous || longest_run() >= question_.limits.min;
  }
  bool has_grown() const {
    const auto is_more = [](std::int64_t now, std::int64_t before) {
      return now * 8 >= before * 9;
    };
    if (is_more(state_.sums.tasks, failed_at_.tasks)) return true;
    for (std::size_t i = 0; i < fitter_.demand().per_job.size(); ++i) {
      if (is_more(state_.sums.shares[i], failed_at_.shares[i])) return true;
    }
    return false;
  }
  std::uint32_t longest_run() const {
    std::uint32_t best = 0;
    std::uint32_t run = 0;
    // By index, including nodes that are not allowed: those carry nothing and end a run.
    for (const Candidate& candidate : state_.candidates) {
      run = candidate.tasks > 0 ? run + 1 : 0;
      best = std::max(best, run);
    }
    return best;
  }

  Timeline& timeline_;
  const StartQuestion& question_;
  const Fitter& fitter_;
  SearchMemory* memory_;
  SearchState state_;
  SearchSums most_;
  std::vector<Timeline::Boundary> boundaries_;
  std::vector<NodeIndex> dirty_;
  mutable FreeRow row_;
  TimePoint last_boundary_;
  std::size_t overdue_ = 0;
  std::size_t next_end_ = 0;
  std::size_t next_planned_ = 0;
  std::size_t next_boundary_ = 0;
  std::int64_t tasks_wanted_ = 1;
  int failed_count_ = 0;
  std::uint64_t cost_ = 0;  ///< of all tries
  SearchSums failed_at_;    ///< what there was at the last
};

std::optional<FuturePlacement> Timeline::earliest_start(const StartQuestion& question,
                                                        SearchMemory* memory) {
  return EarliestStartSearch(*this, question, memory).run();
}

}  // namespace muster::sched
