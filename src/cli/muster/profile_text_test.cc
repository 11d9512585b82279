#include "cli/muster/profile_text.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

std::string line_of(const std::string& averages) {
  return R"({"result": {"metrics": [{"trialId": 1, "metrics": {"avg_metrics": )" + averages +
         R"(, "batch_metrics": null}}]}})" + "\n";
}

TEST(Profile, EachNumberIsARow) {
  Profile profile;
  EXPECT_TRUE(profile.is_empty());
  ASSERT_TRUE(profile.add("memory", line_of(R"({"memory_free": 2500000})")).has_value());
  ASSERT_TRUE(
      profile
          .add("cpu", line_of(R"({"cpu_util_simple": 10})") + line_of(R"({"cpu_util_simple": 30})"))
          .has_value());
  EXPECT_EQ(profile.text(),
            "GROUP   METRIC           LAST       MEAN       LEAST      MOST       COURSE\n"
            "cpu     cpu_util_simple  30         20         10         30         ▁█\n"
            "memory  memory_free      2.500e+06  2.500e+06  2.500e+06  2.500e+06  ▁\n");
}

TEST(Profile, ValuesHaveTheirUnits) {
  Profile profile;
  ASSERT_TRUE(
      profile
          .add(
              "trial",
              line_of(
                  R"({"cpu_cores": 1.5, "rss_bytes": 1400000000, "read_bytes_per_s": 999, "processes": 3})"))
          .has_value());
  ASSERT_TRUE(profile.add("cpu", line_of(R"({"utilization_ratio": 0.488})")).has_value());
  const std::string text = profile.text();
  for (const char* part : {"1.50 cores", "1.4 GB", "999 B/s", "48.8 %"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_LT(text.find("cpu_cores"), text.find("utilization_ratio"))
      << "the trial's own share comes first";
}

TEST(Profile, NumbersOfDevicesHaveTheirPaths) {
  Profile profile;
  ASSERT_TRUE(
      profile
          .add("gpu",
               line_of(R"({"node1": {"GPU-1": {"gpu_util": 50}, "GPU-2": {"gpu_util": "NaN"}}})"))
          .has_value());
  EXPECT_NE(profile.text().find("node1/GPU-1/gpu_util"), std::string::npos);
  EXPECT_EQ(profile.text().find("GPU-2"), std::string::npos) << "what is no number has no row";
}

TEST(Profile, AnotherStreamIsRefused) {
  Profile profile;
  EXPECT_EQ(profile.add("cpu", R"({"error": {}})").error().code, ErrorCode::kCorruption);
}

TEST(Sparkline, ManyValuesShareTheirStretches) {
  EXPECT_EQ(sparkline({}, 5), "");
  EXPECT_EQ(sparkline({3, 3, 3}, 5), "▁▁▁");
  EXPECT_EQ(sparkline({0, 0, 7, 7}, 2), "▁█");
  EXPECT_EQ(sparkline({-1.5e308, 1.5e308}, 2), "▁█");
  std::vector<double> rising;
  for (int i = 0; i < 800; ++i) rising.push_back(i);
  EXPECT_EQ(sparkline(rising, 8), "▁▂▃▄▅▆▇█");
}

}  // namespace
}  // namespace muster::cli
