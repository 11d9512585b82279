#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::cli {

std::string table_text(const Row& headings, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(headings.size());
  const auto widen = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  };
  widen(headings);
  std::ranges::for_each(rows, widen);
  std::string text;
  const auto append = [&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format("{:<{}}{}", row[i], i + 1 == row.size() ? 0 : widths[i], i + 1 == row.size() ? "\n" : "  ");
  };
  append(headings);
  std::ranges::for_each(rows, append);
  return text;
}

}  // namespace muster::cli
