// Windows are kept per node, as a list of slots with what is spare when each begins: the least
// over an interval is then a minimum over few entries, and a start subtracts itself from the spare
// of every slot that it reaches into.

#include "sched/timeline/timeline.h"

#include <algorithm>

#include "base/check.h"
#include "sched/timeline/instants.h"

namespace muster::sched {

Timeline::Timeline(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
                   Outlooks* outlooks)
    : snapshot_(snapshot),
      now_(now),
      options_(options),
      free_(snapshot.free()),
      planned_on_(snapshot.node_count()),
      first_slot_(snapshot.node_count(), kNone),
      last_slot_(snapshot.node_count()),
      windowed_(snapshot.node_count()),
      outlooks_(outlooks),
      stale_(snapshot.node_count()) {
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

FreeRow Timeline::row_at(NodeIndex node, TimePoint when) const {
  FreeRow row;
  fill_row_at(row, node, when);
  return row;
}

void Timeline::fill_row_at(FreeRow& row, NodeIndex node, TimePoint when) const {
  const NodeFree now = free_.at(node);
  row.cpus = now.cpus;
  row.memory_mib = now.memory_mib;
  row.gres.assign(now.gres, now.gres + free_.kind_count());
  for (const NodeShare& share : snapshot_.shares_on(node)) {
    // By the job and not by the share: change_end() moves it for all its nodes.
    const TimePoint end = snapshot_.running_slot(share.slot).end;
    if (options_.is_overdue_free && end <= now_) continue;  // in free_ already
    if (effective_end(end) <= when) row.add(share.amount);
  }
  for (const std::uint32_t index : planned_on_[node.value()]) {
    if (planned_[index].end <= when) row.add(planned_[index].amount);
  }
  for (std::uint32_t i = first_slot_[node.value()]; i != kNone; i = slots_[i].next) {
    // Half open: at its end a window's room is there again.
    if (slots_[i].start <= when && when < slots_[i].end) row.subtract(slots_[i].amount);
  }
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
    if (!start.end.is_never()) planned_ends_.push_back({start.end, amount.node});
    mark_stale(amount.node);
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
  add_window_marks(window.start, window.end, window.nodes.size());
}

bool Timeline::has_room_for(const Window& window) const {
  const auto is_free = [&](const NodeAmount& plain) {
    const NodeAmount amount = snapshot_.inventory().charged(plain, window.partition);
    if (!row_at(amount.node, window.start).holds(amount)) return false;
    for (std::uint32_t i = first_slot_[amount.node.value()]; i != kNone; i = slots_[i].next) {
      const Slot& slot = slots_[i];
      const bool is_met = slot.start > window.start && slot.start < window.end;
      if (is_met && !slot.spare.holds(amount)) return false;
    }
    return true;
  };
  return std::ranges::all_of(window.nodes, is_free);
}

void Timeline::add_window_marks(TimePoint start, TimePoint end, std::size_t slot_count) {
  if (slot_count == 0) return;
  const auto count = static_cast<std::uint32_t>(slot_count);
  const auto first = static_cast<std::uint32_t>(slots_.size() - slot_count);
  for (const WindowMark& mark :
       {WindowMark{start, first, count, false}, WindowMark{end, first, count, true}}) {
    window_marks_.insert(std::ranges::upper_bound(window_marks_, mark.when, {}, &WindowMark::when),
                         mark);
  }
}

void Timeline::reserve_again(const Window& window) {
  // A microsecond is the smallest step of time: at once, and still after now.
  const TimePoint begin = std::max(window.start, now_ + Duration::microseconds(1));
  for (const NodeAmount& plain : window.nodes) {
    const NodeAmount amount = snapshot_.inventory().charged(plain, window.partition);
    // row_at() may already be below the amount: spare below 0 is what this is for.
    add_slot(amount, begin, std::max(window.end, begin), row_at(amount.node, begin));
  }
  add_window_marks(begin, std::max(window.end, begin), window.nodes.size());
}

void Timeline::add_slot(const NodeAmount& amount, TimePoint start, TimePoint end, FreeRow spare) {
  mark_stale(amount.node);
  windowed_.set(amount.node);
  TimePoint& last = last_slot_[amount.node.value()];
  last = std::max(last, start);
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
    mark_stale(amount.node);
    TimePoint& last = last_slot_[amount.node.value()];
    last = TimePoint();
    for (std::uint32_t i = first_slot_[amount.node.value()]; i != kNone; i = slots_[i].next) {
      Slot& slot = slots_[i];
      last = std::max(last, slot.start);
      if (slot.start >= window.start && slot.start < window.end) slot.spare.add(amount);
    }
    windowed_.put(amount.node, last.is_set());
  }
  // Until the window's start nothing is otherwise.
  for (Frontier& frontier : frontiers_) {
    if (frontier.time > window.start) frontier = {};
  }
}

void Timeline::clear_windows() {
  // Only the nodes that have slots: a walk over all would cost more.
  for (const Slot& slot : slots_) {
    first_slot_[slot.amount.node.value()] = kNone;
    last_slot_[slot.amount.node.value()] = TimePoint();
    mark_stale(slot.amount.node);
  }
  slots_.clear();
  window_marks_.clear();
  frontiers_.clear();
  windowed_ = NodeSet(snapshot_.node_count());
}

Outlooks& Timeline::outlooks() {
  if (outlooks_ == nullptr) {
    own_outlooks_ = std::make_unique<Outlooks>(snapshot_.node_count(), free_.kind_count());
    own_outlooks_->begin_pass(snapshot_, now_, options_, nullptr);
    outlooks_ = own_outlooks_.get();
  }
  return *outlooks_;
}

Profile Timeline::profile(NodeIndex node, Version version) {
  if (version.count == 0) return outlooks_->profile(node);
  return Profile(steps_).subspan(version.first, version.count);
}

Timeline::Version Timeline::make_version(NodeIndex node) {
  builder_.begin(free_.at(node), free_.kind_count());
  for (const NodeShare& share : snapshot_.shares_on(node)) {
    const TimePoint end = snapshot_.running_slot(share.slot).end;
    if (options_.is_overdue_free && end <= now_) continue;  // in free_ already
    builder_.gain(effective_end(end), share.amount);
  }
  for (const std::uint32_t index : planned_on_[node.value()])
    builder_.gain(planned_[index].end, planned_[index].amount);
  for (std::uint32_t i = first_slot_[node.value()]; i != kNone; i = slots_[i].next) {
    builder_.lose(slots_[i].start, slots_[i].amount);
    builder_.gain(slots_[i].end, slots_[i].amount);
  }
  const std::size_t first = steps_.size();
  const std::size_t first_exact = exact_.size();
  builder_.add_steps(outlooks_->rows(), snapshot_.inventory().class_of[node.value()], steps_,
                     windowed_.test(node) ? &exact_ : nullptr);
  steps_taken_ += (steps_.size() - first) + (exact_.size() - first_exact);
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(steps_.size() - first),
          static_cast<std::uint32_t>(first_exact),
          static_cast<std::uint32_t>(exact_.size() - first_exact)};
}

/// Of the others nobody asks now: a node may change many times until somebody does.
void Timeline::refresh_profiles(const NodeSet& nodes) {
  if (versions_.empty()) versions_.resize(snapshot_.node_count());
  (stale_ & nodes).for_each([this](NodeIndex node) {
    Version& version = versions_[node.value()];
    const Version before = version;
    version = make_version(node);
    revisions_.push_back({node, before, version});
    stale_.reset(node);
  });
}

Timeline::RowsAhead Timeline::rows_at(NodeIndex node, Version version, TimePoint when) {
  const RowId lasting = sched::row_at(profile(node, version), when);
  const auto exact = exact_steps(version);
  return {exact.empty() ? lasting : sched::row_at(exact, when), lasting};
}

Timeline::RowsAhead Timeline::rows_before(NodeIndex node, Version version, TimePoint when) {
  const RowId lasting = sched::row_before(profile(node, version), when);
  const auto exact = exact_steps(version);
  return {exact.empty() ? lasting : sched::row_before(exact, when), lasting};
}

const Timeline::Frontier& Timeline::frontier(const StartQuestion& question, Outlook& outlook) {
  refresh_profiles(question.allowed);
  if (planned_sorted_ < planned_ends_.size()) sort_planned_ends();
  if (question.need.value() >= frontiers_.size()) frontiers_.resize(question.need.value() + 1);
  Frontier& frontier = frontiers_[question.need.value()];
  if (frontier.serial != outlook.serial)
    frontier = {outlook.serial, outlook.time, outlook.carried.sums, outlook.carried, 0};
  catch_up(frontier, question, outlook);
  go_on(frontier, question, outlook);
  return frontier;
}

void Timeline::make_sums(Frontier& frontier, const StartQuestion& question, Outlook& outlook) {
  RowTable& rows = outlooks_->rows();
  const NodeSet& required = question.fitter.demand().required;
  frontier.at_once = {};
  frontier.lasting = {{}, NodeSet(snapshot_.node_count())};
  outlook.allowed.for_each([&](NodeIndex node) {
    const RowsAhead has = rows_at(node, versions_[node.value()], frontier.time);
    const auto capacity_of = [&](RowId row) {
      return outlook.capacities.of(row, node, rows, question.fitter);
    };
    frontier.at_once.count(capacity_of(has.at_once), required.test(node), 1);
    frontier.lasting.replace(node, {}, capacity_of(has.lasting), required.test(node));
  });
  frontier.read = revisions_.size();
}

void Timeline::catch_up(Frontier& frontier, const StartQuestion& question, Outlook& outlook) {
  // Where many nodes have become others, each is looked at once and not once for each change.
  if (revisions_.size() - frontier.read > snapshot_.node_count())
    return make_sums(frontier, question, outlook);
  RowTable& rows = outlooks_->rows();
  const NodeSet& required = question.fitter.demand().required;
  for (; frontier.read < revisions_.size(); ++frontier.read) {
    const Revision& revision = revisions_[frontier.read];
    const NodeIndex node = revision.node;
    if (!outlook.allowed.test(node)) continue;
    frontier.count(
        node, rows_at(node, revision.before, frontier.time),
        rows_at(node, revision.after, frontier.time), required.test(node),
        [&](RowId row) { return outlook.capacities.of(row, node, rows, question.fitter); });
  }
}

void Timeline::go_on(Frontier& frontier, const StartQuestion& question, Outlook& outlook) {
  const Wanted wanted{question.fitter, question.limits, question.allowed};
  if (is_enough(frontier.at_once, wanted)) return;
  RowTable& rows = outlooks_->rows();
  const NodeSet& required = question.fitter.demand().required;
  Instants instants(*this, question.allowed, frontier.time);
  while (!is_enough(frontier.at_once, wanted) && !instants.next().is_never()) {
    frontier.time = instants.next();
    instants.go_to(frontier.time);
    instants.visit_touched([&](NodeIndex node) {
      const Version version = versions_[node.value()];
      frontier.count(node, rows_before(node, version, frontier.time),
                     rows_at(node, version, frontier.time), required.test(node), [&](RowId row) {
                       return outlook.capacities.of(row, node, rows, question.fitter);
                     });
    });
  }
}

void Timeline::sort_planned_ends() {
  // Starts come one by one between searches: only those since the last are sorted.
  const auto middle = planned_ends_.begin() + static_cast<std::ptrdiff_t>(planned_sorted_);
  const auto is_before = [](const NodeEnd& a, const NodeEnd& b) { return a.end < b.end; };
  std::sort(middle, planned_ends_.end(), is_before);
  std::inplace_merge(planned_ends_.begin(), middle, planned_ends_.end(), is_before);
  planned_sorted_ = planned_ends_.size();
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
