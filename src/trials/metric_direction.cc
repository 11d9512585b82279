// Splits a name into words at everything that is not a letter or digit and where camel case begins
// a word. Only words that are unmistakable are listed: a wrong warning is worse than none.

#include "trials/metric_direction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace muster {
namespace {

constexpr std::array<std::string_view, 15> kMore{
    "accuracy", "acc",   "auc", "auroc", "auprc", "f1",     "precision", "recall",
    "bleu",     "rouge", "iou", "miou",  "dice",  "reward", "ndcg"};
constexpr std::array<std::string_view, 13> kLess{"loss", "error", "err", "mse",        "rmse",
                                                 "mae",  "mape",  "nll", "perplexity", "ppl",
                                                 "wer",  "cer",   "fid"};

}  // namespace

MetricDirection metric_direction(std::string_view name) {
  bool is_more = false;
  bool is_less = false;
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    // A separator behind the end closes the last word.
    const unsigned char c = i < name.size() ? static_cast<unsigned char>(name[i]) : '_';
    const bool is_camel =
        std::isupper(c) != 0 && i > 0 && std::islower(static_cast<unsigned char>(name[i - 1])) != 0;
    if (std::isalnum(c) == 0 || is_camel) {
      is_more = is_more || std::ranges::find(kMore, word) != kMore.end();
      is_less = is_less || std::ranges::find(kLess, word) != kLess.end();
      word.clear();
    }
    if (std::isalnum(c) != 0) word += static_cast<char>(std::tolower(c));
  }
  // Neither, or one of each kind, as in "accuracy_loss".
  if (is_more == is_less) return MetricDirection::kUnknown;
  return is_more ? MetricDirection::kMoreIsBetter : MetricDirection::kLessIsBetter;
}

std::string direction_warning(std::string_view metric, bool smaller_is_better) {
  const MetricDirection usual = metric_direction(metric);
  const bool is_doubtful = usual == (smaller_is_better ? MetricDirection::kMoreIsBetter
                                                       : MetricDirection::kLessIsBetter);
  if (!is_doubtful) return "";
  return fmt::format(
      "the search looks for the {} {}; if more of it is {}, write searcher.smaller_is_better: {}",
      smaller_is_better ? "smallest" : "largest", metric, smaller_is_better ? "better" : "worse",
      smaller_is_better ? "false" : "true");
}

}  // namespace muster
