// How an experiment searches: the method and its settings, as the `searcher` section of its file
// says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// No search has more trials than this: a slip of the finger must not fill the queue.
inline constexpr std::uint32_t kTrialMax = 100'000;

/// Trials drawn at random; `single` is one of them.
struct RandomSearch {
  std::uint32_t max_trials = 1;
  friend bool operator==(const RandomSearch&, const RandomSearch&) = default;
};
/// Every point of the grid that the domains' counts span.
struct GridSearch {
  friend bool operator==(const GridSearch&, const GridSearch&) = default;
};
/// Asynchronous successive halving in one bracket.
struct AsyncHalving {
  std::uint32_t num_rungs = 1;
  std::uint32_t max_trials = 1;
  double divisor = 4;
  std::uint64_t max_time = 1;  ///< units of training at the top rung
  /// False: trials run on unless a rung stops them. True: they wait at a rung until promoted
  /// (`stop_once: false`).
  bool is_promoting = false;
  friend bool operator==(const AsyncHalving&, const AsyncHalving&) = default;
};
enum class AshaMode : std::uint8_t { kAggressive = 0, kStandard = 1, kConservative = 2 };
/// Several brackets of asynchronous halving that differ in how early they stop trials.
struct AdaptiveAsha {
  AshaMode mode = AshaMode::kStandard;
  std::uint32_t max_rungs = 5;
  std::uint32_t max_trials = 1;
  double divisor = 4;
  std::uint64_t max_time = 1;
  std::vector<std::uint32_t> bracket_rungs;  ///< rungs per bracket; empty: by mode
  bool is_promoting = false;
  friend bool operator==(const AdaptiveAsha&, const AdaptiveAsha&) = default;
};
/// Successive halving that waits for a whole rung before it promotes.
struct SyncHalving {
  std::uint32_t num_rungs = 1;
  std::uint32_t max_trials = 1;
  std::uint32_t divisor = 4;
  std::uint64_t max_time = 1;
  friend bool operator==(const SyncHalving&, const SyncHalving&) = default;
};
/// Brackets of synchronous halving from the most to the least aggressive.
struct Hyperband {
  std::uint32_t divisor = 3;
  std::uint64_t max_time = 1;
  friend bool operator==(const Hyperband&, const Hyperband&) = default;
};
/// A population that trains in rounds; after each the worst give way to changed copies of the best.
struct PopulationTraining {
  std::uint32_t population_size = 1;
  std::uint32_t num_rounds = 1;
  std::uint64_t length_per_round = 1;
  double truncate_fraction = 0.2;     ///< 0..0.5
  double resample_probability = 0.2;  ///< 0..1
  double perturb_factor = 0.2;        ///< 0..1
  friend bool operator==(const PopulationTraining&, const PopulationTraining&) = default;
};
/// Tree-structured Parzen estimators.
struct TpeSearch {
  std::uint32_t max_trials = 1;
  std::uint32_t startup_trials = 10;  ///< drawn at random first
  std::uint32_t candidates = 24;      ///< weighed per value
  friend bool operator==(const TpeSearch&, const TpeSearch&) = default;
};
/// The client decides: it is shown what happens as events, and its operations are carried out.
struct CustomSearch {
  friend bool operator==(const CustomSearch&, const CustomSearch&) = default;
};
using SearchMethodConfig =
    std::variant<RandomSearch, GridSearch, AsyncHalving, AdaptiveAsha, SyncHalving, Hyperband,
                 PopulationTraining, TpeSearch, CustomSearch>;

struct SearchConfig {
  std::string metric;  ///< the validation metric by which trials are ranked
  bool smaller_is_better = true;
  std::string time_metric;  ///< the metric that counts units of training
  /// Trials that train at once; 0: as many as the method likes.
  std::uint32_t max_concurrent_trials = 16;
  SearchMethodConfig method;
  std::optional<std::uint32_t> trial_seed =
      {};  ///< of every trial; nothing: each has one of its own, drawn
  friend bool operator==(const SearchConfig&, const SearchConfig&) = default;
};

}  // namespace muster
