#include "slurm/spool_path.h"

#include <gtest/gtest.h>

#include <set>

namespace muster {
namespace {

TEST(SpoolPath, OfARunAndItsSteps) {
  const StepId step{JobId(7), 2, 3};
  EXPECT_EQ(run_folder("/s", step), "/s/job00007.2");
  EXPECT_EQ(script_path("/s", step), "/s/job00007.2/slurm_script");
  EXPECT_EQ(stop_path("/s", step), "/s/job00007.2/stop");
  EXPECT_NE(view_folder("/s", step), view_folder("/s", StepId{JobId(7), 2, kBatchStep}));
}

TEST(SpoolPath, OutputFilesSayWhoseTheyAre) {
  const OutputFileName name{{JobId(7), 2, kBatchStep}, TrialId(9), 1, 12, LogStream::kStderr, 4};
  EXPECT_EQ(output_file_text(name), "7.2.4294967291.9.1.12.1.4");
  EXPECT_EQ(parse_output_file(output_file_text(name)), name);
  EXPECT_EQ(name.id(),
            (LogStreamId{
                {LogOwnerKind::kTrial, 9}, 7, 12, LogStream::kStderr, log_source(kBatchStep, 1)}));
  for (const char* text : {"", ".", "7.2.1.9.1.12.0", "7.2.1.9.1.12.2.0", "7.2.1.9.1.12.x.0",
                           "7.2.1.9.1.-1.0.0", "7.2.1.9.1.1.0.0.0"}) {
    EXPECT_FALSE(parse_output_file(text)) << text;
  }
}

TEST(SpoolPath, NoTwoStepsShareAPlaceAKeyOrAMark) {
  std::set<std::string> folders;
  std::set<std::uint64_t> keys;
  std::set<std::string> marks;
  std::size_t count = 0;
  for (const std::uint32_t job : {1U, 11U, 99'999U, 100'000U, 4'294'967'295U}) {
    for (const std::uint32_t attempt : {0U, 1U, 11U}) {
      for (const std::uint32_t step : {0U, 1U, 11U, kBatchStep, kExternStep}) {
        const StepId id{JobId(job), attempt, step};
        folders.insert(view_folder("/s", id));
        keys.insert(supervisor_key(id));
        marks.insert(step_mark("/s", id));
        ++count;
      }
    }
  }
  EXPECT_EQ(folders.size(), count);
  EXPECT_EQ(keys.size(), count);
  EXPECT_EQ(marks.size(), count);
}

TEST(SpoolPath, AMarkIsOfOneSpoolOfTheHost) {
  const StepId step{JobId(7), 2, 3};
  const std::string mark = step_mark("/s", step);
  EXPECT_EQ(mark.substr(0, 12), "MUSTER_STEP=");
  EXPECT_TRUE(mark.ends_with(".7.2.3")) << mark;
  EXPECT_NE(step_mark("/other", step), mark);
  EXPECT_EQ(step_mark("/s", step), mark);
}

TEST(SpoolPath, CommonFilesLieInTheSpoolItself) {
  EXPECT_EQ(supervisors_lock_path("/s"), "/s/supervisors.lock");
  EXPECT_EQ(output_folder("/s"), "/s/output");
  EXPECT_EQ(run_folder("/s", {JobId(123456), 0, 0}), "/s/job123456.0");
}

TEST(SpoolPath, NumbersOfOutputFilesGoToTheirEnds) {
  constexpr std::uint32_t kMost = 4'294'967'295U;
  const OutputFileName most{{JobId(kMost), kMost, kMost}, TrialId(kMost), kMost, kMost,
                            LogStream::kStdout,           kMost};
  EXPECT_EQ(parse_output_file(output_file_text(most)), most);
  EXPECT_FALSE(parse_output_file("4294967296.0.0.0.0.0.0.0"));
  EXPECT_FALSE(parse_output_file("1.2.3.4.5.6.0."));
  EXPECT_FALSE(parse_output_file(" 1.2.3.4.5.6.0.7"));
  EXPECT_FALSE(parse_output_file("1.2.3.4.5.6.0.7.tmp"));
}

}  // namespace
}  // namespace muster
