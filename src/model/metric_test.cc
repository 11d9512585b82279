#include "model/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"

namespace muster {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Metric, ValuesAreTheSameToTheBit) {
  EXPECT_TRUE(is_same(kNan, kNan));
  EXPECT_FALSE(is_same(kNan, -kNan));
  EXPECT_FALSE(is_same(0.0, -0.0));
  EXPECT_TRUE(is_same(0.5, 0.5));
  EXPECT_TRUE(is_same(JsonText{"true"}, JsonText{"true"}));
  EXPECT_FALSE(is_same(JsonText{"true"}, JsonText{"false"}));
  EXPECT_FALSE(is_same(1.0, JsonText{"1"}));
}

std::string type_name(const std::string& json) { return metric_type_name(type_of(JsonText{json})); }

TEST(Metric, KnowsTheTypeOfAnyJson) {
  EXPECT_STREQ(metric_type_name(type_of(0.5)), "number");
  EXPECT_STREQ(metric_type_name(type_of(kNan)), "number");
  EXPECT_EQ(type_name("true"), "boolean");
  EXPECT_EQ(type_name("false"), "boolean");
  EXPECT_EQ(type_name("null"), "null");
  EXPECT_EQ(type_name("{}"), "object");
  EXPECT_EQ(type_name("[1]"), "array");
  EXPECT_EQ(type_name("\"word\""), "string");
  EXPECT_EQ(type_name("\"\""), "string");
  EXPECT_EQ(type_name(""), "string");
  EXPECT_STREQ(metric_type_name(MetricType::kMixed), "string");
}

TEST(Metric, ADateHasTheFormOfTheStandard) {
  for (const char* date : {"2026-08-21T16:00:00Z", "2026-08-21t16:00:00z", "2026-08-21T16:00:00.5Z",
                           "2026-08-21T16:00:00.123456789+05:30", "2026-08-21T16:00:00-08:00"})
    EXPECT_EQ(type_name("\"" + std::string(date) + "\""), "date") << date;
  for (const char* other :
       {"2026-08-21", "2026-08-21T16:00:00", "2026-08-21 16:00:00Z", "2026-08-21T16:00:00.Z",
        "2026-08-21T16:00:00+0530", "2026-08-21T16:00:00ZZ", "x026-08-21T16:00:00Z",
        "2026-08-21T16:00:00.5", "2026-08-21T16:00:00+5:30"})
    EXPECT_EQ(type_name("\"" + std::string(other) + "\""), "string") << other;
}

/// The summary of some numbers.
MetricSummary summary_of(const std::vector<double>& values) {
  MetricSummary summary;
  for (const double value : values) {
    ++summary.count;
    if (std::isnan(value)) {
      ++summary.nan_count;
    } else if (std::isinf(value)) {
      ++(value > 0 ? summary.positive_infinity_count : summary.negative_infinity_count);
    } else {
      const bool is_first = summary.finite_count++ == 0;
      summary.finite_sum += value;
      summary.finite_min = is_first ? value : std::min(summary.finite_min, value);
      summary.finite_max = is_first ? value : std::max(summary.finite_max, value);
    }
  }
  return summary;
}

TEST(MetricSummary, OfNoNumbersThereIsNothing) {
  const MetricSummary none = summary_of({});
  EXPECT_EQ(none.sum(), std::nullopt);
  EXPECT_EQ(none.mean(), std::nullopt);
  EXPECT_EQ(none.min(), std::nullopt);
  EXPECT_EQ(none.max(), std::nullopt);
}

TEST(MetricSummary, ExtremesPassOverWhatIsNoNumber) {
  const MetricSummary mixed = summary_of({kNan, 3, -2});
  EXPECT_EQ(mixed.min(), -2);
  EXPECT_EQ(mixed.max(), 3);
  EXPECT_TRUE(std::isnan(*mixed.sum()));
  EXPECT_TRUE(std::isnan(*summary_of({kNan}).min()));
  EXPECT_TRUE(std::isnan(*summary_of({kNan}).max()));
}

TEST(MetricSummary, AgreesWithAddingTheNumbers) {
  const auto is_equal = [](std::optional<double> found, double expected) {
    return found && (*found == expected || (std::isnan(*found) && std::isnan(expected)));
  };
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Rng rng(seed);
    std::vector<double> values;
    double sum = 0;
    double least = kInfinity;
    double most = -kInfinity;
    for (std::uint64_t i = 1 + rng.below(6); i > 0; --i) {
      constexpr double kSpecial[] = {kNan, kInfinity, -kInfinity};
      const double value =
          rng.chance(0.3) ? kSpecial[rng.below(3)] : static_cast<double>(rng.between(-9, 9));
      values.push_back(value);
      sum += value;
      least = std::fmin(least, value);
      most = std::fmax(most, value);
    }
    const MetricSummary summary = summary_of(values);
    EXPECT_TRUE(is_equal(summary.sum(), sum)) << "seed " << seed;
    EXPECT_TRUE(is_equal(summary.mean(), sum / static_cast<double>(values.size())))
        << "seed " << seed;
    const bool are_all_nan = summary.nan_count == values.size();
    EXPECT_TRUE(is_equal(summary.min(), are_all_nan ? kNan : least)) << "seed " << seed;
    EXPECT_TRUE(is_equal(summary.max(), are_all_nan ? kNan : most)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster
