#include "stepd/private_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace muster {
namespace {

unsigned mode_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 0777U : 0U;
}

struct PrivateFolderTest : ::testing::Test {
  ~PrivateFolderTest() override { std::filesystem::remove_all(root); }
  Status make(const std::string& visibility) const {
    LaunchStep launch;
    auto job = std::make_shared<JobSpec>();
    job->umask = 022;
    launch.job = job;
    launch.variables = {"MUSTER_RUN_DIR=" + experiment + "/trial-1"};
    if (!visibility.empty()) launch.variables.push_back("MUSTER_VISIBILITY=" + visibility);
    return make_private_folder(launch, ProcessUser{::geteuid(), ::getegid(), ""});
  }
  std::string root = ::testing::TempDir() + fmt::format("private_folder_{}", ::getpid());
  std::string experiment = root + "/runs/experiment-1";
};

TEST_F(PrivateFolderTest, IsClosedBeforeAnythingLiesInItAndThoseAboveAreNot) {
  ASSERT_TRUE(make("private").has_value());
  EXPECT_EQ(mode_of(experiment), 0700U);
  EXPECT_EQ(mode_of(root + "/runs"), 0755U);
  EXPECT_TRUE(make("private").has_value()) << "the next run finds it";
}

TEST_F(PrivateFolderTest, IsOfPrivateExperimentsAlone) {
  for (const char* visibility : {"", "project", "cluster"}) {
    ASSERT_TRUE(make(visibility).has_value());
    EXPECT_FALSE(std::filesystem::exists(root)) << visibility;
  }
}

}  // namespace
}  // namespace muster
