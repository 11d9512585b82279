#include "env/posix/own_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace muster {
namespace {

class OwnFolder : public ::testing::Test {
 protected:
  OwnFolder() {
    base_ = (std::filesystem::temp_directory_path() / "own-folder.XXXXXX").string();
    EXPECT_NE(::mkdtemp(base_.data()), nullptr);
  }
  ~OwnFolder() override { std::filesystem::remove_all(base_); }
  std::string refusal(const std::string& path) {
    const Status made = make_own_folder(path, 0755, "the spool");
    return made.has_value() ? "" : made.error().text();
  }
  std::string base_;
};

TEST_F(OwnFolder, OneIsMadeAndFoundAgain) {
  EXPECT_EQ(refusal(base_ + "/a"), "");
  EXPECT_EQ(refusal(base_ + "/a"), "");
  std::filesystem::create_directory_symlink(base_ + "/a", base_ + "/link");
  EXPECT_EQ(refusal(base_ + "/link"), "") << "a link of our own";
}

TEST_F(OwnFolder, WhatOthersMayWriteToIsRefused) {
  ASSERT_EQ(refusal(base_ + "/a"), "");
  ASSERT_EQ(::chmod((base_ + "/a").c_str(), 0757), 0);
  EXPECT_NE(refusal(base_ + "/a").find("others may write to the spool"), std::string::npos);
}

TEST_F(OwnFolder, WhatIsNoFolderIsRefused) {
  ASSERT_EQ(::symlink("/dev/null", (base_ + "/null").c_str()), 0);
  EXPECT_NE(refusal(base_ + "/null").find("is no folder"), std::string::npos);
  EXPECT_NE(refusal(base_ + "/none/below").find("cannot create the spool"), std::string::npos);
}

TEST_F(OwnFolder, AnotherUsersIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: gives a folder away";
  ASSERT_EQ(refusal(base_ + "/a"), "");
  ASSERT_EQ(::chown((base_ + "/a").c_str(), 65534, 65534), 0);
  EXPECT_NE(refusal(base_ + "/a").find("belongs to uid 65534"), std::string::npos);
  ASSERT_EQ(refusal(base_ + "/b"), "");
  std::filesystem::create_directory_symlink(base_ + "/b", base_ + "/link");
  ASSERT_EQ(::lchown((base_ + "/link").c_str(), 65534, 65534), 0);
  EXPECT_NE(refusal(base_ + "/link").find("another user's link"), std::string::npos);
}

}  // namespace
}  // namespace muster
