// Every parser of the folder on random text: it answers with a value or an error, in bounded time,
// and what it accepts it accepts again from its own canonical text.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "slurm/array_text.h"
#include "slurm/batch_script.h"
#include "slurm/column_format.h"
#include "slurm/conf/slurm_conf.h"
#include "slurm/dependency_text.h"
#include "slurm/duration_text.h"
#include "slurm/environment_text.h"
#include "slurm/feature_text.h"
#include "slurm/file_pattern.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"
#include "slurm/memory_text.h"
#include "slurm/rank_layout.h"
#include "slurm/signal_text.h"
#include "slurm/time_text.h"

namespace muster {
namespace {

constexpr std::uint64_t kRobustnessSeed = 20260803;

// Text that is near to being right: words and signs that the grammars use, in any order.
std::string random_text(Rng& rng) {
  static constexpr std::string_view kPieces[] = {"n",
                                                 "[",
                                                 "]",
                                                 "-",
                                                 ",",
                                                 ":",
                                                 "0",
                                                 "1",
                                                 "9",
                                                 "15",
                                                 "%",
                                                 "@",
                                                 "=",
                                                 "(",
                                                 ")",
                                                 "|",
                                                 "&",
                                                 "?",
                                                 "+",
                                                 "_",
                                                 ".",
                                                 " ",
                                                 "gpu",
                                                 "now",
                                                 "after",
                                                 "afterok",
                                                 "days",
                                                 "K",
                                                 "G",
                                                 "T",
                                                 "2026-08-1",
                                                 "pm",
                                                 "\\",
                                                 "\"",
                                                 "'",
                                                 "#",
                                                 "\n",
                                                 "USR1",
                                                 "B",
                                                 "plane",
                                                 "NodeName",
                                                 "CPUs",
                                                 "ALL",
                                                 "999999999999999999",
                                                 "65536",
                                                 "x",
                                                 "/",
                                                 "*",
                                                 "\t",
                                                 "singleton",
                                                 "UNLIMITED",
                                                 "#SBATCH",
                                                 "PartitionName"};
  std::string text;
  for (std::uint64_t i = rng.below(12); i > 0; --i) text += kPieces[rng.below(std::size(kPieces))];
  if (rng.chance(0.1)) text += static_cast<char>(rng.below(256));
  return text;
}

TEST(Robustness, EveryParserAnswers) {
  Rng rng(kRobustnessSeed);
  const FixedZone zone;
  for (int round = 0; round < 30000; ++round) {
    const std::string text = random_text(rng);
    SCOPED_TRACE(testing::Message()
                 << "seed " << kRobustnessSeed << " round " << round << ": " << text);
    const TimeContext context{TimePoint::from_seconds(rng.between(1, 4'000'000'000)), zone,
                              rng.chance(0.5) ? TimeDirection::kFuture : TimeDirection::kPast};
    if (const auto time = parse_time(text, context); time.has_value()) iso_time_text(*time, zone);
    if (const auto value = parse_array(text, 1001); value.has_value()) {
      EXPECT_EQ(parse_array(array_text(*value), 1001), *value);
    }
    if (const auto value = parse_dependency(text); value.has_value()) dependency_text(*value);
    if (const auto value = parse_gres(text); value.has_value() && !value->empty()) {
      EXPECT_EQ(parse_gres(gres_text(*value)), *value);
    }
    if (const auto value = parse_duration(text); value.has_value()) {
      EXPECT_EQ(parse_duration(padded_duration_text(*value)), *value);
    }
    if (const auto value = parse_memory(text);
        value.has_value() && *value < (std::uint64_t{1} << 40)) {
      EXPECT_EQ(parse_memory(memory_text(*value)), *value);
    }
    if (const auto value = expand_hostlist(text); value.has_value()) {
      EXPECT_LE(value->size(), kHostlistMax);
      EXPECT_EQ(expand_hostlist(compress_hostlist(*value)), *value);
    }
    (void)parse_gpus(text);
    (void)parse_features(text);
    (void)parse_signal_option(text);
    (void)parse_distribution(text);
    (void)apply_export(text, {"A=1"});
    (void)parse_short_format(text);
    (void)parse_long_format(text);
    (void)parse_accounting_format(text);
    (void)parse_batch_directives("#!/bin/sh\n#SBATCH " + text);
    (void)parse_slurm_conf("f", text);
    (void)expand_file_pattern(text, {.job = JobId(1)});
  }
}

}  // namespace
}  // namespace muster
