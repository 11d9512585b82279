#include "store/files/compression.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::size_t kMost = 1 << 20;

TEST(Compression, GivesBackWhatItWasGiven) {
  const std::string repeated(10'000, 'a');
  EXPECT_LT(compressed(repeated).size(), 100U);
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string("\0\xff", 2), repeated})
    EXPECT_EQ(decompressed(compressed(bytes), kMost).value(), bytes);
}

TEST(Compression, BytesThatDoNotShrinkAreStoredBehindAMark) {
  const std::string short_text = "abc";
  EXPECT_EQ(compressed(short_text).size(), short_text.size() + 1);
}

TEST(Compression, LengthsBeyondWhatIsCredibleAreRefusedBeforeTheyCostMemory) {
  for (const std::string& bytes : {std::string("abcdef"), std::string(10'000, 'a')}) {
    const auto refused = decompressed(compressed(bytes), bytes.size() - 1);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kCorruption);
    EXPECT_NE(refused.error().text().find("its length is not credible"), std::string::npos)
        << refused.error().text();
    EXPECT_TRUE(decompressed(compressed(bytes), bytes.size()).has_value());
  }
}

TEST(Compression, DamageIsNamed) {
  EXPECT_NE(decompressed("", kMost).error().text().find("is empty"), std::string::npos);
  EXPECT_NE(decompressed("?abc", kMost).error().text().find("unknown form"), std::string::npos);
  std::string bytes = compressed(std::string(10'000, 'a'));
  EXPECT_FALSE(
      decompressed(std::string_view(bytes).substr(0, bytes.size() - 1), kMost).has_value());
  bytes.resize(3);
  EXPECT_FALSE(decompressed(bytes, kMost).has_value()) << "not even a frame's beginning";
}

}  // namespace
}  // namespace muster
