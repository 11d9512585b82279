// An answer of Timeline::earliest_start, with what it came from, so that the next pass can tell whether it still holds.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/node_set.h"
#include "sched/snapshot.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// The earliest start of one shape in one partition. Requires: made and asked under one configuration, for one shape; no
/// start of the pass stands on the question's nodes.
class WindowMemo {
 public:
  /// What the answer depends on besides the shape.
  struct Question {
    const ClusterSnapshot& snapshot;
    const Timeline& timeline;
    const NodeSet& allowed;
    Duration duration;            ///< the shape's time limit
    std::vector<KeptRoom> kept;   ///< by windows, on `allowed`
  };

  WindowMemo() = default;
  WindowMemo(Question question, const std::optional<FuturePlacement>& answer);

  /// True when a search would give the same answer: nothing is overdue then or now, no allowed node has changed since, the
  /// same windows lie ahead and reach as far into the job's time. Cost: O(changes since + kept rooms + nodes / 64).
  bool holds_for(const Question& question) const;
  const std::optional<FuturePlacement>& answer() const { return answer_; }

 private:
  std::uint64_t revision_ = 0;  ///< the snapshot's; 0: nothing is known
  TimePoint now_;
  NodeSet allowed_;
  std::vector<KeptRoom> kept_;
  std::optional<FuturePlacement> answer_;
};

}  // namespace muster::sched
