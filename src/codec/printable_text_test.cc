#include "codec/printable_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(PrintableText, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(printable("x\x1b]0;pwned\a\nred\x7f"), "x\\033]0;pwned\\007\\nred\\177");
  EXPECT_EQ(printable("a\tb"), "a\\tb");
  EXPECT_FALSE(is_printable("a\nb"));
}

TEST(PrintableText, OtherTextIsAsItWas) {
  const char* text = "caf\u00e9 C:\\dir {x} %j";
  EXPECT_TRUE(is_printable(text));
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace muster
