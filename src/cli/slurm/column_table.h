// Tables of columns: each row of a table names a column and how a value shows in it; a format
// selects and sizes them. Which columns there are belongs to each command.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/lib/local_zone.h"
#include "model/view.h"
#include "slurm/column_format.h"
#include "text/printable_text.h"
#include "text/words.h"

namespace muster::cli {

/// What a table says of each column beside its value, by type of row. For jobs it is how much of
/// one the column needs.
template <class T>
struct ColumnDetail {
  using Type = bool;
};
template <>
struct ColumnDetail<JobView> {
  using Type = QueryDetail;
};

/// A column of rows of type T. `number` is what it sorts by; null: by its text.
template <class T>
struct Column {
  char letter;       ///< of short formats; 0: none
  const char* name;  ///< of long formats, in any case; "": none
  const char* header;
  std::string (*show)(const T&, const ShowContext&);
  std::int64_t (*number)(const T&, const ShowContext&) = nullptr;
  typename ColumnDetail<T>::Type detail = {};
  bool is_uncut = false;  ///< shows whole where the column is too narrow
};

/// The columns that a format selects, with their sizes.
template <class T>
struct Layout {
  std::string prefix;
  std::vector<std::pair<const Column<T>*, ColumnSpec>> columns;
  std::vector<std::string>
      unknown;  ///< "Invalid job format specification: X" for each that is not there
  /// Returns the highest detail of any of them.
  auto detail() const {
    typename ColumnDetail<T>::Type most = {};
    for (const auto& column : columns) most = std::max(most, column.first->detail);
    return most;
  }
};

template <class T>
const Column<T>* find_column(std::span<const Column<T>> table, const ColumnSpec& spec) {
  for (const Column<T>& column : table) {
    if (spec.letter != 0 ? column.letter == spec.letter
                         : equal_ignoring_case(column.name, spec.name))
      return &column;
  }
  return nullptr;
}

/// Returns what was written for a column by letter: "%.18i" and what follows it.
inline std::string as_written(const ColumnSpec& spec) {
  const std::string width = spec.has_width ? fmt::to_string(spec.width) : std::string();
  return fmt::format("%{}{}{}{}", spec.is_right ? "." : "", width, spec.letter, spec.suffix);
}

/// Returns the layout of a format. A column that is not there is reported with `noun` for its kind,
/// and left out (by name) or shown as written (by letter), as Slurm does; the others show.
template <class T>
Layout<T> layout_of(const ColumnFormat& format, std::span<const Column<T>> table,
                    std::string_view noun) {
  Layout<T> layout{format.prefix, {}, {}};
  for (const ColumnSpec& spec : format.columns) {
    if (const Column<T>* column = find_column(table, spec)) {
      layout.columns.emplace_back(column, spec);
      continue;
    }
    layout.unknown.push_back(
        fmt::format("Invalid {} format specification: {}", noun,
                    spec.letter != 0 ? std::string(1, spec.letter) : spec.name));
    if (spec.letter != 0)
      (layout.columns.empty() ? layout.prefix : layout.columns.back().second.suffix) +=
          as_written(spec);
  }
  return layout;
}

/// Returns the format "%all": every column with a letter, small letters first, parted by bars.
template <class T>
ColumnFormat all_columns(std::span<const Column<T>> table) {
  ColumnFormat format;
  for (const std::string_view letters :
       {"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}) {
    for (const char letter : letters) {
      if (find_column(table, ColumnSpec{letter}) == nullptr) continue;
      if (!format.columns.empty()) format.columns.back().suffix += '|';
      format.columns.push_back(ColumnSpec{letter});
    }
  }
  return format;
}

template <class T>
std::string header_line(const Layout<T>& layout) {
  std::string line = layout.prefix;
  for (const auto& [column, spec] : layout.columns)
    line += column_cell(column->header, spec) + spec.suffix;
  return line + "\n";
}

template <class T>
void append_row(std::string& out, const Layout<T>& layout, const T& row,
                const ShowContext& context) {
  out += layout.prefix;
  for (const auto& [column, spec] : layout.columns) {
    std::string text = column->show(row, context);
    if (!is_printable(text)) text = printable(text);
    if (column->is_uncut && text.size() > spec.width) {
      out += text;
    } else {
      append_cell(out, text, spec);
    }
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

/// The keys by which rows are sorted, gathered row by row, so that the rows themselves need not be
/// stored.
template <class T>
class RowOrder {
 public:
  /// Makes an order. `keys`: "P,t,-p", letters of columns, a minus for falling. Errors:
  /// kInvalidArgument for an unknown letter.
  static Result<RowOrder> create(std::string_view keys, std::span<const Column<T>> table) {
    RowOrder order;
    for (const std::string_view word : split_words(keys, ',')) {
      const bool is_falling = word.front() == '-';
      const std::string_view letter = word.substr(is_falling || word.front() == '+' ? 1 : 0);
      const Column<T>* column =
          letter.size() == 1 ? find_column(table, ColumnSpec{letter.front()}) : nullptr;
      if (column == nullptr)
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("Invalid sort specification: {}", word));
      order.keys_.push_back({column, is_falling, {}, {}});
    }
    return order;
  }
  void add(const T& row, const ShowContext& context) {
    for (Key& key : keys_) {
      if (key.column->number != nullptr) {
        key.numbers.push_back(key.column->number(row, context));
      } else {
        key.texts.push_back(key.column->show(row, context));
      }
    }
    ++count_;
  }
  /// Returns the rows' indices in the order of the keys. Stable.
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order(count_);
    std::iota(order.begin(), order.end(), 0U);
    for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) {
      if (key->column->number != nullptr) {
        sort_by(order, key->numbers, key->is_falling);
      } else {
        sort_by(order, key->texts, key->is_falling);
      }
    }
    return order;
  }

 private:
  struct Key {
    const Column<T>* column;
    bool is_falling;
    std::vector<std::int64_t> numbers;
    std::vector<std::string> texts;
  };
  std::vector<Key> keys_;
  std::size_t count_ = 0;
};

/// Brings rows into that order. Errors: as RowOrder.
template <class T>
Status sort_rows(std::vector<T>& rows, std::string_view keys, std::span<const Column<T>> table,
                 const ShowContext& context) {
  RowOrder<T> order = TRY(RowOrder<T>::create(keys, table));
  for (const T& row : rows) order.add(row, context);
  std::vector<T> sorted;
  sorted.reserve(rows.size());
  for (const std::uint32_t index : order.order()) sorted.push_back(std::move(rows[index]));
  rows = std::move(sorted);
  return {};
}

/// The lines of a table, made as rows come, so that long lists cost their text and nothing else.
template <class T>
class TableLines {
 public:
  TableLines(const Layout<T>& layout, RowOrder<T> order, const ShowContext& context)
      : layout_(layout), empty_order_(std::move(order)), context_(context) {
    clear();
  }
  void clear() {
    order_ = empty_order_;
    text_.clear();
    ends_.clear();
  }
  void add(const T& row) {
    order_.add(row, context_);
    append_row(text_, layout_, row, context_);
    ends_.push_back(text_.size());
  }
  /// Calls `print` with pieces of the sorted table.
  template <class Print>
  void print_sorted(Print&& print) const {
    constexpr std::size_t kPrintAtOnce = 256 * 1024;
    std::string piece;
    for (const std::uint32_t index : order_.order()) {
      const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
      piece.append(text_, begin, ends_[index] - begin);
      if (piece.size() > kPrintAtOnce) print(std::exchange(piece, {}));
    }
    print(piece);
  }

 private:
  const Layout<T>& layout_;
  RowOrder<T> empty_order_;
  RowOrder<T> order_ = empty_order_;
  const ShowContext& context_;
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace muster::cli
