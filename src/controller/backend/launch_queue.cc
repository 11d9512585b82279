#include "controller/backend/launch_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace muster {

void LaunchQueue::add(const LaunchPart& part, UserId user, std::size_t bytes) {
  if (!parts_.try_emplace(part, Entry{user, bytes}).second) return;
  Line& line = lines_[user];
  auto& waiting = line.waiting[part.node];
  waiting.push_back(part);
  if (waiting.size() > 1 || under_way_.contains(part.node)) return;
  line.ready.push_back(part.node);
  if (line.ready.size() == 1) turns_.push_back(user);
}

std::optional<LaunchPart> LaunchQueue::next(TimePoint now) {
  give_up_the_old(now);
  if (turns_.empty()) return std::nullopt;
  const UserId user = turns_.front();
  Line& line = lines_.at(user);
  const NodeIndex node = line.ready.front();
  auto& waiting = line.waiting.at(node);
  const LaunchPart part = waiting.front();
  Entry& entry = parts_.at(part);
  if (bytes_ > 0 && bytes_ + entry.bytes > bounds_.under_way) return std::nullopt;
  entry.stage = Stage::kTurn;
  under_way_.emplace(node, UnderWay{part, now, entry.bytes});
  bytes_ += entry.bytes;
  by_age_.emplace_back(now, part);
  waiting.pop_front();
  if (waiting.empty()) line.waiting.erase(node);
  turns_.pop_front();
  line.ready.pop_front();
  if (!line.ready.empty()) turns_.push_back(user);
  if (line.waiting.empty()) lines_.erase(user);
  // Others may have had the node before them as well.
  for (auto& [other, others] : lines_) {
    const auto found = std::ranges::find(others.ready, node);
    if (found == others.ready.end()) continue;
    others.ready.erase(found);
    if (others.ready.empty()) std::erase(turns_, other);
  }
  return part;
}

/// What a node has had for long without receiving it holds up nobody else any more.
void LaunchQueue::give_up_the_old(TimePoint now) {
  while (!by_age_.empty() && now - by_age_.front().first >= bounds_.patience) {
    const LaunchPart part = by_age_.front().second;
    by_age_.pop_front();
    const auto found = under_way_.find(part.node);
    if (found == under_way_.end() || found->second.part != part) continue;
    bytes_ -= std::exchange(found->second.bytes, 0);
  }
}

void LaunchQueue::sent(const LaunchPart& part, TimePoint now) {
  Entry& entry = parts_.at(part);
  CHECK(entry.stage != Stage::kWaiting);
  entry.stage = Stage::kSent;
  under_way_.at(part.node).since = now;
}

void LaunchQueue::received(const LaunchPart& part) {
  const auto found = under_way_.find(part.node);
  if (found == under_way_.end() || found->second.part != part) return;
  bytes_ -= found->second.bytes;
  under_way_.erase(found);
  parts_.erase(part);
  set_free(part.node);
}

void LaunchQueue::set_free(NodeIndex node) {
  for (auto& [user, line] : lines_) {
    if (!line.waiting.contains(node)) continue;
    line.ready.push_back(node);
    if (line.ready.size() == 1) turns_.push_back(user);
  }
}

void LaunchQueue::forget(NodeIndex node) {
  if (const auto found = under_way_.find(node); found != under_way_.end()) {
    bytes_ -= found->second.bytes;
    under_way_.erase(found);
  }
  std::erase_if(parts_, [&](const auto& one) { return one.first.node == node; });
  for (auto line = lines_.begin(); line != lines_.end();) {
    auto& [user, one] = *line;
    one.waiting.erase(node);
    if (std::erase(one.ready, node) > 0 && one.ready.empty()) std::erase(turns_, user);
    line = one.waiting.empty() ? lines_.erase(line) : std::next(line);
  }
}

bool LaunchQueue::is_waiting(const LaunchPart& part) const {
  const auto found = parts_.find(part);
  return found != parts_.end() && found->second.stage != Stage::kSent;
}

std::vector<NodeIndex> LaunchQueue::unsent_turns(const StepId& step) const {
  std::vector<NodeIndex> nodes;
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
    const auto busy = under_way_.find(part->first.node);
    const bool is_nodes_doing = part->second.stage == Stage::kWaiting && busy != under_way_.end();
    latest = std::max(latest.value_or(TimePoint()), is_nodes_doing ? busy->second.since : now);
  }
  return latest;
}

}  // namespace muster
