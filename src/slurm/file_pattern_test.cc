#include "slurm/file_pattern.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

FilePatternValues array_task() {
  return {.job = JobId(34),
          .array_job = JobId(12),
          .array_index = 25,
          .step = 0,
          .host = "n7.site.org",
          .node_index = 1,
          .task = 3,
          .user = "ann",
          .job_name = "train",
          .restart_count = 2,
          .sluid = "s1ABC"};
}

TEST(FilePattern, ReplacesEverySymbol) {
  const std::pair<const char*, const char*> cases[] = {
      {"slurm-%j.out", "slurm-34.out"},
      {"%A_%a", "12_25"},
      {"%b", "5"},
      {"%J", "34.0"},
      {"%s", "0"},
      {"%N", "n7"},
      {"%n-%t", "1-3"},
      {"%u/%x", "ann/train"},
      {"%r", "2"},
      {"%S", "s1ABC"},
      {"100%%", "100%"},
      {"%4j", "0034"},
      {"%04j", "0034"},
      {"%99t", "0000000003"},
      {"%4x", "train"},
      {"%q", "%q"},
      {"%", "%"},
      {"a%5", "a%5"},
      {"", ""},
      {"%3q%j", "%3q34"},
      {"\\%j", "%j"},
      {"a\\b/%j", "ab/%j"},
      {"%%j", "%j"},
      {"%4J", "0034.0"},
  };
  for (const auto& [pattern, name] : cases)
    EXPECT_EQ(expand_file_pattern(pattern, array_task()), name) << pattern;
}

TEST(FilePattern, BatchStepOutsideAnArray) {
  const FilePatternValues values{.job = JobId(7), .host = "n1"};
  EXPECT_EQ(expand_file_pattern("%A_%a %J %s %4s", values), "7_4294967294 7 batch batch");
  EXPECT_EQ(step_text(kExternStep), "extern");
  EXPECT_EQ(step_text(kInteractiveStep), "interactive");
  EXPECT_EQ(step_text(3), "3");
}

TEST(FilePattern, KnowsWhichNeedFilesOfTheirOwn) {
  EXPECT_EQ(file_scope("out-%j"), FileScope::kOne);
  EXPECT_EQ(file_scope("out-%N"), FileScope::kPerNode);
  EXPECT_EQ(file_scope("out-%2n"), FileScope::kPerNode);
  EXPECT_EQ(file_scope("%t-%N"), FileScope::kPerTask);
  EXPECT_EQ(file_scope("out-%%t"), FileScope::kOne);
  EXPECT_EQ(file_scope("\\out-%t"), FileScope::kOne);
}

TEST(FilePattern, OneFileForAllIsGathered) {
  EXPECT_TRUE(is_gathered("out-%j.%s"));
  EXPECT_TRUE(is_gathered("\\out-%t"));
  for (const char* pattern : {"", "/dev/null", "out-%t", "out-%N", "out-%3n"})
    EXPECT_FALSE(is_gathered(pattern)) << pattern;
}

TEST(FilePattern, WidthsPadNumbersUpToTenDigits) {
  FilePatternValues values = array_task();
  values.step = 7;
  EXPECT_EQ(expand_file_pattern("%10j", values), "0000000034");
  EXPECT_EQ(expand_file_pattern("%11j%99999999999999999999j", values), "00000000340000000034");
  EXPECT_EQ(expand_file_pattern("%0j%1j", values), "3434");
  EXPECT_EQ(expand_file_pattern("%3s.%3a.%3A.%3n.%3t.%3r.%3b", values),
            "007.025.012.001.003.002.005");
  EXPECT_EQ(expand_file_pattern("%3u%3N", values), "annn7") << "texts are not padded";
}

TEST(FilePattern, ValuesAreNotReadForSymbols) {
  FilePatternValues values = array_task();
  values.user = "%j";
  values.job_name = "a\\%t";
  EXPECT_EQ(expand_file_pattern("%u-%x-%j", values), "%j-a\\%t-34");
}

}  // namespace
}  // namespace muster
