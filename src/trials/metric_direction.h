// Guesses which way a metric is better, as far as its name tells.
#pragma once

#include <string>
#include <string_view>

namespace muster {

enum class MetricDirection { kUnknown, kLessIsBetter, kMoreIsBetter };

/// Returns the direction by the words of the name, in any case: "val_accuracy", "top-1 Acc" are
/// better when they grow, "validation_loss", "RMSE" when they shrink. Unknown where there is no
/// such word, or one of each kind.
MetricDirection metric_direction(std::string_view name);

/// Returns what is suspicious about a search by `metric`; empty: nothing.
std::string direction_warning(std::string_view metric, bool smaller_is_better);

}  // namespace muster
