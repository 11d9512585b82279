#include "cli/muster/search_preview.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

SearcherSection searcher_of(SearchMethodConfig method, std::string unit = "epochs") {
  SearcherSection section;
  section.search.metric = "loss";
  section.search.time_metric = std::move(unit);
  section.search.max_concurrent_trials = 5;
  section.search.method = std::move(method);
  return section;
}

TEST(PreviewText, CountsTrialsByHowFarTheyTrain) {
  EXPECT_EQ(preview_text(searcher_of(SyncHalving{3, 9, 3, 9}), {}, "sync_halving", 0),
            "sync_halving: 9 trials, 5 at once; less in loss is better\n"
            "\n"
            " BRACKET   TRIALS         epochs  END\n"
            "       0        6              1  cut at rung 0\n"
            "       0        2              3  cut at rung 1\n"
            "       0        1              9  trained in full\n"
            "\n"
            "In all 21 epochs; every trial in full would be 81 (26 %).\n"
            "With 5 at once it lasts as long as 10 epochs.\n");
}

TEST(PreviewText, ComparesWithWhatNobodyMayHaveReached) {
  const std::string text = preview_text(
      searcher_of(AdaptiveAsha{AshaMode::kStandard, 5, 8, 2, 8, {}, true}), {}, "adaptive_asha", 0);
  EXPECT_NE(text.find("every trial in full would be 64"), std::string::npos) << text;
}

TEST(PreviewText, SaysNothingOfLengthsThatNobodyKnows) {
  EXPECT_EQ(preview_text(searcher_of(RandomSearch{3}, ""), {}, "random", 0),
            "random: 3 trials, 3 at once; less in loss is better\n"
            "\n"
            " BRACKET   TRIALS         LENGTH  END\n"
            "       0        3              -  at its own end\n");
}

TEST(PreviewText, OneSeedOnePreview) {
  const auto searcher = searcher_of(AdaptiveAsha{AshaMode::kStandard, 5, 200, 4, 64, {}, false});
  EXPECT_EQ(preview_text(searcher, {}, "adaptive_asha", 3),
            preview_text(searcher, {}, "adaptive_asha", 3));
  EXPECT_NE(preview_text(searcher, {}, "adaptive_asha", 3),
            preview_text(searcher, {}, "adaptive_asha", 4));
}

}  // namespace
}  // namespace muster::cli
