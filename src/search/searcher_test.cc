// What all methods have in common, and what must hold of each: nothing that is saved is lost.
#include "search/searcher.h"

#include <gtest/gtest.h>

#include "search/testing.h"
#include "search/virtual_search.h"

namespace muster::search {
namespace {

using namespace testing;

TEST(RandomSearch, AsManyAtOnceAsAllowedAndOneMorePerEnd) {
  Searcher searcher(config_of(RandomSearch{5}, 2), one_real(), 1);
  EXPECT_EQ(only<CreateTrial>(searcher.begin()).size(), 2U);
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(0), TrialExit::kCompleted, 0.5)).size(), 1U);
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(1), TrialExit::kInvalidHparams, {})).size(),
            1U);
  for (std::uint32_t i = 2; i < 5; ++i) searcher.exited(trial(i), TrialExit::kCompleted, 0.5);
  EXPECT_FALSE(searcher.is_finished()) << "the senseless one did not count";
  const auto last = searcher.exited(trial(5), TrialExit::kCompleted, 0.5);
  EXPECT_EQ(only<FinishSearch>(last), (std::vector<FinishSearch>{{SearchOutcome::kCompleted}}));
  EXPECT_EQ(searcher.progress(), 1.0);
}

TEST(RandomSearch, WithoutALimitAllBeginAtOnce) {
  Searcher searcher(config_of(RandomSearch{40}, 0), one_real(), 1);
  EXPECT_EQ(only<CreateTrial>(searcher.begin()).size(), 40U);
}

TEST(Searcher, TheLimitCanChangeWhileItRuns) {
  Searcher searcher(config_of(RandomSearch{10}, 2), one_real(), 1);
  searcher.begin();
  EXPECT_EQ(only<CreateTrial>(searcher.set_max_concurrent(5)).size(), 3U);
  EXPECT_TRUE(searcher.set_max_concurrent(1).empty());
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(searcher.exited(trial(i), TrialExit::kCompleted, {}).empty())
        << "no replacement until fewer train";
  }
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(4), TrialExit::kCompleted, {})).size(), 1U);
}

TEST(Searcher, AllFailedIsFailedAndAllCanceledIsCanceled) {
  const auto outcome = [](TrialExit first, TrialExit second) {
    Searcher searcher(config_of(RandomSearch{2}, 2), one_real(), 1);
    searcher.begin();
    searcher.exited(trial(0), first, {});
    return only<FinishSearch>(searcher.exited(trial(1), second, {})).at(0).outcome;
  };
  EXPECT_EQ(outcome(TrialExit::kErrored, TrialExit::kErrored), SearchOutcome::kFailed);
  EXPECT_EQ(outcome(TrialExit::kErrored, TrialExit::kCompleted), SearchOutcome::kCompleted);
  EXPECT_EQ(outcome(TrialExit::kCanceled, TrialExit::kCanceled), SearchOutcome::kCanceled);
}

TEST(Searcher, AnEndIsToldOnce) {
  Searcher searcher(config_of(RandomSearch{3}, 1), one_real(), 1);
  searcher.begin();
  EXPECT_EQ(only<CreateTrial>(searcher.exited(trial(0), TrialExit::kCompleted, {})).size(), 1U);
  EXPECT_TRUE(searcher.exited(trial(0), TrialExit::kCompleted, {}).empty());
}

TEST(Searcher, GivesUpWhenNothingMakesSense) {
  Searcher searcher(config_of(RandomSearch{1000}, 2), one_real(), 1);
  searcher.begin();
  std::vector<SearchAction> last;
  for (std::uint32_t i = 0; i < 100; ++i)
    last = searcher.exited(trial(i), TrialExit::kInvalidHparams, {});
  EXPECT_EQ(only<StopTrial>(last).size(), 1U) << "the other that trains";
  EXPECT_TRUE(only<CreateTrial>(last).empty());
  last = searcher.exited(trial(100), TrialExit::kCompleted, 0.5);
  EXPECT_EQ(only<FinishSearch>(last), (std::vector<FinishSearch>{{SearchOutcome::kFailed}}));
}

TEST(Searcher, AStateIsOfOneConfigurationAndWhole) {
  Searcher searcher(config_of(AsyncHalving{3, 9, 3, 9, false}), one_real(), 1);
  searcher.begin();
  const std::string state = searcher.save();
  EXPECT_TRUE(
      Searcher::load(config_of(AsyncHalving{3, 9, 3, 9, false}, 3), one_real(), state).has_value());
  EXPECT_FALSE(
      Searcher::load(config_of(AsyncHalving{1, 9, 3, 9, false}), one_real(), state).has_value());
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_FALSE(
        Searcher::load(config_of(AsyncHalving{3, 9, 3, 9, false}), one_real(), damaged).has_value())
        << "byte " << i;
  }
}

TEST(Searcher, SavingChangesNothingHoweverDeepAValueLies) {
  std::vector<std::string> path(150, "in");
  const HyperSpace space{{path, DoubleDomain{0, 1, {}}}};
  const SearchConfig config = config_of(PopulationTraining{4, 3, 1, 0.5, 0, 0.2});
  const auto run = [&](bool saves) {
    Searcher searcher(config, space, 3);
    return run_virtually(searcher, 3, [&](TrialIndex, const Json& hparams, double) {
      if (saves) (void)searcher.save();
      return *hparams.find(path)->number();
    });
  };
  const VirtualResult with = run(true);
  const VirtualResult without = run(false);
  ASSERT_EQ(with.trials.size(), without.trials.size());
  for (std::size_t i = 0; i < with.trials.size(); ++i)
    EXPECT_EQ(with.trials[i].hparams, without.trials[i].hparams);
}

TEST(GridSearch, TheLastPointFirst) {
  const HyperSpace space{{{"x"}, IntDomain{1, 3, 3}}};
  Searcher searcher(config_of(GridSearch{}, 16), space, 1);
  const auto created = only<CreateTrial>(searcher.begin());
  ASSERT_EQ(created.size(), 3U);
  EXPECT_EQ(*created[0].hparams.find("x"), Json(3));
  EXPECT_EQ(*created[2].hparams.find("x"), Json(1));
}

HyperSpace mixed_space() {
  return {{{"batch"}, IntDomain{1, 64, 3}},
          {{"layer", "size"}, CategoricalDomain{{16, 32, "large"}}},
          {{"lr"}, LogDomain{10, -4, -1, 3}},
          {{"momentum"}, DoubleDomain{0, 1, 3}},
          {{"seed"}, ConstDomain{1}}};
}

struct Case {
  std::string name;
  SearchConfig config;
};

std::vector<Case> every_method() {
  AdaptiveAsha promoting{AshaMode::kConservative, 4, 30, 3, 27, {}, true};
  return {{"random", config_of(RandomSearch{25}, 4)},
          {"grid", config_of(GridSearch{}, 4)},
          {"async_halving", config_of(AsyncHalving{3, 25, 3, 9, false}, 4)},
          {"promotion", config_of(AsyncHalving{3, 25, 3, 9, true}, 4)},
          {"adaptive_asha",
           config_of(AdaptiveAsha{AshaMode::kConservative, 4, 30, 3, 27, {}, false}, 5)},
          {"adaptive_promotion", config_of(promoting, 5)},
          {"sync_halving", config_of(SyncHalving{3, 18, 3, 9}, 5)},
          {"hyperband", config_of(Hyperband{3, 9}, 4)},
          {"pbt", config_of(PopulationTraining{6, 5, 2, 0.34, 0.3, 0.2}, 3)},
          {"tpe", config_of(TpeSearch{30, 8, 12}, 3)}};
}

/// A cluster of the worst kind: trials report in any order, repeat themselves, fail, find their
/// hyperparameters senseless.
class Trials {
 public:
  explicit Trials(std::uint64_t seed) : rng_(seed) {}

  struct Input {
    TrialIndex trial;
    std::optional<TrialReport> report;
    TrialExit exit = TrialExit::kCompleted;
    std::optional<double> metric;
    std::optional<std::uint32_t> limit;
  };

  static std::vector<SearchAction> apply(Searcher& searcher, const Input& input) {
    if (input.limit) return searcher.set_max_concurrent(*input.limit);
    if (input.report) return searcher.reported(input.trial, *input.report);
    return searcher.exited(input.trial, input.exit, input.metric);
  }

  void hear(const std::vector<SearchAction>& actions) {
    for (const SearchAction& action : actions) {
      if (const auto* create = std::get_if<CreateTrial>(&action)) open_[create->trial] = {};
      if (const auto* go_on = std::get_if<ContinueTrial>(&action)) {
        EXPECT_TRUE(open_.contains(go_on->trial));
      }
      if (const auto* stop = std::get_if<StopTrial>(&action)) open_[stop->trial].is_stopped = true;
    }
  }

  bool is_done() const { return open_.empty(); }

  Input next(const Searcher& searcher) {
    Input input;
    if (rng_.chance(0.03)) {
      input.limit = static_cast<std::uint32_t>(rng_.between(1, 8));
      return input;
    }
    auto chosen = std::next(open_.begin(), static_cast<std::ptrdiff_t>(rng_.below(open_.size())));
    input.trial = chosen->first;
    Open& trial = chosen->second;
    const auto awaited = searcher.awaits(input.trial);
    if (!trial.is_stopped && awaited && rng_.chance(0.9)) {
      trial.time = rng_.chance(0.7) ? *awaited : *awaited * rng_.unit();
      trial.metric = rng_.chance(0.1) ? std::numeric_limits<double>::quiet_NaN() : rng_.unit();
      input.report = TrialReport{trial.metric, trial.time};
      return input;
    }
    if (!trial.is_stopped && !awaited && rng_.chance(0.5)) {
      input.report = TrialReport{trial.metric, trial.time};  // a repeat, or of a trial that waits
      return input;
    }
    if (!trial.is_stopped && rng_.chance(0.3)) input.exit = static_cast<TrialExit>(rng_.below(4));
    input.metric = rng_.unit();
    open_.erase(chosen);
    return input;
  }

 private:
  struct Open {
    bool is_stopped = false;
    double time = 0;
    double metric = 0.5;
  };
  Rng rng_;
  std::map<TrialIndex, Open> open_;
};

struct History {
  std::vector<Trials::Input> inputs;
  std::vector<std::vector<SearchAction>> answers;
  std::vector<std::string> states;  ///< before each input
  bool is_finished = false;
};

History play(const Case& one, std::uint64_t seed) {
  constexpr std::size_t kInputMax = 3000;
  History history;
  Searcher searcher(one.config, mixed_space(), seed);
  Trials trials(seed);
  trials.hear(searcher.begin());
  while (!trials.is_done() && history.inputs.size() < kInputMax) {
    history.states.push_back(searcher.save());
    history.inputs.push_back(trials.next(searcher));
    history.answers.push_back(Trials::apply(searcher, history.inputs.back()));
    trials.hear(history.answers.back());
    const std::string state = searcher.save();
    const auto again = history.inputs.back().limit ? std::vector<SearchAction>{}
                                                   : Trials::apply(searcher, history.inputs.back());
    EXPECT_TRUE(again.empty()) << "a repeat at input " << history.inputs.size()
                               << " was acted upon";
    EXPECT_EQ(searcher.save(), state)
        << "a repeat at input " << history.inputs.size() << " was remembered";
  }
  history.is_finished = searcher.is_finished();
  return history;
}

TEST(EveryMethod, EndsWhateverItsTrialsDo) {
  for (const Case& one : every_method()) {
    for (std::uint64_t seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(one.name + ", seed " + std::to_string(seed));
      EXPECT_TRUE(play(one, seed).is_finished);
    }
  }
}

TEST(EveryMethod, GoesOnAfterEveryInputAsIfItHadNeverStopped) {
  for (const Case& one : every_method()) {
    SCOPED_TRACE(one.name);
    const History history = play(one, 5);
    for (std::size_t from = 0; from < history.inputs.size() && !::testing::Test::HasFailure();
         ++from) {
      auto searcher = Searcher::load(one.config, mixed_space(), history.states[from]);
      ASSERT_TRUE(searcher.has_value()) << searcher.error().text();
      EXPECT_EQ(searcher->save(), history.states[from]);
      for (std::size_t i = from; i < history.inputs.size(); ++i) {
        ASSERT_EQ(Trials::apply(*searcher, history.inputs[i]), history.answers[i])
            << "input " << i << " after a kill at " << from;
      }
    }
  }
}

TEST(EveryMethod, BytesThatWereCutAreRefused) {
  for (const Case& one : every_method()) {
    SCOPED_TRACE(one.name);
    const History history = play(one, 6);
    const std::string& state = history.states[history.states.size() / 2];
    for (std::size_t size = 0; size < state.size(); size += 1 + state.size() / 50) {
      EXPECT_FALSE(Searcher::load(one.config, mixed_space(), state.substr(0, size)).has_value())
          << size;
    }
    EXPECT_FALSE(Searcher::load(one.config, mixed_space(), state + "x").has_value());
  }
}

TEST(EveryMethod, ProgressIsBetweenNothingAndAll) {
  for (const Case& one : every_method()) {
    SCOPED_TRACE(one.name);
    Searcher searcher(one.config, mixed_space(), 1);
    Trials trials(1);
    trials.hear(searcher.begin());
    for (int i = 0; i < 2000 && !trials.is_done(); ++i) {
      trials.hear(Trials::apply(searcher, trials.next(searcher)));
      EXPECT_GE(searcher.progress(), 0);
      EXPECT_LE(searcher.progress(), 1);
    }
    EXPECT_EQ(searcher.progress(), 1);
  }
}

}  // namespace
}  // namespace muster::search
