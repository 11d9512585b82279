#include "text/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text;
}

TEST(Digest, IsTheStandards) {
  // Source: FIPS 180-4's examples (csrc.nist.gov, SHA256.pdf and SHA2_Additional.pdf).
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, ANulIsAByteAsAnyOther) {
  EXPECT_EQ(sha256("abc").size(), 32U);
  EXPECT_NE(sha256(std::string_view("a\0b", 3)), sha256("a"));
  EXPECT_NE(sha256(std::string_view("\0", 1)), sha256(""));
}

}  // namespace
}  // namespace muster
