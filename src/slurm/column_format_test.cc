#include "slurm/column_format.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// "^prefix^ .18i|suffix| ..." : each column's justification, width, letter or name, and suffix.
std::string shown(const Result<ColumnFormat>& format) {
  if (!format.has_value()) return format.error().message;
  std::string text = "^" + format->prefix + "^";
  for (const ColumnSpec& column : format->columns) {
    text += column.is_right ? " ." : " ";
    text += column.has_width ? std::to_string(column.width) : "-";
    text += column.letter != 0 ? std::string(1, column.letter) : column.name;
    text += "|" + column.suffix + "|";
  }
  return text;
}

TEST(ColumnFormat, ReadsShortFormats) {
  const std::pair<const char*, const char*> cases[] = {
      {"%.18i %.9P|%j", "^^ .18i| | .9P||| -j||"},
      {"%i", "^^ -i||"},
      {"id=%8i;", "^id=^ 8i|;|"},
      {"%.i", "^^ .-i||"},
      {"%i%%%t", "^^ -i|%| -t||"},
      {"%%x", "^%x^"},
      {"", "^^"},
      {"%0j", "^^ 0j||"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(shown(parse_short_format(text)), expected) << text;
  for (const char* bad : {"%", "%8", "%.", "%-8j", "% j", "%99999i", "%i %"}) {
    EXPECT_EQ(shown(parse_short_format(bad)), "Invalid format specification") << bad;
  }
}

TEST(ColumnFormat, ReadsLongFormats) {
  const std::pair<const char*, const char*> cases[] = {
      {"JobID,Name:30", "^^ 20JobID|| 30Name||"},
      {"F1:\x1F,F2:.8x", "^^ 0F1|\x1F| .8F2|x|"},
      {"Nodes: ,Gres: ,GresUsed:", "^^ 0Nodes| | 0Gres| | 0GresUsed||"},
      {" JobID , State", "^^ 20JobID|| 20State||"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(shown(parse_long_format(text)), expected) << text;
  EXPECT_EQ(shown(parse_long_format(",JobID:|,,State:|,")), "^^ 0JobID||| 0State|||");
  for (const char* bad : {":8", "a:99999"}) {
    EXPECT_EQ(shown(parse_long_format(bad)), "Invalid format specification") << bad;
  }
}

TEST(ColumnFormat, ReadsAccountingFormats) {
  EXPECT_EQ(shown(parse_accounting_format("JobID%20,State%-8,Elapsed")),
            "^^ .20JobID|| 8State|| .-Elapsed||");
  EXPECT_EQ(shown(parse_accounting_format("JobID,,State,")), "^^ .-JobID|| .-State||");
  for (const char* bad : {"JobID%", "JobID%-", "JobID%x", "%20", "JobID%20x", "JobID%99999"}) {
    EXPECT_EQ(shown(parse_accounting_format(bad)), "Invalid format specification") << bad;
  }
}

TEST(ColumnFormat, LaysCells) {
  const ColumnSpec left{.width = 6};
  const ColumnSpec right{.width = 6, .is_right = true};
  EXPECT_EQ(column_cell("abc", left), "abc   ");
  EXPECT_EQ(column_cell("abc", right), "   abc");
  EXPECT_EQ(column_cell("abcdefgh", left), "abcdef");
  EXPECT_EQ(column_cell("abcdefgh", right), "abcdef");
  EXPECT_EQ(column_cell("CANCELLED by 0", {.width = 10, .is_right = true}, CutMark::kPlus),
            "CANCELLED+");
  EXPECT_EQ(column_cell("abcdef", left, CutMark::kPlus), "abcdef");
  EXPECT_EQ(column_cell("abc", {.width = 1}, CutMark::kPlus), "+");
  EXPECT_EQ(column_cell("abcdefgh", {}), "abcdefgh");
  EXPECT_EQ(column_cell("", left), "      ");
  EXPECT_EQ(column_cell("\u00e9t\u00e9", left), "\u00e9t\u00e9   ");
  EXPECT_EQ(column_cell("\u00e9\u00e9\u00e9", {.width = 2}), "\u00e9\u00e9");
}

}  // namespace
}  // namespace muster
