#include "slurm/spool_path.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace muster
