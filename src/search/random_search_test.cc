#include "search/random_search.h"

#include <gtest/gtest.h>

#include "search/testing.h"

namespace muster::search {
namespace {

using namespace testing;

TEST(RandomMethod, OnlyASenselessTrialIsReplaced) {
  for (const TrialExit exit : {TrialExit::kCompleted, TrialExit::kErrored, TrialExit::kCanceled,
                               TrialExit::kInvalidHparams}) {
    Searcher searcher(config_of(RandomSearch{1}, 1), one_real(), 1);
    searcher.begin();
    const auto next = only<CreateTrial>(searcher.exited(trial(0), exit, {}));
    EXPECT_EQ(next.size(), exit == TrialExit::kInvalidHparams ? 1U : 0U);
  }
}

TEST(RandomMethod, ReportsDecideNothing) {
  Searcher searcher(config_of(RandomSearch{2}, 1), one_real(), 1);
  searcher.begin();
  EXPECT_EQ(searcher.awaits(trial(0)), std::nullopt);
  EXPECT_TRUE(searcher.reported(trial(0), {0.5, 1'000'000}).empty());
}

TEST(RandomMethod, ProgressIsTheTrialsShare) {
  Searcher searcher(config_of(RandomSearch{4}, 2), one_real(), 1);
  searcher.begin();
  EXPECT_EQ(searcher.progress(), 0);
  searcher.set_progress(trial(0), 0.5);
  EXPECT_EQ(searcher.progress(), 0.125);
  searcher.exited(trial(1), TrialExit::kCompleted, {});
  EXPECT_EQ(searcher.progress(), 0.375);
  searcher.set_progress(trial(0), 7);
  EXPECT_EQ(searcher.progress(), 0.5) << "no trial is more than done";
}

}  // namespace
}  // namespace muster::search
