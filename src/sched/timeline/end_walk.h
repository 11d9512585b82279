// A walk over the instants at which running jobs are expected to end on some nodes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/time.h"
#include "sched/plan/plan.h"
#include "sched/timeline/end_table.h"

namespace muster::sched {

/// Stands after an instant, `now` at first, and goes to the next or back over the last. Overdue
/// jobs end together, a grace after now, or count as gone. Lifetime: within that of the table,
/// which does not change meanwhile, and of `among`: ends on other nodes are left out.
class EndWalk {
 public:
  EndWalk(const EndTable& table, TimePoint now, const PlanOptions& options, const NodeSet& among)
      : table_(table), among_(among), overdue_(table.count_until(now)), next_(overdue_) {
    if (!options.is_overdue_free && is_any_before(overdue_)) grace_ = now + options.overdue_grace;
    skip();
  }

  /// Goes to behind `time`, which is not before `now`.
  void go_behind(TimePoint time) {
    next_ = std::max(overdue_, table_.count_until(time));
    is_grace_over_ = grace_ <= time;
    skip();
  }
  /// Returns the next instant; never: there is none.
  TimePoint next() const {
    const TimePoint own = next_ < table_.size() ? table_.end(next_) : TimePoint::never();
    return is_grace_over_ ? own : std::min(own, grace_);
  }
  /// Goes behind `instant`, which is not behind next(), and visits the nodes on which something
  /// ends there, with repeats.
  template <class Visit>
  void pass(TimePoint instant, Visit&& visit) {
    if (!is_grace_over_ && grace_ == instant) {
      is_grace_over_ = true;
      visit_overdue(visit);
    }
    while (next_ < table_.size() && table_.end(next_) <= instant) {
      visit(table_.node(next_));
      ++next_;
      skip();
    }
  }
  /// Returns the last instant that it stands behind; unset: there is none.
  TimePoint previous() const {
    const std::size_t own = behind(next_);
    const TimePoint end = own > overdue_ ? table_.end(own - 1) : TimePoint();
    return is_grace_over_ && !grace_.is_never() ? std::max(end, grace_) : end;
  }
  /// Goes to before previous(), and visits the nodes as pass() does.
  template <class Visit>
  void back(Visit&& visit) {
    const TimePoint instant = previous();
    if (is_grace_over_ && grace_ == instant) {
      is_grace_over_ = false;
      visit_overdue(visit);
    }
    for (std::size_t own = behind(next_); own > overdue_ && table_.end(own - 1) == instant;
         own = behind(next_)) {
      next_ = own - 1;
      visit(table_.node(next_));
    }
  }

 private:
  void skip() {
    while (next_ < table_.size() && !among_.test(table_.node(next_))) ++next_;
  }
  /// Returns the place behind the last end before `place` that counts.
  std::size_t behind(std::size_t place) const {
    while (place > overdue_ && !among_.test(table_.node(place - 1))) --place;
    return place;
  }
  bool is_any_before(std::size_t place) const {
    for (std::size_t i = 0; i < place; ++i) {
      if (among_.test(table_.node(i))) return true;
    }
    return false;
  }
  template <class Visit>
  void visit_overdue(Visit&& visit) {
    for (std::size_t i = 0; i < overdue_; ++i) {
      if (among_.test(table_.node(i))) visit(table_.node(i));
    }
  }

  const EndTable& table_;
  const NodeSet& among_;
  std::size_t overdue_;  ///< ends that are past
  std::size_t next_;
  TimePoint grace_ = TimePoint::never();
  bool is_grace_over_ = false;
};

}  // namespace muster::sched
