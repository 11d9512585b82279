#include "text/launch_size.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

Bytes bytes_of(std::size_t count) { return std::make_shared<const std::string>(count, 'x'); }

TEST(LaunchSize, WhatMayBeLargeAddsUpToAMessageLessAMebibyte) {
  constexpr std::size_t kMost = kLaunchBytesMax - (std::size_t{1} << 20);
  LaunchStep launch;
  EXPECT_TRUE(check_launch_size(launch).has_value()) << "neither script nor environment";
  launch.script = bytes_of(kMost - 30);
  launch.environment = bytes_of(10);
  launch.variables = {std::string(5, 'v'), std::string(5, 'v')};
  launch.files.push_back({"/secret", std::string(10, 't')});
  EXPECT_TRUE(check_launch_size(launch).has_value());
  launch.files.back().text += '!';
  const Status refused = check_launch_size(launch);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find(std::to_string(kMost + 1)), std::string::npos);
  launch.files.clear();
  EXPECT_TRUE(check_launch_size(launch).has_value());
  launch.variables.push_back(std::string(11, 'v'));
  EXPECT_FALSE(check_launch_size(launch).has_value());
}

TEST(LaunchSize, TheLargestCodeAndEnvironmentFitIntoOneMessage) {
  LaunchStep launch;
  launch.script = bytes_of(kCodeBytesMax);
  launch.environment = bytes_of(kEnvironmentBytesMax);
  EXPECT_TRUE(check_launch_size(launch).has_value());
}

TEST(LaunchSize, CodeIsBoundedAndTheErrorNamesTheWayOut) {
  EXPECT_TRUE(check_code_size(0).has_value());
  EXPECT_TRUE(check_code_size(kCodeBytesMax).has_value());
  const Status refused = check_code_size(kCodeBytesMax + 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the code comes to more than 56 MiB");
  EXPECT_NE(refused.error().detail.find(".detignore"), std::string::npos);
}

std::string variable(std::size_t bytes) { return "BIG=" + std::string(bytes - 4, 'x'); }

TEST(LaunchSize, OneVariableMayBeAsLongAsTheKernelTakes) {
  const auto block = [](const std::string& one) {
    return std::string("A=1\0", 4) + one + std::string("\0Z=2\0", 5);
  };
  EXPECT_TRUE(check_environment("").has_value());
  EXPECT_TRUE(check_environment(block(variable(kVariableBytesMax))).has_value());
  const Status refused = check_environment(block(variable(kVariableBytesMax + 1)));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the variable BIG has 131072 bytes, more than 131071");
}

TEST(LaunchSize, ALongNameIsCutWhereItIsShown) {
  const Status refused = check_environment(std::string(kVariableBytesMax + 1, '\x1b'));
  ASSERT_FALSE(refused.has_value());
  EXPECT_LT(refused.error().message.size(), 500U);
  EXPECT_NE(refused.error().message.find("\\033"), std::string::npos) << "and moves no cursor";
}

TEST(LaunchSize, TheWholeEnvironmentIsBounded) {
  std::string block;
  while (block.size() + kVariableBytesMax + 1 <= kEnvironmentBytesMax)
    block += variable(kVariableBytesMax) + '\0';
  EXPECT_TRUE(check_environment(block).has_value());
  EXPECT_EQ(block.size(), kEnvironmentBytesMax);
  const Status refused = check_environment(block + '\0');
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "the environment comes to 4 MiB, more than 4");
}

}  // namespace
}  // namespace muster
