// A pass screens every need, makes strands of the lanes that could start, and takes their jobs in
// the order of the queue: each starts, is given a window, or closes its strand. What depends on the
// need and on nodes that have not changed comes from the memo.

#include "sched/backfill/pass.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::sched {

Pass::Pass(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
           PassMemo& memo, std::span<const Window> kept)
    : snapshot_(snapshot),
      now_(now),
      options_(options),
      memo_(memo),
      timeline_(snapshot, now, options, &memo.outlooks),
      claimed_(snapshot.node_count()),
      claimed_once_(snapshot.node_count()),
      claims_(snapshot.node_count(), 0) {
  plan_.revision = snapshot.revision();
  plan_.now = now;
  plan_.options = options;
  for (const Window& window : kept) kept_.push_back(&window);
  std::ranges::stable_sort(kept_, {}, &Window::job);
  if (!kept.empty()) timeline_.expect_few_searches();
  // Nodes, classes and partitions may all be others: nothing of the memo holds.
  if (memo_.config_revision != snapshot.config_revision()) {
    memo_ = PassMemo();
    memo_.config_revision = snapshot.config_revision();
    memo_.static_order = static_order(snapshot.inventory());
    memo_.outlooks = Outlooks(snapshot.node_count(), snapshot.free().kind_count());
  }
  // The number rises only where the set differs: conditions often change without changing who is
  // usable.
  if (memo_.usable_number == 0 || memo_.usable != snapshot.usable()) {
    memo_.usable = snapshot.usable();
    ++memo_.usable_number;
  }
  refresh_order();
}

void Pass::refresh_order() {
  // Overdue jobs that count as gone are free in the timeline and not in the snapshot: no change of
  // a node tells of them.
  const auto changes = snapshot_.changed_since(memo_.revision);
  is_change_known_ = memo_.revision > 0 && changes.has_value() && !options_.is_overdue_free;
  if (is_change_known_) {
    NodeSet nodes(snapshot_.node_count());
    for (const auto& [revision, node] : *changes) nodes.set(node);
    changed_ = nodes.first(snapshot_.node_count());
    memo_.order.update(snapshot_.inventory(), timeline_.free(), changed_);
  } else {
    memo_.order = BestFitOrder(snapshot_.inventory(), timeline_.free());
  }
}

Plan Pass::run() {
  screen();
  memo_.outlooks.begin_pass(snapshot_, now_, options_, is_change_known_ ? &changed_ : nullptr);
  // Each round begins with one start more than the last, so that the rounds end.
  do {
    restart_queue();
    run_queue();
  } while (must_restart_);
  finish();
  // With overdue jobs counted as gone the order is not that of the snapshot, and nothing is kept.
  memo_.revision = options_.is_overdue_free ? 0 : snapshot_.revision();
  return std::move(plan_);
}

void Pass::screen() {
  const std::span<const Need> needs = snapshot_.needs();
  memo_.screened.resize(needs.size());
  failed_from_.resize(needs.size());
  refusals_.resize(needs.size(), PendingReason::kNone);
  for (std::uint32_t i = 0; i < needs.size(); ++i) {
    if (needs[i].serial == 0) continue;
    // Outcomes come out in the order that plan.h promises, which is searched by halves.
    refusals_[i] = refusal(NeedIndex(i));
    plan_.outcomes.push_back({NeedIndex(i), needs[i].serial, refusals_[i]});
  }
  const std::span<const Lane> lanes = snapshot_.lanes();
  for (std::uint32_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i].ready.empty()) enter_lane(LaneIndex(i));
  }
}

PendingReason Pass::refusal(NeedIndex index) {
  const Need& need = snapshot_.need(index);
  if (need.refusal != PendingReason::kNone) return need.refusal;
  PassMemo::Screened& known = memo_.screened[index.value()];
  if (known.serial != need.serial) {
    known = {};
    known.serial = need.serial;
    // Of the nodes in whatever state: only a configuration makes what is impossible possible.
    known.is_possible = can_run(need, need.nodes());
  }
  if (!known.is_possible) return PendingReason::kBadConstraints;
  if (known.usable_number != memo_.usable_number) {
    known.usable_number = memo_.usable_number;
    known.allowed = std::make_shared<const NodeSet>(need.nodes() & memo_.usable);
    known.is_available = can_run(need, *known.allowed);
    // The set is shared with strands of this pass alone, so a new one takes its place whole.
    known.open = nullptr;
  }
  if (known.is_available) return PendingReason::kNone;
  // Slurm's ReqNodeNotAvail is for nodes asked for by name; of the others any might do.
  return need.demand.required_count > 0 && !snapshot_.usable().contains(need.demand.required)
             ? PendingReason::kReqNodeNotAvail
             : PendingReason::kNodesUnavailable;
}

bool Pass::can_run(const Need& need, const NodeSet& allowed) const {
  // By what nodes have when empty, and in an order that does not depend on what is free: the
  // verdict holds as long as the configuration does. Undecided counts as possible: a job that is
  // called impossible would never be tried again.
  Seeking how{Effort::kVerdict};
  return place(need.fitter(snapshot_.inventory()), WholeCluster(snapshot_.inventory()), need.limits,
               memo_.static_order, allowed, &how)
             .has_value() ||
         how.is_undecided;
}

void Pass::enter_lane(LaneIndex index) {
  const Lane& lane = snapshot_.lane(index);
  for (const NeedIndex need : lane.needs) {
    const bool is_taken = refusals_[need.value()] == PendingReason::kNone &&
                          snapshot_.need(need).refusal_of(lane.time_limit) == PendingReason::kNone;
    if (is_taken) enter_strand(index, need);
  }
}

/// Requires: nothing but room is missing for the need.
void Pass::enter_strand(LaneIndex index, NeedIndex need_index) {
  const Need& need = snapshot_.need(need_index);
  const Lane& lane = snapshot_.lane(index);
  // Partitions of one tier share a strand, because their jobs are compared by rank alone.
  const std::uint32_t tier = snapshot_.partition(need.partition).priority_tier;
  // Lanes enter one after the other: the strands of this one stand at the end.
  auto strand = strands_.end();
  for (auto it = strands_.end(); it != strands_.begin() && std::prev(it)->index == index; --it) {
    if (std::prev(it)->tier == tier) strand = std::prev(it);
  }
  if (strand == strands_.end()) {
    strand = strands_.insert(
        strand, Strand{index, &lane, tier, {}, lane.ready.begin(), lane.ready.begin(), false});
  }
  PassMemo::Screened& known = memo_.screened[need_index.value()];
  strand->parts.push_back(
      {need_index, &need, &known, known.allowed, need.fitter(snapshot_.inventory())});
  find_room(strand->parts.back());
}

/// Kept from pass to pass: only nodes that changed are looked at again.
void Pass::find_room(Strand::Part& part) {
  PassMemo::Screened& known = *part.known;
  // The memo's `room` is by the snapshot, which counts overdue jobs as running.
  if (options_.is_overdue_free) {
    // More than there is: every node is then weighed as it is placed.
    part.room = part.allowed;
    part.room_count = part.room->count();
    return;
  }
  const NodeSet& nodes = part.need->nodes();
  // By the snapshot and not by the timeline: windows and this pass's starts only take away from
  // it.
  const auto has_room = [&](NodeIndex node) {
    return nodes.test(node) &&
           candidate_at(part.fitter, node, snapshot_.free().at(node)).has_value();
  };
  const bool is_right = known.room_revision == snapshot_.revision();  // by another lane of the need
  // A set that was right at another revision than the last pass's has missed changes.
  if (!is_right && is_change_known_ && known.room_revision == memo_.revision) {
    for (const NodeIndex node : changed_) {
      const bool has_now = has_room(node);
      if (has_now == known.room.test(node)) continue;
      known.room.put(node, has_now);
      known.open = nullptr;
    }
  } else if (!is_right) {
    known.room = NodeSet(snapshot_.node_count());
    nodes.for_each([&](NodeIndex node) { known.room.put(node, has_room(node)); });
    known.open = nullptr;
  }
  known.room_revision = snapshot_.revision();
  if (known.open == nullptr) {
    known.open = std::make_shared<const NodeSet>(known.room & *known.allowed);
    known.open_count = known.open->count();
  }
  part.room = known.open;
  part.room_count = known.open_count;
}

/// Begins the queue again with the starts decided so far and no windows.
void Pass::restart_queue() {
  must_restart_ = false;
  is_tail_ = false;
  timeline_.clear_windows();
  plan_.windows.clear();
  // Starts stay, so that what was promised to nobody else is not decided anew.
  std::ranges::fill(claims_, 0U);
  claimed_ = NodeSet(snapshot_.node_count());
  for (auto& [job, progress] : progress_) progress.has_window = false;
  heap_.clear();
  // Without windows a job that did not start may, and a node that seemed dead may take tasks again.
  std::ranges::fill(failed_from_, std::nullopt);
  for (std::uint32_t i = 0; i < strands_.size(); ++i) {
    if (!begin_again(strands_[i])) continue;
    strands_[i].is_blocked = false;
    for (Strand::Part& part : strands_[i].parts) {
      part.live.reset();
      part.is_sorted = false;
    }
    push(i);
  }
}

void Pass::run_queue() {
  while (!heap_.empty() && !must_restart_) turn(pop());
}

/// Moves past jobs that another strand of the lane has started. False: no job is left.
bool Pass::skip_to_startable(Strand& strand) const {
  for (; strand.next != strand.lane->ready.end(); ++strand.next) {
    const auto found = progress_.find(strand.next->job);
    if (found == progress_.end()) return true;
    // Of an array several elements may start in one pass, as many as its throttle lets run.
    if (found->second.started < snapshot_.find_pending(strand.next->job)->startable_count())
      return true;
  }
  return false;
}

/// To the first job that is left. What has started stays started, so that each job is skipped once,
/// however often the queue begins again. False: no job is left.
bool Pass::begin_again(Strand& strand) const {
  strand.next = strand.first;
  const bool is_any_left = skip_to_startable(strand);
  strand.first = strand.next;
  return is_any_left;
}

bool Pass::goes_later(const QueuePosition& a, const QueuePosition& b) const {
  // SJBF, shortest job first among what is backfilled: Tsafrir, Etsion, Feitelson, IEEE TPDS
  // 18(6), 2007. The first blocked job still has its turn by rank.
  if (is_tail_ && options_.tail_order == TailOrder::kTimeLimit && a.time_limit != b.time_limit) {
    return a.time_limit > b.time_limit;
  }
  return a.rank > b.rank;
}

void Pass::push(std::uint32_t index) {
  Strand& strand = strands_[index];
  if (!skip_to_startable(strand)) return;
  heap_.push_back({rank_of(strand), strand.lane->time_limit, index});
  std::ranges::push_heap(
      heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
}

std::uint32_t Pass::pop() {
  std::ranges::pop_heap(
      heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
  const std::uint32_t strand = heap_.back().strand;
  heap_.pop_back();
  return strand;
}

void Pass::turn(std::uint32_t index) {
  Strand& strand = strands_[index];
  const Rank looked_at = *strand.next;
  // Another strand may have taken the job since this one was queued: then it queues again with its
  // next.
  if (!skip_to_startable(strand)) return;
  if (*strand.next != looked_at) return push(index);
  // Before the work, for the record that outlives a crash in it.
  if (options_.placing != nullptr) *options_.placing = strand.next->job;
  // A strand that started something queues again: with the next element, or with its next job.
  if (!strand.is_blocked && try_start_beside_own_windows(strand)) return push(index);
  strand.is_blocked = true;
  if (!may_reserve(strand)) return;
  const bool has_a_time = reserve(strand);
  ++strand.next;
  if (!is_tail_) {
    is_tail_ = true;
    // The order of the rest changes once, from rank to the tail's.
    std::ranges::make_heap(
        heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
  }
  // Where one never fits, by what is expected to end, or is not sought, none behind it is.
  if (has_a_time && may_reserve(strand)) push(index);
}

bool Pass::try_start(Strand& strand) {
  // As the job named them: at equal starts the first partition wins.
  for (Strand::Part& part : strand.parts) {
    auto placement = place_now(strand, part);
    if (!placement) continue;
    commit(strand, part, std::move(*placement));
    return true;
  }
  return false;
}

/// Room only shrinks within a round, and a longer job meets more windows: where one of the need did
/// not start, no job of the need starts that is as long.
bool Pass::is_known_to_fail(const Strand& strand, const Strand::Part& part) const {
  const std::optional<Duration>& from = failed_from_[part.index.value()];
  // A job is tried without its own windows: it has more room than those that failed.
  return from && strand.lane->time_limit >= *from && !has_window(strand.next->job);
}

bool Pass::has_window(JobId job) const {
  const auto progress = progress_.find(job);
  return progress != progress_.end() && progress->second.has_window;
}

void Pass::remember_failure(const Strand& strand, const Strand::Part& part) {
  std::optional<Duration>& from = failed_from_[part.index.value()];
  from = std::min(from.value_or(strand.lane->time_limit), strand.lane->time_limit);
}

/// Within a pass room only shrinks for a strand, so that a node found dead stays dead and is not
/// looked at again.
std::optional<std::vector<NodeAmount>> Pass::place_now(const Strand& strand, Strand::Part& part) {
  constexpr std::size_t kDeadMax = 1024;
  // Cheap refusals first: most strands of a full cluster end here.
  if (part.room_count < part.need->limits.min || is_known_to_fail(strand, part))
    return std::nullopt;
  if (!part.live) part.live = *part.room;
  if (!part.is_sorted || part.dead_count > kDeadMax) {
    part.order = memo_.order.sorted(*part.live);
    part.is_sorted = true;
    part.dead_count = 0;
  }
  if (part.order.size() < part.need->limits.min) return std::nullopt;
  // A start must leave alone what windows keep until the job's limit: this makes it backfilling.
  const Timeline::Interval interval(timeline_, now_ + strand.lane->time_limit);
  std::vector<NodeIndex> dead;
  // A pass that has spent its effort still starts what is easy to place.
  Seeking how{timeline_.is_effort_left() ? Effort::kFull : Effort::kQuick, &dead};
  // Without backfilling nobody starts on nodes that better ranked jobs wait for: as many of them as
  // the reservation depth says close a node to those behind.
  auto placement = options_.is_backfill ? place_widest(part.fitter, interval, part.need->limits,
                                                       part.order, *part.live, &how)
                                        : place_widest(part.fitter, interval, part.need->limits,
                                                       part.order, *part.live - claimed_, &how);
  timeline_.spend(how.cost);
  if (!placement) remember_failure(strand, part);
  // Out of `live` at once; out of the order when that is made anew.
  for (const NodeIndex node : dead) part.live->reset(node);
  part.dead_count += dead.size();
  return placement;
}

void Pass::commit(const Strand& strand, const Strand::Part& part, std::vector<NodeAmount> nodes) {
  const JobId job = strand.next->job;
  const TimePoint end = now_ + strand.lane->time_limit;
  Progress& progress = progress_[job];
  ++progress.started;
  // Windows that were kept for the job are in the way of others for nothing: the queue begins again
  // without them.
  must_restart_ = progress.has_window;
  plan_.starts.push_back({job, part.need->partition, end, std::move(nodes)});
  timeline_.start(plan_.starts.back());
}

bool Pass::may_reserve(Strand& strand) const {
  // Bounds on work: a window costs a search over everything that is expected to end.
  if (options_.reservation_depth == 0 || plan_.windows.size() >= options_.reservation_max)
    return false;
  return std::ranges::any_of(strand.parts, [this](Strand::Part& part) {
    // One witness suffices. Claims only grow within a round: another is looked for when that one
    // is claimed.
    const bool is_known = part.unclaimed && !claimed_.test(*part.unclaimed);
    if (!is_known) part.unclaimed = part.allowed->first_outside(claimed_);
    return part.unclaimed.has_value();
  });
}

/// What the job was promised in higher tiers is not in its own way in this one.
bool Pass::try_start_beside_own_windows(Strand& strand) {
  const JobId job = strand.next->job;
  if (!has_window(job)) return try_start(strand);
  std::vector<const Window*> own;
  // Copies of pointers into plan_.windows: nothing is pushed there before they are used.
  for (const Window& window : plan_.windows) {
    if (window.job == job) own.push_back(&window);
  }
  // Released first, as the job may need just the room that they keep.
  for (const Window* window : own) timeline_.release(*window);
  if (try_start(strand)) return true;  // the queue begins again, without any window
  for (const Window* window : own) timeline_.reserve(*window);
  return false;
}

/// Who is first on some node has a window however long searches have taken.
bool Pass::may_search(const Strand& strand) const {
  return timeline_.is_search_left() ||
         std::ranges::any_of(strand.parts, [this](const Strand::Part& part) {
           return part.allowed->first_outside(claimed_once_).has_value();
         });
}

bool Pass::does_stand(const Window& window, const Strand& strand, const Strand::Part& part) const {
  const auto is_allowed = [&](const NodeAmount& amount) { return part.allowed->test(amount.node); };
  return window.partition == part.need->partition && window.need == part.need->serial &&
         window.start > now_ && window.end == window.start + strand.lane->time_limit &&
         std::ranges::all_of(window.nodes, is_allowed) && timeline_.has_room_for(window);
}

std::optional<Pass::Promise> Pass::kept_promise(const Strand& strand) const {
  const JobId job = strand.next->job;
  const auto first = std::ranges::lower_bound(kept_, job, {}, &Window::job);
  for (auto window = first; window != kept_.end() && (*window)->job == job; ++window) {
    for (const Strand::Part& part : strand.parts) {
      if (does_stand(**window, strand, part))
        return Promise{&part, FuturePlacement{(*window)->start, (*window)->nodes}};
    }
  }
  return std::nullopt;
}

std::optional<Pass::Promise> Pass::earliest_promise(const Strand& strand) {
  std::optional<Promise> best;
  for (const Strand::Part& part : strand.parts) {
    auto found =
        timeline_.earliest_start({part.fitter, part.need->limits, memo_.static_order, *part.allowed,
                                  strand.lane->time_limit, part.index, part.need->serial});
    if (!found || found->start.is_never() || (best && best->placement.start <= found->start))
      continue;
    best = Promise{&part, std::move(*found)};
  }
  return best;
}

/// A job has a window in a lower tier as well when it begins earlier there than in those above: it
/// is promised both, as in Slurm, so that nobody who was ranked between the two has been put off in
/// vain. False: there is no time at which it could start, or none that may be sought in this pass.
bool Pass::reserve(const Strand& strand) {
  auto promise = kept_promise(strand);
  if (!promise && may_search(strand)) promise = earliest_promise(strand);
  if (!promise) return false;
  const TimePoint start = promise->placement.start;
  const Window* earlier = plan_.window_of(strand.next->job);
  // A window that begins no earlier than one in a higher tier would promise nothing.
  if (earlier != nullptr && earlier->start <= start) return true;
  const Need& need = *promise->part->need;
  progress_[strand.next->job].has_window = true;
  plan_.windows.push_back({strand.next->job, rank_of(strand), need.partition, start,
                           start + strand.lane->time_limit, std::move(promise->placement.nodes),
                           need.serial});
  timeline_.reserve(plan_.windows.back());
  // Also nodes that the window does not use: whoever waits for any of them waits behind this job.
  claim(nodes_of(strand));
  return true;
}

NodeSet Pass::nodes_of(const Strand& strand) const {
  NodeSet nodes(snapshot_.node_count());
  for (const Strand::Part& part : strand.parts) nodes |= *part.allowed;
  return nodes;
}

void Pass::claim(const NodeSet& nodes) {
  claimed_once_ |= nodes;
  nodes.for_each([this](NodeIndex node) {
    if (++claims_[node.value()] >= options_.reservation_depth) claimed_.set(node);
  });
}

void Pass::finish() {
  plan_.effort = timeline_.spent();
  // What still waits, for fast_path.h: whose turn it is when room appears.
  for (Strand& strand : strands_) {
    if (begin_again(strand))
      plan_.successors.push_back({rank_of(strand), strand.index, strand.lane->serial});
  }
  std::ranges::sort(plan_.successors, {}, &Successor::rank);
  memo_.outlooks.forget_unasked();
}

}  // namespace muster::sched
