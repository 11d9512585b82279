// The script of a trial's run, run by the shell as a node does.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "env/posix/process_runner.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

TEST(TrialScript, ARunThatWasAskedToStopBeforeItBeganEnds) {
  const std::string path = ::testing::TempDir() + "trial_script." + std::to_string(::getpid());
  std::ofstream(path) << trial_script("");
  const auto exit_of = [&path](const std::string& stop_file) {
    ProcessSpec spec;
    spec.arguments = {"/bin/sh", path};
    spec.environment = {"MUSTER_ENTRYPOINT=exit 7", "MUSTER_STOP_FILE=" + stop_file};
    spec.work_dir = "/";
    spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
    const auto pid = start_process(spec);
    EXPECT_TRUE(pid.has_value());
    int status = 0;
    EXPECT_EQ(::waitpid(pid.value_or(-1), &status, 0), pid.value_or(0));
    return WEXITSTATUS(status);
  };
  EXPECT_EQ(exit_of(path), 0) << "a stop file is there";
  EXPECT_EQ(exit_of(path + ".none"), 7);
  EXPECT_EQ(exit_of(""), 7);
  std::remove(path.c_str());
}

/// A change of the experiment's visibility holds on disk from its next run on.
TEST(TrialScript, TheExperimentsFolderIsOpenToThoseWhomTheExperimentIsOpenTo) {
  const std::string folder = ::testing::TempDir() + "experiment." + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(folder.c_str(), 0755), 0);
  const std::string path = folder + "/script";
  std::ofstream(path) << trial_script("");
  const auto mode_after = [&](const std::string& visibility) {
    ProcessSpec spec;
    spec.arguments = {"/bin/sh", path};
    spec.environment = {"PATH=/usr/bin:/bin", "MUSTER_ENTRYPOINT=true",
                        "MUSTER_RUN_DIR=" + folder + "/trial-1", "MUSTER_VISIBILITY=" + visibility};
    spec.work_dir = "/";
    spec.umask = 027;
    spec.user = ProcessUser{::geteuid(), ::getegid(), ""};
    const auto pid = start_process(spec);
    EXPECT_TRUE(pid.has_value());
    int status = 0;
    EXPECT_EQ(::waitpid(pid.value_or(-1), &status, 0), pid.value_or(0));
    EXPECT_EQ(status, 0);
    struct stat found {};
    EXPECT_EQ(::stat(folder.c_str(), &found), 0);
    return found.st_mode & 0777U;
  };
  EXPECT_EQ(mode_after("private"), 0700U);
  EXPECT_EQ(mode_after("cluster"), 0750U) << "as the user's mask leaves it";
  EXPECT_EQ(mode_after("private"), 0700U);
  std::remove(path.c_str());
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace muster
