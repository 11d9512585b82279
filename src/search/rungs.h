// Rungs: the amounts of training after which halving methods compare trials.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/search_action.h"
#include "model/search_config.h"
#include "search/archive.h"

namespace muster::search {

/// A trial's result at a rung.
struct RungEntry {
  TrialIndex trial;
  double metric = 0;
  void archive(Archive& archive) { archive.fields(trial, metric); }
};

/// Returns the units of training of each rung, lowest first: max_time / divisor^k, whole, at least
/// 1, the last one max_time. Source: Determined 0.38, async_halving.
std::vector<std::uint64_t> rung_units(std::uint32_t num_rungs, std::uint64_t max_time,
                                      double divisor);

/// Returns the largest n with divisor^n <= value. Requires: divisor > 1, value >= 1. Exact where
/// divisor is whole: quotients of logarithms round log 243 / log 3 down.
std::uint32_t whole_log(double value, double divisor);

/// Returns how many trials train at once when no limit is set: as many as are needed for one to
/// reach the top rung.
std::uint32_t halving_concurrency(const AsyncHalving& config);

/// True when `a` is better, or as good and earlier: an order in which it does not matter who came
/// first.
inline bool is_before(const RungEntry& a, const RungEntry& b) {
  return a.metric != b.metric ? a.metric < b.metric : a.trial < b.trial;
}

/// Inserts an entry before the first that is not better, and returns its rank, 0 the best. Shape:
/// `entries` best first.
inline std::uint32_t insert_ranked(std::vector<RungEntry>& entries, RungEntry entry) {
  const auto place = std::ranges::lower_bound(entries, entry.metric, {}, &RungEntry::metric);
  const auto rank = static_cast<std::uint32_t>(place - entries.begin());
  entries.insert(place, entry);
  return rank;
}

}  // namespace muster::search
