// Dependencies between jobs: the parsed terms, and the outcome of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

enum class DependencyKind : std::uint8_t {
  kAfter = 0,       ///< the other has started (plus `delay`) or was cancelled
  kAfterAny = 1,    ///< has ended
  kAfterOk = 2,     ///< has ended with exit code 0
  kAfterNotOk = 3,  ///< has failed
  kAfterCorr = 4,   ///< the element of the same index has ended with exit code 0
  kSingleton = 5,   ///< no other job of this user and name is before it
};

enum class DependencyState : std::uint8_t { kUnfulfilled = 0, kFulfilled = 1, kFailed = 2 };

/// One term. `array_index` names one element ("afterok:12_3"); without it an array means all its
/// elements.
struct DependencyTerm {
  DependencyKind kind = DependencyKind::kAfterAny;
  JobId job;  ///< zero for singleton
  std::optional<std::uint32_t> array_index;
  Duration delay;  ///< after:12+5 (minutes)
  DependencyState state = DependencyState::kUnfulfilled;
  TimePoint not_before = {};  ///< of a fulfilled after:12+5: when the delay has passed
  friend bool operator==(const DependencyTerm&, const DependencyTerm&) = default;
};

/// All terms must hold (","), or one of them ("?").
struct DependencySet {
  bool is_any = false;
  std::vector<DependencyTerm> terms;
  friend bool operator==(const DependencySet&, const DependencySet&) = default;

  /// The time from which the fulfilled terms let the job start; unset: at once.
  TimePoint not_before() const {
    TimePoint time;
    bool is_first = true;
    for (const DependencyTerm& term : terms) {
      if (term.state != DependencyState::kFulfilled) continue;
      time = is_first ? term.not_before
             : is_any ? std::min(time, term.not_before)
                      : std::max(time, term.not_before);
      is_first = false;
    }
    return time;
  }
};

}  // namespace muster
