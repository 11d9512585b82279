#include "sched/timeline/end_table.h"

#include <algorithm>

namespace muster::sched {

void EndTable::reset(const ClusterSnapshot& snapshot) {
  ends_.clear();
  nodes_.clear();
  for (const ExpectedEnd& end : snapshot.ends()) {
    if (end.end.is_never()) break;
    for (const NodeAmount& amount : snapshot.running_slot(end.slot).nodes) {
      ends_.push_back(end.end);
      nodes_.push_back(amount.node);
    }
  }
}

void EndTable::update(const ClusterSnapshot& snapshot, const NodeSet& nodes) {
  std::vector<NodeEnd> added;
  nodes.for_each([&](NodeIndex node) {
    for (const NodeShare& share : snapshot.shares_on(node)) {
      const TimePoint end = snapshot.running_slot(share.slot).end;
      if (!end.is_never()) added.push_back({end, node});
    }
  });
  std::ranges::sort(added, {}, &NodeEnd::end);
  std::vector<TimePoint> ends;
  std::vector<NodeIndex> kept;
  ends.reserve(ends_.size() + added.size());
  kept.reserve(ends_.size() + added.size());
  const auto push = [&](TimePoint end, NodeIndex node) {
    ends.push_back(end);
    kept.push_back(node);
  };
  std::size_t next = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (nodes.test(nodes_[i])) continue;
    for (; next < added.size() && added[next].end < ends_[i]; ++next)
      push(added[next].end, added[next].node);
    push(ends_[i], nodes_[i]);
  }
  for (; next < added.size(); ++next) push(added[next].end, added[next].node);
  ends_ = std::move(ends);
  nodes_ = std::move(kept);
}

std::size_t EndTable::count_until(TimePoint time) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, time) - ends_.begin());
}

}  // namespace muster::sched
