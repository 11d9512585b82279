#include "stepd/experiment_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace muster {
namespace {

constexpr std::uint32_t kOther = 65534;

unsigned mode_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0U;
}

struct ExperimentFolderTest : ::testing::Test {
  ~ExperimentFolderTest() override { std::filesystem::remove_all(root); }
  Status make(const std::string& visibility) const {
    LaunchStep launch;
    auto job = std::make_shared<JobSpec>();
    job->umask = 022;
    launch.job = job;
    launch.variables = {"MUSTER_RUN_DIR=" + experiment + "/trial-1",
                        "MUSTER_VISIBILITY=" + visibility};
    return make_experiment_folder(launch, ProcessUser{::geteuid(), ::getegid(), ""});
  }
  std::string root = ::testing::TempDir() + fmt::format("experiment_folder_{}", ::getpid());
  std::string experiment = root + "/runs/experiment-1";
};

TEST_F(ExperimentFolderTest, OfAPrivateOneIsClosedBeforeAnythingLiesInItAndThoseAboveAreNot) {
  ASSERT_TRUE(make("private").has_value());
  EXPECT_EQ(mode_of(experiment), 0700U);
  EXPECT_EQ(mode_of(root + "/runs"), 0755U);
  EXPECT_TRUE(make("private").has_value()) << "the next run finds it";
}

TEST_F(ExperimentFolderTest, OfOthersIsOpen) {
  ASSERT_TRUE(make("project").has_value());
  EXPECT_EQ(mode_of(experiment), 0755U);
}

TEST_F(ExperimentFolderTest, WhatIsNoTrialsRunHasNone) {
  LaunchStep launch;
  launch.job = std::make_shared<JobSpec>();
  EXPECT_TRUE(
      make_experiment_folder(launch, ProcessUser{::geteuid(), ::getegid(), ""}).has_value());
}

/// He could put his own code in the place of the experiment's.
TEST_F(ExperimentFolderTest, OfSomebodyElseIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make another user's folder";
  for (const char* visibility : {"private", "project", "cluster"}) {
    std::filesystem::create_directories(experiment);
    ASSERT_EQ(::chown(experiment.c_str(), kOther, kOther), 0);
    const Status made = make(visibility);
    ASSERT_FALSE(made.has_value()) << visibility;
    EXPECT_EQ(made.error().code, ErrorCode::kPermissionDenied);
    EXPECT_NE(made.error().message.find(experiment), std::string::npos) << made.error().text();
  }
}

/// Else he could lead the run into another folder of its owner.
TEST_F(ExperimentFolderTest, BehindALinkOfSomebodyElseIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to make another user's link";
  std::filesystem::create_directories(root + "/own");
  std::filesystem::create_directories(root + "/runs");
  std::filesystem::create_directory_symlink(root + "/own", experiment);
  EXPECT_TRUE(make("project").has_value()) << "one's own link is";
  ASSERT_EQ(::lchown(experiment.c_str(), kOther, kOther), 0);
  EXPECT_FALSE(make("project").has_value());
}

}  // namespace
}  // namespace muster
