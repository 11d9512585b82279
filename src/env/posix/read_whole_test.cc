#include "env/posix/read_whole.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

struct ReadWhole : ::testing::Test {
  ReadWhole() {
    char name[] = "/tmp/muster-read.XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~ReadWhole() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(ReadWhole, GivesAllBytes) {
  const std::string bytes = std::string(200'000, 'x') + '\0' + "end";
  std::ofstream(folder + "/file", std::ios::binary) << bytes;
  EXPECT_EQ(read_whole(folder + "/file").value(), bytes);
  std::ofstream(folder + "/empty") << "";
  EXPECT_EQ(read_whole(folder + "/empty").value(), "");
}

TEST_F(ReadWhole, WhatIsNotThereIsNoError) {
  EXPECT_EQ(read_whole(folder + "/none").value(), std::nullopt);
}

TEST_F(ReadWhole, WhatIsThereAndCannotBeReadIsOne) {
  EXPECT_EQ(read_whole(folder).error().text(), "cannot read " + folder + ": Is a directory");
  std::filesystem::create_symlink("loop", folder + "/loop");
  EXPECT_EQ(read_whole(folder + "/loop").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster
