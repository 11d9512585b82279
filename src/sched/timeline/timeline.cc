// Windows are kept per node, as a list of slots with what is spare when each begins: the least
// over an interval is then a minimum over few entries, and a start subtracts itself from the spare
// of every slot that it reaches into.

#include "sched/timeline/timeline.h"

#include <algorithm>

#include "base/check.h"

namespace muster::sched {

Timeline::Timeline(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options)
    : snapshot_(snapshot),
      now_(now),
      options_(options),
      free_(snapshot.free()),
      planned_on_(snapshot.node_count()),
      first_slot_(snapshot.node_count(), kNone) {
  if (options.is_overdue_free) free_overdue();
}

void Timeline::free_overdue() {
  for (const ExpectedEnd& end : snapshot_.ends()) {
    if (end.end > now_) return;
    for (const NodeAmount& amount : snapshot_.running_slot(end.slot).nodes) free_.add(amount);
  }
}

TimePoint Timeline::effective_end(TimePoint end) const {
  // An overdue job ends at any moment, and not before: its room is not free now.
  return end > now_ ? end : now_ + options_.overdue_grace;
}

FreeRow Timeline::row_without_windows(NodeIndex node, TimePoint when) const {
  FreeRow row(free_.at(node), free_.kind_count());
  for (const NodeShare& share : snapshot_.shares_on(node)) {
    // By the job and not by the share: change_end() moves it for all its nodes.
    const TimePoint end = snapshot_.running_slot(share.slot).end;
    if (options_.is_overdue_free && end <= now_) continue;  // in free_ already
    if (effective_end(end) <= when) row.add(share.amount);
  }
  for (const std::uint32_t index : planned_on_[node.value()]) {
    if (planned_[index].end <= when) row.add(planned_[index].amount);
  }
  return row;
}

FreeRow Timeline::row_at(NodeIndex node, TimePoint when) const {
  FreeRow row = row_without_windows(node, when);
  for (std::uint32_t i = first_slot_[node.value()]; i != kNone; i = slots_[i].next) {
    // Half open: at its end a window's room is there again.
    if (slots_[i].start <= when && when < slots_[i].end) row.subtract(slots_[i].amount);
  }
  return row;
}

/// The last instant until `until` at which what is free on the node changes; now, if it does not.
TimePoint Timeline::last_change(NodeIndex node, TimePoint until) const {
  TimePoint last = now_;
  const auto look = [&](TimePoint when) {
    if (when <= until) last = std::max(last, when);
  };
  for (const NodeShare& share : snapshot_.shares_on(node))
    look(effective_end(snapshot_.running_slot(share.slot).end));
  for (const std::uint32_t index : planned_on_[node.value()]) look(planned_[index].end);
  for (std::uint32_t i = first_slot_[node.value()]; i != kNone; i = slots_[i].next) {
    look(slots_[i].start);
    look(slots_[i].end);
  }
  return last;
}

void Timeline::start(const Start& start) {
  for (const NodeAmount& plain : start.nodes) {
    // A start is given without its partition's quota: the timeline charges it, as the snapshot
    // does.
    NodeAmount amount = snapshot_.inventory().charged(plain, start.partition);
    CHECK(free_.holds(amount), "node {} is given out twice", amount.node.value());
    free_.subtract(amount);
    for (std::uint32_t i = first_slot_[amount.node.value()]; i != kNone; i = slots_[i].next) {
      Slot& slot = slots_[i];
      // At its end the job's room is back: windows from then on lose nothing.
      if (slot.start >= start.end) continue;
      CHECK(slot.spare.holds(amount), "node {}: a start takes reserved room", amount.node.value());
      slot.spare.subtract(amount);
    }
    planned_on_[amount.node.value()].push_back(static_cast<std::uint32_t>(planned_.size()));
    planned_by_end_.push_back(static_cast<std::uint32_t>(planned_.size()));
    planned_.push_back({start.end, std::move(amount)});
  }
}

void Timeline::reserve(const Window& window) {
  CHECK(window.start > now_, "a window begins after now");
  for (const NodeAmount& plain : window.nodes) {
    const NodeAmount amount = snapshot_.inventory().charged(plain, window.partition);
    FreeRow spare = row_at(amount.node, window.start);
    CHECK(spare.holds(amount), "node {} is reserved twice", amount.node.value());
    // The windows that begin within this one find less spare: it must be there.
    for (std::uint32_t i = first_slot_[amount.node.value()]; i != kNone; i = slots_[i].next) {
      const Slot& slot = slots_[i];
      if (slot.start < window.start || slot.start >= window.end) continue;
      CHECK(slot.spare.holds(amount), "node {}: a window cuts into another", amount.node.value());
    }
    add_slot(amount, window.start, window.end, std::move(spare));
  }
}

void Timeline::reserve_again(const Window& window) {
  // A microsecond is the smallest step of time: at once, and still after now.
  const TimePoint begin = std::max(window.start, now_ + Duration::microseconds(1));
  for (const NodeAmount& plain : window.nodes) {
    const NodeAmount amount = snapshot_.inventory().charged(plain, window.partition);
    // row_at() may already be below the amount: spare below 0 is what keep() is for.
    add_slot(amount, begin, std::max(window.end, begin), row_at(amount.node, begin));
  }
}

void Timeline::add_slot(const NodeAmount& amount, TimePoint start, TimePoint end, FreeRow spare) {
  spare.subtract(amount);
  std::uint32_t& first = first_slot_[amount.node.value()];
  for (std::uint32_t i = first; i != kNone; i = slots_[i].next) {
    if (slots_[i].start >= start && slots_[i].start < end) slots_[i].spare.subtract(amount);
  }
  // At the head of the list: its order does not matter, as every question takes a minimum.
  slots_.push_back({start, end, amount, std::move(spare), first});
  first = static_cast<std::uint32_t>(slots_.size() - 1);
}

void Timeline::release(const Window& window) {
  for (const NodeAmount& plain : window.nodes) {
    const NodeAmount amount = snapshot_.inventory().charged(plain, window.partition);
    std::uint32_t* link = &first_slot_[amount.node.value()];
    const auto is_it = [&](const Slot& slot) {
      return slot.start == window.start && slot.end == window.end && slot.amount == amount;
    };
    while (*link != kNone && !is_it(slots_[*link])) link = &slots_[*link].next;
    CHECK(*link != kNone, "node {}: no such window is kept", amount.node.value());
    Slot& released = slots_[*link];
    *link = released.next;
    // It stays in slots_, where others refer to it by index.
    released.is_released = true;
    for (std::uint32_t i = first_slot_[amount.node.value()]; i != kNone; i = slots_[i].next) {
      Slot& slot = slots_[i];
      if (slot.start >= window.start && slot.start < window.end) slot.spare.add(amount);
    }
  }
}

void Timeline::clear_windows() {
  // Only the nodes that have slots: a walk over all would cost more.
  for (const Slot& slot : slots_) first_slot_[slot.amount.node.value()] = kNone;
  slots_.clear();
}

std::vector<ReservedRoom> Timeline::reserved_on(const NodeSet& nodes) const {
  std::vector<ReservedRoom> kept;
  for (const Slot& slot : slots_) {
    if (!slot.is_released && nodes.test(slot.amount.node))
      kept.push_back({slot.start, slot.end, slot.amount});
  }
  return kept;
}

void Timeline::sort_planned() {
  const auto by_end = [this](std::uint32_t a, std::uint32_t b) {
    return std::pair(planned_[a].end, a) < std::pair(planned_[b].end, b);
  };
  // Starts come one by one between searches: only those since the last are sorted.
  const auto middle = planned_by_end_.begin() + static_cast<std::ptrdiff_t>(planned_sorted_);
  std::sort(middle, planned_by_end_.end(), by_end);
  std::inplace_merge(planned_by_end_.begin(), middle, planned_by_end_.end(), by_end);
  planned_sorted_ = planned_by_end_.size();
}

NodeFree Timeline::Interval::at(NodeIndex node) const {
  NodeFree free = timeline_.free_.at(node);
  bool is_copied = false;
  for (std::uint32_t i = timeline_.first_slot_[node.value()]; i != kNone;
       i = timeline_.slots_[i].next) {
    const Slot& slot = timeline_.slots_[i];
    if (slot.start >= until_) continue;
    const std::size_t kinds = slot.spare.gres.size();
    // Copied only where a window limits the node.
    if (!is_copied) gres_.assign(free.gres, free.gres + kinds);
    is_copied = true;
    free.gres = gres_.data();
    free.cpus = std::min(free.cpus, slot.spare.cpus);
    free.memory_mib = std::min(free.memory_mib, slot.spare.memory_mib);
    for (std::size_t k = 0; k < kinds; ++k) gres_[k] = std::min(gres_[k], slot.spare.gres[k]);
  }
  return free;
}

}  // namespace muster::sched
