// Columns as wide as their widest cell. Only what is shown to people is formatted here: programs
// read --json.

#include "cli/lib/text_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "text/printable_text.h"

namespace muster::cli {
namespace {

/// In characters, as terminals count: every byte but those that go on with one.
std::size_t width_of(std::string_view cell) {
  // Bytes 10xxxxxx go on with a character of UTF-8.
  return static_cast<std::size_t>(std::ranges::count_if(
      cell, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::string table_text(const Row& headings, const std::vector<Row>& raw, Paint paint) {
  // Cells hold what users have written, and others read them at their terminals.
  std::vector<Row> rows = raw;
  for (Row& row : rows) std::ranges::transform(row, row.begin(), printable);
  std::vector<std::size_t> widths(headings.size());
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  };
  widen(headings);
  std::ranges::for_each(rows, widen);
  std::string text;
  const auto append = [&](const Row& row, Paint colour) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      // Nothing behind the last cell: lines end without blanks.
      const bool is_last = i + 1 == row.size();
      const std::string cell =
          row[i] + std::string(is_last ? 0 : widths[i] - width_of(row[i]), ' ');
      const std::string_view begin = colour == nullptr ? std::string_view() : colour(row[i]);
      text += begin.empty() ? cell : fmt::format("{}{}\x1b[0m", begin, cell);
      text += is_last ? "\n" : "  ";
    }
  };
  append(headings, nullptr);
  for (const Row& row : rows) append(row, paint);
  return text;
}

std::string_view state_colour(std::string_view cell) {
  struct Colour {
    std::string_view name;
    std::string_view code;
  };
  constexpr std::string_view kGreen = "\x1b[32m";
  constexpr std::string_view kRed = "\x1b[31m";
  constexpr std::string_view kYellow = "\x1b[33m";
  constexpr std::string_view kBlue = "\x1b[34m";
  constexpr std::array<Colour, 12> kColours{{{"COMPLETED", kGreen},
                                             {"good", kGreen},
                                             {"ERROR", kRed},
                                             {"FAILED", kRed},
                                             {"DELETE_FAILED", kRed},
                                             {"revoked", kRed},
                                             {"PAUSED", kYellow},
                                             {"QUEUED", kYellow},
                                             {"WAITING", kYellow},
                                             {"STOPPING", kYellow},
                                             {"RUNNING", kBlue},
                                             {"ACTIVE", kBlue}}};
  const auto found = std::ranges::find(kColours, cell, &Colour::name);
  return found == kColours.end() ? std::string_view() : found->code;
}

Paint terminal_paint() {
  // Source: no-color.org: any value but an empty one.
  const char* none = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool is_wanted = (none == nullptr || *none == '\0') && terminal != nullptr &&
                         std::string_view(terminal) != "dumb";
  // Colours only where somebody looks: never in pipes and files.
  return is_wanted && ::isatty(STDOUT_FILENO) == 1 ? state_colour : nullptr;
}

}  // namespace muster::cli
