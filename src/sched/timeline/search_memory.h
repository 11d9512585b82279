// What one search for an earliest start leaves behind, so that the next one for the same job need
// not begin at the beginning: most events concern few nodes, and what all others give back at which
// time is known already.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "sched/placement/amounts.h"
#include "sched/placement/select.h"

namespace muster::sched {

/// How much of a job a set of nodes could carry: nodes, tasks, required nodes, and the amount for
/// each per-job need.
struct SearchSums {
  std::int64_t nodes = 0;
  std::int64_t tasks = 0;
  std::int64_t required = 0;
  std::array<std::int64_t, kJobNeedMax> shares{};

  /// Brings every sum to that of `other` where that is higher.
  void raise(const SearchSums& other);
};

/// The nodes at one instant of a search.
struct SearchState {
  TimePoint time;
  FreeTable future;  ///< free then, windows that have begun counted as used
  std::vector<Candidate>
      candidates;   ///< per node, as at its last change; no tasks: it carries nothing
  SearchSums sums;  ///< of the candidates
};

/// A state of a search until which the job was never worth trying. Size: some 60 bytes per node.
struct SearchCheckpoint {
  SearchState state;
  SearchSums most;  ///< no sum was higher until then
};

/// The memory of a search: a search reads it to begin later, and leaves it fit for the next.
struct SearchMemory {
  /// The state where the nodes carried seven eighths of the job: a few nodes more do not undo it.
  std::optional<SearchCheckpoint> early;
  /// The state just before the last answer: little is left to be walked, and a single node may undo
  /// it.
  std::optional<SearchCheckpoint> late;
  TimePoint expected_start;        ///< the last answer's; unset: there was none
  std::vector<NodeIndex> changed;  ///< since the checkpoints were made; each once
};

}  // namespace muster::sched
