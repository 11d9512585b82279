// An answer of Timeline::earliest_start, with what it came from, so that the next pass can tell
// whether it still holds, and begin its search late where it does not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/placement/node_set.h"
#include "sched/snapshot/snapshot.h"
#include "sched/timeline/timeline.h"

namespace muster::sched {

/// The earliest start of jobs of one need and time limit. Requires: made and asked under one
/// configuration, for one need and limit.
class WindowMemo {
 public:
  /// What the answer depends on besides the need.
  struct Question {
    const ClusterSnapshot& snapshot;
    const Timeline& timeline;
    const NodeSet& allowed;
    const NodeSet& started_on;           ///< by this pass: the snapshot does not know of it yet
    Duration duration;                   ///< the jobs' time limit
    std::vector<ReservedRoom> reserved;  ///< by windows, on `allowed`
  };

  /// Stores what a search found now; nothing is stored while a job is overdue.
  void store(Question question, const std::optional<FuturePlacement>& answer, SearchMemory memory);

  /// True when a search would give the same answer: nothing is overdue then or now, no allowed node
  /// has changed since, the same windows lie ahead and reach as far into the job's time. Cost:
  /// O(changes since + reserved rooms + nodes / 64).
  bool holds_for(const Question& question) const;
  const std::optional<FuturePlacement>& answer() const { return answer_; }

  /// Removes from the memo what a search may begin with, and returns it. Nullopt: the search must
  /// not remember either, because a job is overdue.
  std::optional<SearchMemory> extract_memory(const Question& question);
  /// Drops the memory of the search; the answer stays.
  void forget_search() {
    early_.reset();
    late_.reset();
  }

 private:
  bool is_comparable(const Question& question) const;

  std::uint64_t revision_ = 0;  ///< the snapshot's; 0: nothing is known
  TimePoint now_;
  NodeSet allowed_;
  std::vector<NodeIndex> uncertain_;  ///< allowed nodes of starts that the snapshot did not know of
  std::vector<ReservedRoom> reserved_;
  std::optional<FuturePlacement> answer_;
  std::optional<SearchCheckpoint> early_;  ///< see SearchMemory
  std::optional<SearchCheckpoint> late_;
};

}  // namespace muster::sched
