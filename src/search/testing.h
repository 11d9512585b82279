// Builders for tests of searches. Not for production code.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "search/searcher.h"

namespace muster::search::testing {

inline Hyperparameter real(std::string name, double low, double high) {
  return {{std::move(name)}, DoubleDomain{low, high, {}}};
}
inline HyperSpace one_real() { return {real("x", 0, 1)}; }

inline SearchConfig config_of(SearchMethodConfig method, std::uint32_t max_concurrent = 16) {
  SearchConfig config;
  config.metric = "loss";
  config.time_metric = "epochs";
  config.max_concurrent_trials = max_concurrent;
  config.method = std::move(method);
  return config;
}

/// Returns all actions of one type.
template <class T>
std::vector<T> only(const std::vector<SearchAction>& actions) {
  std::vector<T> found;
  for (const SearchAction& action : actions) {
    if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
  }
  return found;
}

inline TrialIndex trial(std::uint32_t number) { return TrialIndex(number); }

}  // namespace muster::search::testing
