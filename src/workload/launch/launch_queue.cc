// Two queues in one: each node has its users with waiting parts (Node::turns), and of the nodes
// that are told nothing at present each belongs, in ready_, to the user whose turn it is there.
// next() takes the first ready node of the first user. The stages of a part are waiting, turn,
// sent; received() or forget() removes it.
#include "workload/launch/launch_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

void LaunchQueue::add(const LaunchPart& part, UserId user, std::size_t bytes) {
  if (!parts_.try_emplace(part, Entry{bytes}).second) return;
  Node& node = nodes_[part.node];
  auto& waiting = node.waiting[user];
  waiting.push_back(part);
  // The user is in the node's turns already.
  if (waiting.size() > 1) return;
  node.turns.push_back(user);
  if (node.turns.size() == 1) make_ready(part.node);
}

/// Whose turn it is there may go on, if the node is told nothing at present.
// Nothing happens where something is under way: received() comes here again.
void LaunchQueue::make_ready(NodeIndex index) {
  Node& node = nodes_.at(index);
  if (node.under_way || node.turns.empty()) return;
  const UserId user = node.turns.front();
  node.ready = ++ready_count_;
  auto& nodes = ready_[user];
  nodes.emplace(node.ready, index);
  if (nodes.size() == 1) turns_.push_back(user);
}

void LaunchQueue::make_unready(Node& node) {
  if (node.ready == 0) return;
  const auto user = ready_.find(node.turns.front());
  user->second.erase(std::exchange(node.ready, 0));
  if (!user->second.empty()) return;
  std::erase(turns_, user->first);
  ready_.erase(user);
}

void LaunchQueue::drop_if_idle(NodeIndex index) {
  const auto node = nodes_.find(index);
  if (!node->second.under_way && node->second.turns.empty()) nodes_.erase(node);
}

std::optional<LaunchPart> LaunchQueue::next(TimePoint now) {
  give_up_the_old(now);
  if (turns_.empty()) return std::nullopt;
  const UserId owner = turns_.front();
  const NodeIndex index = ready_.at(owner).begin()->second;
  Node& node = nodes_.at(index);
  auto& waiting = node.waiting.at(owner);
  const LaunchPart part = waiting.front();
  Entry& entry = parts_.at(part);
  // One that is larger than all may be together goes when nothing else is under way.
  if (bytes_ > 0 && bytes_ + entry.bytes > bounds_.under_way) return std::nullopt;
  entry.stage = Stage::kTurn;
  make_unready(node);
  if (ready_.contains(owner)) {  // else it is no longer in `turns_`
    turns_.pop_front();
    turns_.push_back(owner);
  }
  node.turns.pop_front();
  waiting.pop_front();
  if (!waiting.empty()) node.turns.push_back(owner);
  if (waiting.empty()) node.waiting.erase(owner);
  node.under_way = UnderWay{part, now, entry.bytes};
  bytes_ += entry.bytes;
  by_age_.emplace_back(now, part);
  return part;
}

/// What a node has had for long without receiving it holds up nobody else any more.
void LaunchQueue::give_up_the_old(TimePoint now) {
  while (!by_age_.empty() && now - by_age_.front().first >= bounds_.timeout) {
    const LaunchPart part = by_age_.front().second;
    by_age_.pop_front();
    const auto node = nodes_.find(part.node);
    // The part may have been received since: then the node is idle, or told another one.
    if (node == nodes_.end() || !node->second.under_way) continue;
    UnderWay& under_way = *node->second.under_way;
    // Only the bytes are given back: the node itself is told nothing else before this part is
    // received.
    if (under_way.part == part) bytes_ -= std::exchange(under_way.bytes, 0);
  }
}

void LaunchQueue::sent(const LaunchPart& part, TimePoint now) {
  Entry& entry = parts_.at(part);
  CHECK(entry.stage != Stage::kWaiting);
  entry.stage = Stage::kSent;
  nodes_.at(part.node).under_way->since = now;
}

void LaunchQueue::received(const LaunchPart& part) {
  // A late word about a part that is not under way there any more changes nothing.
  const auto node = nodes_.find(part.node);
  if (node == nodes_.end() || !node->second.under_way || node->second.under_way->part != part)
    return;
  bytes_ -= node->second.under_way->bytes;
  node->second.under_way.reset();
  parts_.erase(part);
  make_ready(part.node);
  drop_if_idle(part.node);
}

void LaunchQueue::forget(NodeIndex index) {
  const auto found = nodes_.find(index);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  make_unready(node);
  if (node.under_way) {
    bytes_ -= node.under_way->bytes;
    parts_.erase(node.under_way->part);
  }
  for (const auto& [user, parts] : node.waiting) {
    for (const LaunchPart& part : parts) parts_.erase(part);
  }
  nodes_.erase(found);
}

bool LaunchQueue::is_waiting(const LaunchPart& part) const {
  const auto found = parts_.find(part);
  return found != parts_.end() && found->second.stage != Stage::kSent;
}

std::vector<NodeIndex> LaunchQueue::unsent_turns(const StepId& step) const {
  std::vector<NodeIndex> nodes;
  // Parts are ordered by step first, so that those of one stand together.
  for (auto part = parts_.lower_bound({step, NodeIndex(0)});
       part != parts_.end() && part->first.step == step; ++part) {
    if (part->second.stage == Stage::kTurn) nodes.push_back(part->first.node);
  }
  return nodes;
}

std::optional<TimePoint> LaunchQueue::held_up_since(const StepId& step, TimePoint now) const {
  std::optional<TimePoint> latest;
  for (auto part = parts_.lower_bound({step, NodeIndex(0)});
       part != parts_.end() && part->first.step == step; ++part) {
    if (part->second.stage == Stage::kSent) continue;
    const auto& busy = nodes_.at(part->first.node).under_way;
    const bool is_counted =
        busy && (busy->part == part->first || parts_.at(busy->part).stage == Stage::kSent);
    latest = std::max(latest.value_or(TimePoint()), is_counted ? busy->since : now);
  }
  return latest;
}

}  // namespace muster
