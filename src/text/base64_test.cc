#include "text/base64.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace muster {
namespace {

TEST(Base64, WritesWhatTheStandardDoes) {
  // Source: RFC 4648, section 10.
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(base64_text(bytes), text);
    EXPECT_EQ(parse_base64(text).value(), bytes);
  }
}

TEST(Base64, AddressesGetLettersThatTheyMayHoldAndNoPadding) {
  EXPECT_EQ(base64_text("\xff\xef\xbe"), "/+++");
  EXPECT_EQ(base64url_text("\xff\xef\xbe"), "_---");
  EXPECT_EQ(base64url_text("f"), "Zg");
  EXPECT_EQ(base64url_text(""), "");
}

TEST(Base64, EveryLengthAndEveryByteReadsBack) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(parse_base64(base64_text(bytes)).value(), bytes);
    EXPECT_EQ(parse_base64(base64url_text(bytes)).value(), bytes);
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Base64, PaddingMayBeMissing) {
  for (const char* text : {"TQ", "TQ="}) EXPECT_EQ(parse_base64(text).value(), "M") << text;
  EXPECT_EQ(parse_base64("====").value(), "");
}

TEST(Base64, RefusesWhatIsCutOrNoLetterOfEitherAlphabet) {
  for (const char* text : {"T", "TWFuT", "TW!u", "TQ=a", "TQ ==", "TWFu\n", "\xc3\xa9TQ"}) {
    const auto bytes = parse_base64(text);
    ASSERT_FALSE(bytes.has_value()) << text;
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(bytes.error().message, "this is no base64 text");
  }
  EXPECT_EQ(parse_base64("TW!u").error().detail, "character 2");
  EXPECT_EQ(parse_base64("T").error().detail, "its end is missing");
}

TEST(Base64, OnlyTheAlphabetsCharactersAreRead) {
  int read = 0;
  for (int c = 0; c < 256; ++c)
    read += parse_base64(std::string(4, static_cast<char>(c))).has_value() ? 1 : 0;
  EXPECT_EQ(read, 64 + 2 + 1) << "both alphabets, and padding alone";
}

}  // namespace
}  // namespace muster
