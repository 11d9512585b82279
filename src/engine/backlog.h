// How far the threads that follow the core are behind, and whether it may handle further commands.
#pragma once

#include <cstddef>
#include <initializer_list>

namespace muster {

/// How many values wait in the channel of each follower.
struct Backlog {
  std::size_t journal = 0;
  std::size_t gateway = 0;
  std::size_t searches = 0;
  std::size_t logs = 0;
  std::size_t planner = 0;
  std::size_t history = 0;

  static constexpr std::size_t kBehindMax = 20'000;
  /// The bound for those who may be busy for seconds, with a plan or an old journal.
  static constexpr std::size_t kFarBehindMax = 100'000;

  /// True when the core must not accept further commands: they wait where they came in, so that
  /// nobody's memory grows without bound.
  bool is_congested() const {
    for (const std::size_t waiting : {journal, gateway, searches, logs}) {
      if (waiting > kBehindMax) return true;
    }
    return planner > kFarBehindMax || history > kFarBehindMax;
  }
};

}  // namespace muster
