// Tables of columns: each row of a table names a column and how a value shows in it; a format selects and sizes them.
// Which columns there are belongs to each command.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/local_zone.h"
#include "codec/column_format.h"
#include "codec/words.h"

namespace muster::cli {

/// A column of rows of type T. `number` is what it sorts by; null: by its text.
template <class T>
struct Column {
  char letter;         ///< of short formats; 0: none
  const char* name;    ///< of long formats, in any case; "": none
  const char* header;
  std::string (*show)(const T&, const ShowContext&);
  std::int64_t (*number)(const T&, const ShowContext&) = nullptr;
  bool is_full = false;  ///< needs the long texts or the grants of a job
};

/// The columns that a format selects, with their sizes.
template <class T>
struct Layout {
  std::string prefix;
  std::vector<std::pair<const Column<T>*, ColumnSpec>> columns;
  bool is_full() const {
    return std::ranges::any_of(columns, [](const auto& column) { return column.first->is_full; });
  }
};

template <class T>
const Column<T>* find_column(std::span<const Column<T>> table, const ColumnSpec& spec) {
  for (const Column<T>& column : table) {
    if (spec.letter != 0 ? column.letter == spec.letter : equal_ignoring_case(column.name, spec.name)) return &column;
  }
  return nullptr;
}

/// Errors: kInvalidArgument "Invalid job format specification: X" with `noun` for job; a column that is not there is never
/// left blank.
template <class T>
Result<Layout<T>> layout_of(const ColumnFormat& format, std::span<const Column<T>> table, std::string_view noun) {
  Layout<T> layout{format.prefix, {}};
  for (const ColumnSpec& spec : format.columns) {
    const Column<T>* column = find_column(table, spec);
    if (column == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Invalid {} format specification: {}", noun, spec.letter != 0 ? std::string(1, spec.letter) : spec.name));
    }
    layout.columns.emplace_back(column, spec);
  }
  return layout;
}

template <class T>
std::string header_line(const Layout<T>& layout) {
  std::string line = layout.prefix;
  for (const auto& [column, spec] : layout.columns) line += column_cell(column->header, spec) + spec.suffix;
  return line + "\n";
}

template <class T>
std::string row_line(const Layout<T>& layout, const T& row, const ShowContext& context) {
  std::string line = layout.prefix;
  for (const auto& [column, spec] : layout.columns) line += column_cell(column->show(row, context), spec) + spec.suffix;
  return line + "\n";
}

/// Sorts by "P,t,-p": letters of columns, a minus for falling. Stable. Errors: kInvalidArgument for an unknown letter.
template <class T>
Status sort_rows(std::vector<T>& rows, std::string_view keys, std::span<const Column<T>> table, const ShowContext& context) {
  const auto words = split_words(keys, ',');
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const bool is_falling = word->front() == '-';
    const std::string_view letter = word->substr(is_falling || word->front() == '+' ? 1 : 0);
    const Column<T>* column = letter.size() == 1 ? find_column(table, ColumnSpec{letter.front()}) : nullptr;
    if (column == nullptr) return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid sort specification: {}", *word));
    std::ranges::stable_sort(rows, [&](const T& a, const T& b) {
      const T& first = is_falling ? b : a;
      const T& second = is_falling ? a : b;
      if (column->number != nullptr) return column->number(first, context) < column->number(second, context);
      return column->show(first, context) < column->show(second, context);
    });
  }
  return {};
}

}  // namespace muster::cli
