// Lines of logs as they are shown.
#include "cli/muster/log_options.h"

#include <gtest/gtest.h>

namespace muster::cli {
namespace {

TEST(LogLine, WhatAVeryLongLineGoesOnWithIsMarked) {
  LogLine line;
  line.rank = 3;
  line.time = TimePoint::unset();
  line.text = "x";
  const ShowContext context;
  EXPECT_TRUE(log_line_text(line, false, context).ends_with(" [rank=3] x\n"));
  line.is_continuation = true;
  EXPECT_TRUE(log_line_text(line, false, context).ends_with(" [rank=3] [continued] x\n"));
  EXPECT_EQ(log_line_text(line, true, context), "[continued] x\n");
  line.is_continuation = false;
  EXPECT_EQ(log_line_text(line, true, context), "x\n");
}

TEST(LogLine, ATerminalGetsColoursAndNoOtherControlCharacters) {
  EXPECT_EQ(harmless_text("loss=1\t\x1b[1;31mred\x1b[0m\n"), "loss=1\t\x1b[1;31mred\x1b[0m\n");
  EXPECT_EQ(harmless_text("\x1b[2J\x1b]0;title\x07"), "^[[2J^[]0;title^G");
  EXPECT_EQ(harmless_text(std::string_view("a\0b\rc\x7f", 6)), "a^@b^Mc^?");
  EXPECT_EQ(harmless_text("\xc2\x9b"
                          "2J \xc3\xa9"),
            "\\u009b2J \xc3\xa9");
  EXPECT_EQ(harmless_text("\x1b[31"), "^[[31") << "a sequence that never ends";
  EXPECT_EQ(harmless_text(""), "");
}

}  // namespace
}  // namespace muster::cli
