#include "cli/session.h"

#include <gtest/gtest.h>

#include "cli/filters.h"
#include "cli/job_selector.h"

namespace muster::cli {
namespace {

TEST(ScanConf, FindsWhatAClientNeeds) {
  const ClusterAddress found = scan_conf("/etc/x/slurm.conf", "# c\nclustername = Tiny # mine\nNodeName=a\nMusterController=\"unix:/run/c.sock\"\n");
  EXPECT_EQ(found.cluster_name, "tiny");
  EXPECT_EQ(found.controller, "unix:/run/c.sock");
  EXPECT_EQ(scan_conf("/etc/x/slurm.conf", "ClusterNameX=a\n").controller, "unix:/etc/x/controller.sock");
  EXPECT_EQ(scan_conf("slurm.conf", "").controller, "unix:./controller.sock");
  EXPECT_TRUE(scan_conf("slurm.conf", "ClusterName=a KillOnBadExit=1\n").kills_on_bad_exit) << "several on one line";
  EXPECT_EQ(scan_conf("slurm.conf", "KillWait=7\n").kill_wait, Duration::seconds(7));
  EXPECT_EQ(scan_conf("slurm.conf", "").kill_wait, Duration::seconds(30));
  EXPECT_EQ(scan_conf("slurm.conf", "MusterController=unix:/run/\\\nc.sock\n").controller, "unix:/run/c.sock") << "a line that goes on";
}

TEST(ScanConf, FollowsIncludesAsTheDaemonsDo) {
  const IncludeReader reader = [](std::string_view path) -> Result<std::string> {
    if (path == "tiny.conf") return "include more.conf\nNodeName=n[1-2]\n";
    if (path == "more.conf") return "MusterController=unix:/run/more.sock\nKillOnBadExit=1\n";
    return fail(ErrorCode::kNotFound, "no such file");
  };
  const ClusterAddress found = scan_conf("slurm.conf", "ClusterName=tiny\nInclude %c.conf\nInclude absent.conf\n", reader);
  EXPECT_EQ(found.controller, "unix:/run/more.sock");
  EXPECT_TRUE(found.kills_on_bad_exit);
}

TEST(JobSelectors, AllForms) {
  EXPECT_EQ(selector_text(parse_job_selector("12").value()), "12");
  EXPECT_EQ(selector_text(parse_job_selector("12_3").value()), "12_3");
  EXPECT_EQ(selector_text(parse_job_selector("12_[0-2,7]").value()), "12_[0-2,7]");
  EXPECT_EQ(selector_text(parse_job_selector("12_3.batch").value()), "12_3.batch");
  EXPECT_EQ(selector_text(parse_job_selector("12.0").value()), "12.0");
  EXPECT_FALSE(parse_job_selector("12_*").value().is_element);
  for (const char* bad : {"", "0", "x", "12_", "12.", "12.x", "12+1", "-1"}) EXPECT_FALSE(parse_job_selector(bad).has_value()) << bad;
  EXPECT_EQ(parse_job_selectors("1,2_[0-1,4],3.0").value().size(), 3U);
}

TEST(StateFilters, NamesCodesAndAll) {
  const StateFilter some = parse_states("PD,running,CG").value();
  EXPECT_TRUE(some.matches(JobState::kPending, 0));
  EXPECT_TRUE(some.matches(JobState::kFailed, job_flag::kCompleting));
  EXPECT_FALSE(some.matches(JobState::kFailed, 0));
  EXPECT_TRUE(parse_states("all").value().matches(JobState::kTimeout, 0));
  EXPECT_TRUE(parse_states("CONFIGURING").has_value());
  EXPECT_EQ(parse_states("nope").error().message, "Invalid job state specified: nope");
}

}  // namespace
}  // namespace muster::cli
