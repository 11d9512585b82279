#include "text/printable_text.h"

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

TEST(PrintableText, WhatTerminalsObeyBeyondAsciiIsShownEscaped) {
  EXPECT_TRUE(is_printable("Gr\xc3\xbc\xc3\x9f\x65 \xe6\xbc\xa2 \xf0\x9f\x98\x80"));
  EXPECT_EQ(printable("a\xc2\x9b[31m"), "a\\302\\233[31m") << "C1's CSI";
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\342\\200\\256b")
      << "turns the line round";
  EXPECT_EQ(printable("bad\xff"), "bad\\377");
  EXPECT_FALSE(is_printable("\xe2\x81\xa6"));
  EXPECT_FALSE(is_printable("\xe2\x80\xa8")) << "a separator of lines";
}

TEST(PrintableText, OnlyLineFeedsOfALongTextStay) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[1mc\r\n"), "a\\tb\n\\033[1mc\\015\n");
  EXPECT_EQ(printable_lines(""), "");
  EXPECT_EQ(printable_lines("\n\n"), "\n\n");
  EXPECT_EQ(printable_lines("no end"), "no end");
}

TEST(PrintableText, WhatIsShownIsPrintableWhateverTheBytes) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = {'a', static_cast<char>(c), 'b'};
    EXPECT_TRUE(is_printable(printable(text))) << c;
    EXPECT_EQ(is_printable(text), printable(text) == text) << c;
  }
}

}  // namespace
}  // namespace muster
