// Whole searches of 1,000 trials in virtual time, each input followed by saving the search's state,
// as a controller does.
//   search_bench [--trials N] [--rounds N]
// Asserts that the search and every trial of it ended.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/check.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

struct Size {
  std::uint32_t trials = 1000;
  std::uint32_t rounds = 5;
};

HyperSpace space() {
  return {{{"batch"}, IntDomain{16, 512, {}}},
          {{"dropout"}, DoubleDomain{0, 0.5, {}}},
          {{"lr"}, LogDomain{10, -5, -1, {}}},
          {{"optimizer"}, CategoricalDomain{{"sgd", "adamw", "lion"}}}};
}

/// Falls with training, to a floor that the learning rate decides.
double loss(TrialIndex, const Json& hparams, double units) {
  const double lr = *hparams.find("lr")->number();
  return std::abs(lr - 1e-3) + 1 / (1 + units);
}

struct Measured {
  std::string name;
  SearchMethodConfig method;
};

std::vector<Measured> methods(std::uint32_t trials) {
  return {{"random", RandomSearch{trials}},
          {"adaptive ASHA", AdaptiveAsha{AshaMode::kStandard, 5, trials, 4, 1024, {}, false}},
          {"ASHA, promoting", AsyncHalving{5, trials, 4, 1024, true}},
          {"synchronous halving", SyncHalving{6, trials, 4, 1024}},
          {"population-based training",
           PopulationTraining{std::max(5U, trials / 40), 40, 10, 0.2, 0.2, 0.2}},
          {"TPE", TpeSearch{trials, 10, 24}}};
}

SearchConfig config_of(const SearchMethodConfig& method) {
  SearchConfig config;
  config.metric = "loss";
  config.time_metric = "epochs";
  config.method = method;
  return config;
}

void measure(const Measured& one, const Size& size) {
  const SearchConfig config = config_of(one.method);
  std::vector<double> took;
  std::size_t trials = 0;
  std::size_t bytes = 0;
  for (std::uint32_t round = 0; round < size.rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    Searcher searcher(config, space(), round + 1);
    const VirtualResult result =
        run_virtually(searcher, 1024, [&](TrialIndex trial, const Json& hparams, double units) {
          bytes = std::max(bytes, searcher.save().size());
          return loss(trial, hparams, units);
        });
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    CHECK(searcher.is_finished() && result.outcome == SearchOutcome::kCompleted, "{} did not end",
          one.name);
    trials = result.trials.size();
    for (const VirtualTrial& trial : result.trials)
      CHECK(trial.units > 0, "a trial of {} never trained", one.name);
  }
  std::ranges::sort(took);
  fmt::print("{:<28} median {:8.3f} ms  worst {:8.3f} ms  ({} trials, state up to {} bytes)\n",
             one.name, took[took.size() / 2], took.back(), trials, bytes);
}

}  // namespace
}  // namespace muster::search

int main(int argc, char** argv) {
  muster::search::Size size;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = static_cast<std::uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (std::strcmp(argv[i], "--trials") == 0) size.trials = value;
    if (std::strcmp(argv[i], "--rounds") == 0) size.rounds = value;
  }
  for (const auto& one : muster::search::methods(size.trials)) muster::search::measure(one, size);
  return 0;
}
