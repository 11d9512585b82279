// A pass screens every shape against each of its partitions, makes a lane of what could start
// there, and takes the lanes' jobs in the order of the queue: each starts, is given a window, or
// closes its lane. What depends on the shape and on nodes that have not changed comes from the
// memo.

#include "sched/backfill/pass.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster::sched {

Pass::Pass(const ClusterSnapshot& snapshot, TimePoint now, const PlanOptions& options,
           PassMemo& memo)
    : snapshot_(snapshot),
      now_(now),
      options_(options),
      memo_(memo),
      timeline_(snapshot, now, options),
      started_on_(snapshot.node_count()),
      claimed_(snapshot.node_count()),
      claims_(snapshot.node_count(), 0) {
  plan_.revision = snapshot.revision();
  plan_.now = now;
  plan_.options = options;
  // Nodes, classes and partitions may all be others: nothing of the memo holds.
  if (memo_.config_revision != snapshot.config_revision()) {
    memo_ = {};
    memo_.config_revision = snapshot.config_revision();
    memo_.static_order = static_order(snapshot.inventory());
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
  const std::span<const Shape> shapes = snapshot_.shapes();
  for (std::uint32_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    if (shape.serial == 0) continue;
    for (const PartitionIndex partition : shape.partitions) {
      // Outcomes come out in the order that plan.h promises, which reasons.cc searches by halves.
      const PendingReason reason = refusal(shape, partition);
      plan_.outcomes.push_back({ShapeIndex(i), shape.serial, partition, reason});
      if (reason == PendingReason::kNone && !shape.ready.empty())
        enter_lane(ShapeIndex(i), partition);
    }
  }
}

PendingReason Pass::refusal(const Shape& shape, PartitionIndex partition) {
  const PendingReason refused = partition_refusal(snapshot_, *shape.demand_in(partition).request,
                                                  shape.time_limit, partition);
  if (refused != PendingReason::kNone) return refused;
  PassMemo::Screened& known = memo_.screened[{shape.serial, partition}];
  if (known.config_revision != snapshot_.config_revision()) {
    known = {};
    known.config_revision = snapshot_.config_revision();
    // Of the nodes in whatever state: only a configuration makes what is impossible possible.
    known.is_possible = can_run(shape, partition, members_of(shape, partition));
  }
  if (!known.is_possible) return PendingReason::kBadConstraints;
  if (known.usable_number != memo_.usable_number) {
    known.usable_number = memo_.usable_number;
    known.allowed = std::make_shared<const NodeSet>(members_of(shape, partition) & memo_.usable);
    known.is_available = can_run(shape, partition, *known.allowed);
    // The set is shared with lanes of this pass alone, so a new one takes its place whole.
    known.open = nullptr;
  }
  if (known.is_available) return PendingReason::kNone;
  // Slurm's ReqNodeNotAvail is for nodes asked for by name; of the others any might do.
  return shape.demand.required_count > 0 && !snapshot_.usable().contains(shape.demand.required)
             ? PendingReason::kReqNodeNotAvail
             : PendingReason::kNodesUnavailable;
}

/// Its nodes there, in service or not. Requires: the partition is there.
NodeSet Pass::members_of(const Shape& shape, PartitionIndex partition) const {
  return shape.demand_in(partition).feasible_nodes & snapshot_.partition_nodes(partition);
}

bool Pass::can_run(const Shape& shape, PartitionIndex partition, const NodeSet& allowed) const {
  const Demand& demand = shape.demand_in(partition);
  // By what nodes have when empty, and in an order that does not depend on what is free: the
  // verdict holds as long as the configuration does.
  const ResourceRequest& request = *demand.request;
  const Fitter fitter(snapshot_.inventory(), demand,
                      node_rule(snapshot_.inventory(), request, partition));
  // Undecided counts as possible: a job that is called impossible would never be tried again.
  Seeking how{Effort::kVerdict};
  return place(fitter, WholeCluster(snapshot_.inventory()),
               node_limits(request, snapshot_.partition(partition)).limits, memo_.static_order,
               allowed, &how)
             .has_value() ||
         how.is_undecided;
}

/// Requires: refusal() found no reason against it.
void Pass::enter_lane(ShapeIndex index, PartitionIndex partition) {
  const Shape& shape = snapshot_.shape(index);
  // Partitions of one tier share a lane, because their jobs are compared by rank alone.
  const std::uint32_t tier = snapshot_.partition(partition).priority_tier;
  // Shapes are screened one after the other: the lanes of this one stand at the end.
  auto lane = lanes_.end();
  for (auto it = lanes_.end(); it != lanes_.begin() && std::prev(it)->shape == index; --it) {
    if (std::prev(it)->tier == tier) lane = std::prev(it);
  }
  if (lane == lanes_.end()) {
    lane = lanes_.insert(
        lane, Lane{index, &shape, tier, {}, shape.ready.begin(), shape.ready.begin(), false});
  }
  const Demand& demand = shape.demand_in(partition);
  const NodeRule rule = node_rule(snapshot_.inventory(), *demand.request, partition);
  PassMemo::Screened& known = memo_.screened.at({shape.serial, partition});
  lane->parts.push_back({partition, &known, known.allowed,
                         node_limits(*demand.request, snapshot_.partition(partition)).limits,
                         Fitter(snapshot_.inventory(), demand, rule)});
  find_room(lane->parts.back());
}

/// Kept from pass to pass: only nodes that changed are looked at again.
void Pass::find_room(Lane::Part& part) {
  PassMemo::Screened& known = *part.known;
  // The memo's `room` is by the snapshot, which counts overdue jobs as running.
  if (options_.is_overdue_free) {
    // More than there is: every node is then weighed as it is placed.
    part.room = part.allowed;
    part.room_count = part.room->count();
    return;
  }
  const NodeSet& members = snapshot_.partition_nodes(part.partition);
  const NodeSet& feasible_nodes = part.fitter.demand().feasible_nodes;
  // By the snapshot and not by the timeline: windows and this pass's starts only take away from
  // it.
  const auto has_room = [&](NodeIndex node) {
    return feasible_nodes.test(node) && members.test(node) &&
           candidate_at(part.fitter, node, snapshot_.free().at(node)).has_value();
  };
  // A set that was right at another revision than the last pass's has missed changes.
  if (is_change_known_ && known.room_revision == memo_.revision) {
    for (const NodeIndex node : changed_) {
      const bool has_now = has_room(node);
      if (has_now == known.room.test(node)) continue;
      known.room.put(node, has_now);
      known.open = nullptr;
    }
  } else {
    known.room = NodeSet(snapshot_.node_count());
    (feasible_nodes & members).for_each([&](NodeIndex node) {
      known.room.put(node, has_room(node));
    });
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
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    if (!begin_again(lanes_[i])) continue;
    lanes_[i].is_blocked = false;
    // Without windows a node that seemed dead may take tasks again.
    for (Lane::Part& part : lanes_[i].parts) {
      part.live.reset();
      part.is_sorted = false;
    }
    push(i);
  }
}

void Pass::run_queue() {
  while (!heap_.empty() && !must_restart_) turn(pop());
}

/// Moves past jobs that another lane of the shape has started. False: no job is left.
bool Pass::skip_to_startable(Lane& lane) const {
  for (; lane.next != lane.shape_ref->ready.end(); ++lane.next) {
    const auto found = progress_.find(lane.next->job);
    if (found == progress_.end()) return true;
    // Of an array several elements may start in one pass, as many as its throttle lets run.
    if (found->second.started < snapshot_.find_pending(lane.next->job)->startable_count())
      return true;
  }
  return false;
}

/// To the first job that is left. What has started stays started, so that each job is skipped once,
/// however often the queue begins again. False: no job is left.
bool Pass::begin_again(Lane& lane) const {
  lane.next = lane.first;
  const bool is_any_left = skip_to_startable(lane);
  lane.first = lane.next;
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

void Pass::push(std::uint32_t lane) {
  if (!skip_to_startable(lanes_[lane])) return;
  heap_.push_back({rank_of(lanes_[lane]), lanes_[lane].shape_ref->time_limit, lane});
  std::ranges::push_heap(
      heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
}

std::uint32_t Pass::pop() {
  std::ranges::pop_heap(
      heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
  const std::uint32_t lane = heap_.back().lane;
  heap_.pop_back();
  return lane;
}

void Pass::turn(std::uint32_t index) {
  Lane& lane = lanes_[index];
  const Rank looked_at = *lane.next;
  // Another lane may have taken the job since this one was queued: then it queues again with its
  // next.
  if (!skip_to_startable(lane)) return;
  if (*lane.next != looked_at) return push(index);
  // Before the work, for the record that outlives a crash in it.
  if (options_.placing != nullptr) *options_.placing = lane.next->job;
  // A lane that started something queues again: with the next element, or with its next job.
  if (!lane.is_blocked && try_start_beside_own_windows(lane)) return push(index);
  lane.is_blocked = true;
  if (!may_reserve(lane)) return;
  reserve(lane);
  ++lane.next;
  if (!is_tail_) {
    is_tail_ = true;
    // The order of the rest changes once, from rank to the tail's.
    std::ranges::make_heap(
        heap_, [this](const QueuePosition& a, const QueuePosition& b) { return goes_later(a, b); });
  }
  if (may_reserve(lane)) push(index);
}

bool Pass::try_start(Lane& lane) {
  // As the job named them: at equal starts the first partition wins.
  for (Lane::Part& part : lane.parts) {
    auto placement = place_now(lane, part);
    if (!placement) continue;
    commit(lane, part, std::move(*placement));
    return true;
  }
  return false;
}

/// Within a pass room only shrinks for a lane, so that a node found dead stays dead and is not
/// looked at again.
std::optional<std::vector<NodeAmount>> Pass::place_now(const Lane& lane, Lane::Part& part) {
  constexpr std::size_t kDeadMax = 64;
  // Cheap refusals first: most lanes of a full cluster end here.
  if (part.room_count < part.limits.min) return std::nullopt;
  if (!part.live) part.live = *part.room;
  if (!part.is_sorted || part.dead_count > kDeadMax) {
    part.order = memo_.order.sorted(*part.live);
    part.is_sorted = true;
    part.dead_count = 0;
  }
  if (part.order.size() < part.limits.min) return std::nullopt;
  // A start must leave alone what windows keep until the job's limit: this makes it backfilling.
  const Timeline::Interval interval(timeline_, now_ + lane.shape_ref->time_limit);
  std::vector<NodeIndex> dead;
  // A pass that has spent its effort still starts what is easy to place.
  Seeking how{timeline_.is_effort_left() ? Effort::kFull : Effort::kQuick, &dead};
  // Without backfilling nobody starts on nodes that better ranked jobs wait for: as many of them as
  // the reservation depth says close a node to those behind.
  auto placement = options_.is_backfill ? place_widest(part.fitter, interval, part.limits,
                                                       part.order, *part.live, &how)
                                        : place_widest(part.fitter, interval, part.limits,
                                                       part.order, *part.live - claimed_, &how);
  timeline_.spend(how.cost);
  // Out of `live` at once; out of the order when that is made anew.
  for (const NodeIndex node : dead) part.live->reset(node);
  part.dead_count += dead.size();
  return placement;
}

void Pass::commit(const Lane& lane, const Lane::Part& part, std::vector<NodeAmount> nodes) {
  const JobId job = lane.next->job;
  const TimePoint end = now_ + lane.shape_ref->time_limit;
  Progress& progress = progress_[job];
  ++progress.started;
  // Windows that were kept for the job are in the way of others for nothing: the queue begins again
  // without them.
  must_restart_ = progress.has_window;
  plan_.starts.push_back({job, part.partition, end, std::move(nodes)});
  for (const NodeAmount& amount : plan_.starts.back().nodes) started_on_.set(amount.node);
  timeline_.start(plan_.starts.back());
}

bool Pass::may_reserve(Lane& lane) const {
  // Bounds on work: a window costs a search over everything that is expected to end.
  if (options_.reservation_depth == 0 || plan_.windows.size() >= options_.reservation_max)
    return false;
  return std::ranges::any_of(lane.parts, [this](Lane::Part& part) {
    // One witness suffices. Claims only grow within a round: another is looked for when that one
    // is claimed.
    const bool is_known = part.unclaimed && !claimed_.test(*part.unclaimed);
    if (!is_known) part.unclaimed = part.allowed->first_outside(claimed_);
    return part.unclaimed.has_value();
  });
}

/// Most of a pass is this search, and most events concern few nodes: an answer is used again while
/// nothing that it came from has changed, and else the search begins where the last one came near
/// its end.
std::optional<FuturePlacement> Pass::earliest_start(const Lane& lane, const Lane::Part& part) {
  const Duration duration = lane.shape_ref->time_limit;
  const ShapeKey key{lane.shape_ref->serial, part.partition};
  WindowMemo& known = part.known->window;
  WindowMemo::Question question{snapshot_,   timeline_, *part.allowed,
                                started_on_, duration,  timeline_.reserved_on(*part.allowed)};
  // A checkpoint has the size of all nodes: the first searches, for the jobs that are due first,
  // may leave one.
  constexpr std::size_t kCheckpointMax = 32;
  if (searched_.size() < kCheckpointMax) searched_.insert(key);
  if (known.holds_for(question)) return known.answer();
  auto memory = searched_.contains(key) ? known.extract_memory(question) : std::nullopt;
  const StartQuestion wanted{part.fitter,   part.limits, memo_.static_order,
                             *part.allowed, *part.room,  duration};
  auto found = timeline_.earliest_start(wanted, memory ? &*memory : nullptr);
  // Of a search that was broken off the next pass makes more.
  if (timeline_.is_effort_left())
    known.store(std::move(question), found, memory ? std::move(*memory) : SearchMemory{});
  return found;
}

/// What the job was promised in higher tiers is not in its own way in this one.
bool Pass::try_start_beside_own_windows(Lane& lane) {
  const JobId job = lane.next->job;
  const auto progress = progress_.find(job);
  if (progress == progress_.end() || !progress->second.has_window) return try_start(lane);
  std::vector<const Window*> own;
  // Copies of pointers into plan_.windows: nothing is pushed there before they are used.
  for (const Window& window : plan_.windows) {
    if (window.job == job) own.push_back(&window);
  }
  // Released first, as the job may need just the room that they keep.
  for (const Window* window : own) timeline_.release(*window);
  if (try_start(lane)) return true;  // the queue begins again, without any window
  for (const Window* window : own) timeline_.reserve(*window);
  return false;
}

/// A job has a window in a lower tier as well when it begins earlier there than in those above: it
/// is promised both, as in Slurm, so that nobody who was ranked between the two has been put off in
/// vain.
void Pass::reserve(const Lane& lane) {
  std::optional<FuturePlacement> best;
  const Lane::Part* best_part = nullptr;
  for (const Lane::Part& part : lane.parts) {
    auto found = earliest_start(lane, part);
    if (!found || found->start.is_never() || (best && best->start <= found->start)) continue;
    best = std::move(found);
    best_part = &part;
  }
  if (!best) return;
  const Window* earlier = plan_.window_of(lane.next->job);
  // A window that begins no earlier than one in a higher tier would promise nothing.
  if (earlier != nullptr && earlier->start <= best->start) return;
  const TimePoint end = best->start + lane.shape_ref->time_limit;
  progress_[lane.next->job].has_window = true;
  plan_.windows.push_back({lane.next->job, rank_of(lane), best_part->partition, best->start, end,
                           std::move(best->nodes)});
  timeline_.reserve(plan_.windows.back());
  // Also nodes that the window does not use: whoever waits for any of them waits behind this job.
  claim(nodes_of(lane));
}

NodeSet Pass::nodes_of(const Lane& lane) const {
  NodeSet nodes(snapshot_.node_count());
  for (const Lane::Part& part : lane.parts) nodes |= *part.allowed;
  return nodes;
}

void Pass::claim(const NodeSet& nodes) {
  nodes.for_each([this](NodeIndex node) {
    if (++claims_[node.value()] >= options_.reservation_depth) claimed_.set(node);
  });
}

void Pass::finish() {
  plan_.effort = timeline_.spent();
  // What still waits, for fast_path.h: whose turn it is when room appears.
  const std::span<const Shape> shapes = snapshot_.shapes();
  for (std::uint32_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (!begin_again(lane)) continue;
    const Successor successor{rank_of(lane), lane.shape, shapes[lane.shape.value()].serial};
    plan_.successors.push_back(successor);
  }
  std::ranges::sort(plan_.successors, {}, &Successor::rank);
  forget_searches();
  prune_memo();
}

void Pass::forget_searches() {
  for (const auto& key : memo_.searched) {
    const auto found = searched_.contains(key) ? memo_.screened.end() : memo_.screened.find(key);
    if (found != memo_.screened.end()) found->second.window.forget_search();
  }
  memo_.searched = std::move(searched_);
}

/// Forgets shapes that are gone, once they are the larger part.
void Pass::prune_memo() {
  // Twice and some more: so that most passes forget nothing, and the memo stays within a factor of
  // what waits.
  if (memo_.screened.size() <= 2 * plan_.outcomes.size() + 256) return;
  decltype(memo_.screened) kept;
  for (const ShapeOutcome& outcome : plan_.outcomes) {
    auto node = memo_.screened.extract({outcome.serial, outcome.partition});
    if (!node.empty()) kept.insert(std::move(node));
  }
  memo_.screened = std::move(kept);
}

}  // namespace muster::sched
