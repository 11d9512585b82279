// Tables of columns: each row of a table names a column and how a value shows in it; a format selects and sizes them.
// Which columns there are belongs to each command.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
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
void append_row(std::string& out, const Layout<T>& layout, const T& row, const ShowContext& context) {
  out += layout.prefix;
  for (const auto& [column, spec] : layout.columns) {
    append_cell(out, column->show(row, context), spec);
    out += spec.suffix;
  }
  out += '\n';
}

template <class T>
std::string row_line(const Layout<T>& layout, const T& row, const ShowContext& context) {
  std::string line;
  append_row(line, layout, row, context);
  return line;
}

/// Sorts `order`, indices into `values`, stably. Cost: O(n) when they are in order already.
template <class Value>
void sort_by(std::vector<std::uint32_t>& order, const std::vector<Value>& values, bool is_falling) {
  const auto comes_first = [&](std::uint32_t a, std::uint32_t b) {
    return is_falling ? values[b] < values[a] : values[a] < values[b];
  };
  if (!std::ranges::is_sorted(order, comes_first)) std::ranges::stable_sort(order, comes_first);
}

/// The order of the rows by "P,t,-p": letters of columns, a minus for falling. Stable. Errors: kInvalidArgument for an
/// unknown letter.
template <class T>
Result<std::vector<std::uint32_t>> row_order(const std::vector<T>& rows, std::string_view keys, std::span<const Column<T>> table,
                                             const ShowContext& context) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto words = split_words(keys, ',');
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const bool is_falling = word->front() == '-';
    const std::string_view letter = word->substr(is_falling || word->front() == '+' ? 1 : 0);
    const Column<T>* column = letter.size() == 1 ? find_column(table, ColumnSpec{letter.front()}) : nullptr;
    if (column == nullptr) return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid sort specification: {}", *word));
    if (column->number != nullptr) {
      std::vector<std::int64_t> values;
      values.reserve(rows.size());
      for (const T& row : rows) values.push_back(column->number(row, context));
      sort_by(order, values, is_falling);
    } else {
      std::vector<std::string> values;
      values.reserve(rows.size());
      for (const T& row : rows) values.push_back(column->show(row, context));
      sort_by(order, values, is_falling);
    }
  }
  return order;
}

/// Brings the rows into that order.
template <class T>
Status sort_rows(std::vector<T>& rows, std::string_view keys, std::span<const Column<T>> table, const ShowContext& context) {
  std::vector<T> sorted;
  sorted.reserve(rows.size());
  for (const std::uint32_t index : TRY(row_order(rows, keys, table, context))) sorted.push_back(std::move(rows[index]));
  rows = std::move(sorted);
  return {};
}

}  // namespace muster::cli
