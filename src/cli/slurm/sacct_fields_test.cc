#include "cli/slurm/sacct_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/lib/testing.h"

namespace muster::cli {
namespace {

using namespace testing;

std::string cell(std::string_view name, const JobView& job, const StepView* step = nullptr,
                 char unit = 0) {
  const AccountField* field = find_account_field(name);
  EXPECT_NE(field, nullptr) << name;
  if (field == nullptr || field->show == nullptr) return "";
  return field->show(AccountRow{&job, step}, AccountContext{test_context(), unit});
}

TEST(SacctFields, JobsAndSteps) {
  JobView job = running_job();
  job.state = JobState::kCancelled;
  job.cancelled_by = UserId(1000);
  job.exit = ExitStatus::signalled(15);
  job.end_time = test_now();
  const StepView step = batch_step();
  const struct {
    const char* name;
    const char* job;
    const char* step;
  } cases[] = {
      {"jobid", "12", "12.batch"},
      {"JobIDRaw", "12", "12.batch"},
      {"JobName", "train", "batch"},
      {"Partition", "gpu", ""},
      {"State", "CANCELLED by 1000", "COMPLETED"},
      {"ExitCode", "0:15", "0:0"},
      {"AllocCPUS", "8", "4"},
      {"NNodes", "2", "1"},
      {"Elapsed", "00:01:05", "00:01:00"},
      {"ElapsedRaw", "65", "60"},
      {"CPUTimeRAW", "520", "240"},
      {"User", "ada", ""},
      {"MaxRSS", "", "2M"},
      {"TotalCPU", "00:00.000", "00:01.750"},
      {"UserCPU", "00:00.000", "00:01.500"},
      {"NTasks", "", "1"},
      {"NodeList", "n[1-2]", "n1"},
      {"ReqMem", "8G", ""},
      {"Timelimit", "1-00:00:00", ""},
      {"TimelimitRaw", "1440", ""},
      {"Start", "2026-08-21T15:58:55", "2026-08-21T15:58:55"},
      {"End", "2026-08-21T16:00:00", "2026-08-21T15:59:55"},
      {"Planned", "00:58:55", ""},
      {"WorkDir", "/home/ada", ""},
      {"AveDiskRead", "", ""},
  };
  for (const auto& [name, of_job, of_step] : cases) {
    EXPECT_EQ(cell(name, job), of_job) << name;
    EXPECT_EQ(cell(name, job, &step), of_step) << name;
  }
  EXPECT_EQ(cell("maxrss", job, &step, 'G'), "0.00G");
  EXPECT_EQ(cell("maxrss", job, &step, 'K'), "2048K");
}

TEST(SacctFields, EveryMemoryIsInTheUnitThatIsWanted) {
  JobView job = running_job();
  StepView step = batch_step();
  step.allocated_tres = "cpu=4,mem=2G,node=1";
  step.usage.max_rss_kib = 1536;
  const auto shown = [&](const char* field, const StepView* of, bool is_converted, char unit) {
    AccountContext context{test_context(), unit};
    context.show.is_converted = is_converted;
    return find_account_field(field)->show(AccountRow{&job, of}, context);
  };
  const struct {
    bool is_converted;
    char unit;
    const char* memory;
    const char* step_memory;
    const char* max_rss;
  } cases[] = {
      {true, 0, "8G", "2G", "1536K"},
      {false, 0, "8192M", "2048M", "1536K"},
      {true, 'K', "8388608K", "2097152K", "1536K"},
      {true, 'M', "8192M", "2048M", "1.50M"},
      {false, 'G', "8G", "2G", "0.00G"},
      {true, 'T', "0.01T", "0.00T", "0.00T"},
  };
  for (const auto& [is_converted, unit, memory, step_memory, max_rss] : cases) {
    const std::string tres =
        fmt::format("cpu=8,mem={},node=2,billing=8,gres/gpu=4,gres/gpu:h100=4", memory);
    EXPECT_EQ(shown("ReqMem", nullptr, is_converted, unit), memory);
    EXPECT_EQ(shown("ReqTRES", nullptr, is_converted, unit), tres);
    EXPECT_EQ(shown("AllocTRES", nullptr, is_converted, unit), tres);
    EXPECT_EQ(shown("AllocTRES", &step, is_converted, unit),
              fmt::format("cpu=4,mem={},node=1", step_memory));
    EXPECT_EQ(shown("MaxRSS", &step, is_converted, unit), max_rss);
  }
  job.requested_tres = job.allocated_tres = "cpu=1";
  EXPECT_EQ(shown("ReqMem", nullptr, false, 'G'), "0");
  EXPECT_EQ(shown("ReqTRES", nullptr, false, 'G'), "cpu=1");
}

TEST(SacctFields, Pending) {
  const JobView job = pending_job();
  EXPECT_EQ(cell("Start", job), "Unknown");
  EXPECT_EQ(cell("End", job), "Unknown");
  EXPECT_EQ(cell("AllocCPUS", job), "0");
  EXPECT_EQ(cell("ReqCPUS", job), "8");
  EXPECT_EQ(cell("NodeList", job), "None assigned");
  EXPECT_EQ(cell("JobID", array_job()), "12_[3-15%4]");
}

TEST(SacctFields, NamesAreUniqueAndHaveWidths) {
  std::set<std::string> names;
  for (const AccountField& field : account_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_NE(field.width, 0);
    EXPECT_EQ(find_account_field(field.name), &field);
  }
  EXPECT_GE(names.size(), 110U);
  EXPECT_EQ(find_account_field("nope"), nullptr);
}

}  // namespace
}  // namespace muster::cli
