#include "cli/lib/session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/lib/filters.h"
#include "cli/lib/job_selector.h"
#include "wire/socket.h"

namespace muster::cli {
namespace {

TEST(ScanConf, FindsWhatAClientNeeds) {
  const ClusterAddress found = scan_conf(
      "/etc/x/slurm.conf",
      "# c\nclustername = Tiny # mine\nNodeName=a\nMusterController=\"unix:/run/c.sock\"\n");
  EXPECT_EQ(found.cluster_name, "tiny");
  EXPECT_EQ(found.controller, "unix:/run/c.sock");
  EXPECT_EQ(scan_conf("/etc/x/slurm.conf", "ClusterNameX=a\n").controller,
            "unix:/etc/x/controller.sock");
  EXPECT_EQ(scan_conf("slurm.conf", "").controller, "unix:./controller.sock");
  EXPECT_TRUE(scan_conf("slurm.conf", "ClusterName=a KillOnBadExit=1\n").kills_on_bad_exit)
      << "several on one line";
  EXPECT_EQ(scan_conf("slurm.conf", "KillWait=7\n").kill_wait, Duration::seconds(7));
  EXPECT_EQ(scan_conf("slurm.conf", "").kill_wait, Duration::seconds(30));
  EXPECT_EQ(scan_conf("slurm.conf", "MusterController=unix:/run/\\\nc.sock\n").controller,
            "unix:/run/c.sock")
      << "a line that goes on";
}

TEST(ScanConf, FollowsIncludesAsTheDaemonsDo) {
  const IncludeReader reader = [](std::string_view path) -> Result<std::string> {
    if (path == "tiny.conf") return "include more.conf\nNodeName=n[1-2]\n";
    if (path == "more.conf") return "MusterController=unix:/run/more.sock\nKillOnBadExit=1\n";
    return fail(ErrorCode::kNotFound, "no such file");
  };
  const ClusterAddress found =
      scan_conf("slurm.conf", "ClusterName=tiny\nInclude %c.conf\nInclude absent.conf\n", reader);
  EXPECT_EQ(found.controller, "unix:/run/more.sock");
  EXPECT_TRUE(found.kills_on_bad_exit);
}

TEST(FindCluster, SaysWhichFileIsMissing) {
  ::setenv("SLURM_CONF", "/nowhere/slurm.conf", 1);
  const ClusterAddress found = find_cluster();
  EXPECT_EQ(found.conf, "");
  EXPECT_NE(found.missing.find("/nowhere/slurm.conf"), std::string::npos) << found.missing;
  EXPECT_NE(found.missing.find("muster env"), std::string::npos) << found.missing;
  const Console console("squeue");
  Session session(console);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    const auto page = session.query(Query());
    ASSERT_FALSE(page.has_value());
    EXPECT_EQ(page.error().text(), "Unable to contact slurm controller (connect failure)");
  }
  ::unsetenv("SLURM_CONF");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "squeue: error: " + found.missing + "\n")
      << "once";
}

/// A session of a cluster whose controller listens on a socket, and nobody behind it answers.
class SilentController : public ::testing::Test {
 protected:
  SilentController() : folder_(::testing::TempDir() + "silent-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    std::ofstream(conf()) << "ClusterName=tiny\n";
    ::setenv("SLURM_CONF", conf().c_str(), 1);
  }
  ~SilentController() override {
    ::unsetenv("SLURM_CONF");
    std::filesystem::remove_all(folder_);
  }
  std::string conf() const { return folder_ + "/slurm.conf"; }
  std::string socket() const { return folder_ + "/controller.sock"; }
  /// How long it takes until the wait for the next epoch is given up.
  static std::chrono::milliseconds wait_in_vain(Duration limit) {
    const Console console("scontrol");
    Session session(console);
    const auto begin = std::chrono::steady_clock::now();
    const Status back = session.await_epoch_after(Epoch(1), limit);
    EXPECT_FALSE(back.has_value());
    EXPECT_EQ(back.has_value() ? ErrorCode::kInternal : back.error().code,
              ErrorCode::kDeadlineExceeded);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 begin);
  }

 private:
  std::string folder_;
};

TEST_F(SilentController, IsWaitedForNoLongerThanTheLimitWhenNobodyListens) {
  const auto taken = wait_in_vain(Duration::milliseconds(300));
  EXPECT_GE(taken, std::chrono::milliseconds(300));
  EXPECT_LT(taken, std::chrono::seconds(5));
}

TEST_F(SilentController, IsWaitedForNoLongerThanTheLimitWhenNobodyAnswers) {
  const int fd = listen_unix(socket(), 0600).value();
  const auto taken = wait_in_vain(Duration::milliseconds(300));
  EXPECT_GE(taken, std::chrono::milliseconds(300));
  EXPECT_LT(taken, std::chrono::seconds(5));
  ::close(fd);
}

TEST_F(SilentController, IsWaitedForNoLongerThanTheLimitWhenItsQueueIsFull) {
  const int fd = listen_unix(socket(), 0600).value();
  ASSERT_EQ(::listen(fd, 0), 0);
  std::vector<int> queued;
  for (auto made = connect_at_once("unix:" + socket()); made.has_value() && queued.size() < 100;
       made = connect_at_once("unix:" + socket()))
    queued.push_back(*made);
  EXPECT_LT(wait_in_vain(Duration::milliseconds(300)), std::chrono::seconds(5));
  for (const int one : queued) ::close(one);
  ::close(fd);
}

TEST(JobSelectors, OfAViewIsWhatItShows) {
  JobView view;
  view.id = JobId(12);
  EXPECT_EQ(selector_text(selector_of(view).value()), "12");
  view.array_job = JobId(12);
  view.array_remaining = "1-3";
  EXPECT_EQ(selector_text(selector_of(view).value()), "12_[1-3]");
  view.array_index = 7;
  view.id = JobId(40);
  EXPECT_EQ(selector_text(selector_of(view).value()), "12_7");
}

TEST(JobSelectors, AllForms) {
  EXPECT_EQ(selector_text(parse_job_selector("12").value()), "12");
  EXPECT_EQ(selector_text(parse_job_selector("12_3").value()), "12_3");
  EXPECT_EQ(selector_text(parse_job_selector("12_[0-2,7]").value()), "12_[0-2,7]");
  EXPECT_EQ(selector_text(parse_job_selector("12_3.batch").value()), "12_3.batch");
  EXPECT_EQ(selector_text(parse_job_selector("12.0").value()), "12.0");
  EXPECT_FALSE(parse_job_selector("12_*").value().is_element);
  for (const char* bad : {"", "0", "x", "12_", "12.", "12.x", "12+1", "-1"})
    EXPECT_FALSE(parse_job_selector(bad).has_value()) << bad;
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
