#include "sched/timeline/instants.h"

#include <algorithm>

#include "base/check.h"

namespace muster::sched {

Instants::Instants(Timeline& timeline, const NodeSet& among, TimePoint after)
    : timeline_(timeline),
      among_(among),
      ends_(timeline.outlooks().ends(), timeline.now_, timeline.options_, among),
      is_touched_(among.size()) {
  const auto& planned = timeline.planned_ends_;
  CHECK(timeline.planned_sorted_ == planned.size(), "planned ends are sorted first");
  if (after > timeline.now_) ends_.go_behind(after);
  next_planned_ = static_cast<std::size_t>(
      std::ranges::upper_bound(planned, after, {}, &NodeEnd::end) - planned.begin());
  skip_planned();
  const auto& marks = timeline.window_marks_;
  next_mark_ = static_cast<std::size_t>(
      std::ranges::upper_bound(marks, after, {}, &Timeline::WindowMark::when) - marks.begin());
}

TimePoint Instants::next() const {
  TimePoint next = ends_.next();
  if (next_planned_ < timeline_.planned_ends_.size())
    next = std::min(next, timeline_.planned_ends_[next_planned_].end);
  if (next_mark_ < timeline_.window_marks_.size())
    next = std::min(next, timeline_.window_marks_[next_mark_].when);
  return next;
}

void Instants::go_to(TimePoint time) {
  has_ended_ = false;
  while (ends_.next() <= time && !ends_.next().is_never())
    ends_.pass(ends_.next(), [this](NodeIndex node) { touch(node, true); });
  const auto& planned = timeline_.planned_ends_;
  while (next_planned_ < planned.size() && planned[next_planned_].end <= time) {
    touch(planned[next_planned_].node, true);
    ++next_planned_;
    skip_planned();
  }
  const auto& marks = timeline_.window_marks_;
  for (; next_mark_ < marks.size() && marks[next_mark_].when <= time; ++next_mark_)
    pass_mark(marks[next_mark_]);
}

void Instants::skip_planned() {
  const auto& planned = timeline_.planned_ends_;
  while (next_planned_ < planned.size() && !among_.test(planned[next_planned_].node))
    ++next_planned_;
}

void Instants::pass_mark(const Timeline::WindowMark& mark) {
  for (std::uint32_t i = 0; i < mark.slot_count; ++i) {
    const Timeline::Slot& slot = timeline_.slots_[mark.first_slot + i];
    if (!slot.is_released) touch(slot.amount.node, mark.is_end);
  }
}

/// Other nodes are not kept up: nobody asks for them.
void Instants::touch(NodeIndex node, bool is_end) {
  if (!among_.test(node)) return;
  has_ended_ = has_ended_ || is_end;
  if (is_touched_.test(node)) return;
  is_touched_.set(node);
  touched_.push_back(node);
}

}  // namespace muster::sched
