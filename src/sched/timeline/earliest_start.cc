// The search behind Timeline::earliest_start. Before its need's frontier a job cannot start; from
// there on the instants are walked at which something ends on an allowed node, with sums of what
// the nodes carry, so that the job is placed only where the sums suffice.
//
// What a node has for the job's time is what it has for ever (its profile), where no window begins
// there after the job's end. Of the other nodes, between whose windows there are gaps, it is worked
// out at the beginning how much they carry from when on.
#include <algorithm>

#include "base/check.h"
#include "sched/timeline/instants.h"
#include "sched/timeline/sliding_least.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

class EarliestStartSearch final : public Availability {
 public:
  EarliestStartSearch(Timeline& timeline, const StartQuestion& question)
      : timeline_(timeline),
        question_(question),
        fitter_(question.fitter),
        wanted_{question.fitter, question.limits, question.allowed},
        rows_(timeline.outlooks().rows()),
        outlook_(timeline.outlooks().of(question.need, question.serial, wanted_)),
        frontier_(timeline.frontier(question, outlook_)),
        kind_count_(timeline.free_.kind_count()),
        instants_(timeline, question.allowed, frontier_.time),
        time_(frontier_.time),
        carried_(frontier_.lasting),
        is_gap_(question.allowed.size()) {}

  std::optional<FuturePlacement> run() {
    if (!is_enough(frontier_.at_once, wanted_)) return std::nullopt;  // nor will it ever be
    find_gaps();
    // A frontier behind now stands where something ends.
    if (time_ == timeline_.now_ && !advance()) return std::nullopt;
    do {
      if (!is_worth_trying()) continue;
      Seeking how{timeline_.is_effort_left() ? Effort::kFull : Effort::kQuick};
      auto nodes = place(fitter_, *this, question_.limits, question_.order, carried_.nodes, &how);
      timeline_.spend(how.cost);
      cost_ += how.cost;
      if (nodes) return FuturePlacement{time_, std::move(*nodes)};
      ++failed_count_;
      failed_at_ = carried_.sums;
    } while (advance());
    return std::nullopt;
  }

  /// What stays free on the node from the walk's time on for the job's duration.
  NodeFree at(NodeIndex node) const override {
    return rows_.at(is_gap_.test(node) ? row_in_gap(node) : row_at(timeline_.profile(node), time_));
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

  /// From `when` on a node carries no more than this.
  struct GapChange {
    TimePoint when;
    NodeIndex node;
    Capacity before;
    Capacity after;
  };

  /// Gaps: nodes with a window that begins after the job would end if it started now.
  void find_gaps() {
    const TimePoint first_end = time_ + question_.duration;
    (timeline_.windowed_ & question_.allowed).for_each([&](NodeIndex node) {
      if (timeline_.last_slot_[node.value()] >= first_end) follow_gap(node);
    });
    std::ranges::sort(changes_, {}, &GapChange::when);  // those of one node come in order anyhow
  }

  void follow_gap(NodeIndex node) {
    const auto steps = exact_steps(node);
    timeline_.steps_taken_ += steps.size();
    capacities_.clear();
    times_.clear();
    for (const ExactStep& step : steps) {
      capacities_.push_back(outlook_.capacities.of(step.row, node, rows_, fitter_));
      if (step.from > time_) times_.push_back(step.from);
      if (!step.is_loss) continue;
      // A job that ends as a window begins does not meet it.
      const TimePoint reached = step.from - question_.duration + Duration::microseconds(1);
      if (reached > time_) times_.push_back(reached);
    }
    std::ranges::sort(times_);
    gap_ = {};
    least_.begin(capacities_);
    Capacity last = capacity_in_gap(steps, time_);
    const RowId row = row_at(timeline_.profile(node), time_);
    replace(node, outlook_.capacities.of(row, node, rows_, fitter_), last);
    is_gap_.set(node);
    for (const TimePoint when : times_) {
      const Capacity next = capacity_in_gap(steps, when);
      if (next == last) continue;
      changes_.push_back({when, node, last, next});
      last = next;
    }
  }
  /// No less than what the node with these steps carries from `start` on for the job's duration.
  /// Requires: `start` does not go back.
  Capacity capacity_in_gap(std::span<const ExactStep> steps, TimePoint start) {
    while (gap_.first + 1 < steps.size() && steps[gap_.first + 1].from <= start) ++gap_.first;
    const TimePoint until = start + question_.duration;
    gap_.last = std::max(gap_.last, gap_.first + 1);
    while (gap_.last < steps.size() && steps[gap_.last].from < until) ++gap_.last;
    return least_.of(gap_.first, gap_.last);
  }
  void replace(NodeIndex node, const Capacity& before, const Capacity& after) {
    carried_.replace(node, before, after, fitter_.demand().required.test(node));
  }

  /// What the node has from instant to instant. Requires: it has windows.
  std::span<const ExactStep> exact_steps(NodeIndex node) const {
    return timeline_.exact_steps(timeline_.versions_[node.value()]);
  }

  /// The least that the node has from time_ on for the job's duration.
  RowId row_in_gap(NodeIndex node) const {
    const auto steps = exact_steps(node);
    const TimePoint until = time_ + question_.duration;
    std::size_t step = 0;
    while (step + 1 < steps.size() && steps[step + 1].from <= time_) ++step;
    const RowId first = steps[step].row;
    bool is_copied = false;
    for (++step; step < steps.size() && steps[step].from < until; ++step) {
      if (steps[step].row == first) continue;
      if (!is_copied) row_.assign(rows_.at(first), kind_count_);
      is_copied = true;
      row_.limit(rows_.at(steps[step].row));
    }
    const std::uint32_t node_class = timeline_.snapshot_.inventory().class_of[node.value()];
    return is_copied ? rows_.number_of(node_class, row_.view()) : first;
  }

  /// Goes to the next instant at which something ends on an allowed node. False: there is none.
  bool advance() {
    do {
      time_ = instants_.next();
      if (time_.is_never()) return false;
      for (; next_change_ < changes_.size() && changes_[next_change_].when <= time_;
           ++next_change_) {
        const GapChange& change = changes_[next_change_];
        replace(change.node, change.before, change.after);
      }
      instants_.go_to(time_);
      instants_.visit_touched([this](NodeIndex node) { count(node); });
    } while (!instants_.has_ended());
    return true;
  }
  void count(NodeIndex node) {
    ++timeline_.steps_taken_;
    if (is_gap_.test(node)) return;
    const Profile steps = timeline_.profile(node);
    const RowId before = row_before(steps, time_);
    const RowId after = row_at(steps, time_);
    if (before == after) return;
    replace(node, outlook_.capacities.of(before, node, rows_, fitter_),
            outlook_.capacities.of(after, node, rows_, fitter_));
  }

  bool is_worth_trying() const {
    if (!is_enough(carried_.sums, wanted_)) return false;
    // After the last window nothing lies ahead, and room only grows.
    if (failed_count_ >= kTryMax && time_ < last_boundary()) return false;
    // At the last end of all it is tried in any case: there will be no later chance.
    if (cost_ >= kCostMax && !has_grown() && !instants_.next().is_never()) return false;
    return !fitter_.request().is_contiguous || longest_run() >= question_.limits.min;
  }
  TimePoint last_boundary() const {
    TimePoint last;
    for (const Timeline::Slot& slot : timeline_.slots_) {
      if (slot.is_released || !question_.allowed.test(slot.amount.node)) continue;
      last = std::max(last, slot.end.is_never() ? slot.start : slot.end);
    }
    return last;
  }
  bool has_grown() const {
    const auto is_an_eighth_more = [](std::int64_t now, std::int64_t before) {
      return now * 8 >= before * 9;
    };
    if (is_an_eighth_more(carried_.sums.tasks, failed_at_.tasks)) return true;
    for (std::size_t i = 0; i < fitter_.demand().per_job.size(); ++i) {
      if (is_an_eighth_more(carried_.sums.shares[i], failed_at_.shares[i])) return true;
    }
    return false;
  }
  std::uint32_t longest_run() const {
    std::uint32_t best = 0;
    std::uint32_t run = 0;
    // By index, including nodes that are not allowed: those carry nothing and end a run.
    for (std::uint32_t i = 0; i < carried_.nodes.size(); ++i) {
      run = carried_.nodes.test(NodeIndex(i)) ? run + 1 : 0;
      best = std::max(best, run);
    }
    return best;
  }

  Timeline& timeline_;
  const StartQuestion& question_;
  const Fitter& fitter_;
  const Wanted wanted_;
  RowTable& rows_;
  Outlook& outlook_;
  const Timeline::Frontier& frontier_;
  std::size_t kind_count_;
  Instants instants_;
  TimePoint time_;
  Carried carried_;  ///< by the allowed nodes, from time_ on for the job's duration
  NodeSet is_gap_;
  std::vector<GapChange> changes_;  ///< rising by time
  std::size_t next_change_ = 0;
  std::vector<Capacity> capacities_;  ///< by the steps of a gap
  std::vector<TimePoint> times_;      ///< when a gap may change
  struct {
    std::size_t first = 0;
    std::size_t last = 0;
  } gap_;  ///< of a gap's steps, those within the job's time
  SlidingLeast least_;
  mutable FreeRow row_;
  int failed_count_ = 0;
  std::uint64_t cost_ = 0;  ///< of all tries
  CarrySums failed_at_;     ///< what there was at the last
};

std::optional<FuturePlacement> Timeline::earliest_start(const StartQuestion& question) {
  return EarliestStartSearch(*this, question).run();
}

}  // namespace muster::sched
