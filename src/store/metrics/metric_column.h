// The values of one metric in one block of reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/metric.h"

namespace muster::metrics {

/// Values by the row of the report that holds them.
class MetricColumn {
 public:
  /// Adds a value. Requires: `row` is above every row before.
  void add(std::uint32_t row, const MetricValue& value);
  /// Adds the values of another's rows [begin, end), counted from `row_of_begin` here.
  void add_rows(const MetricColumn& other, std::uint32_t begin, std::uint32_t end,
                std::uint32_t row_of_begin);
  void clear();

  std::size_t size() const { return rows_.size(); }
  std::uint32_t row(std::size_t index) const { return rows_[index]; }
  MetricValue value(std::size_t index) const;
  /// Returns the number; nullptr when the value is no number.
  const double* number(std::size_t index) const;
  /// Returns the value of a row. Nullopt: the report of that row does not name the metric. Cost:
  /// O(log n).
  std::optional<MetricValue> find(std::uint32_t row) const;

  friend std::string encode(const MetricColumn& column);
  friend Result<MetricColumn> decode_column(std::string_view bytes);

 private:
  const std::string* text_at(std::size_t index) const;
  std::vector<std::uint32_t> rows_;
  std::vector<double> numbers_;  ///< beside rows_; 0 where the value is a text
  std::vector<std::pair<std::uint32_t, std::string>> texts_;  ///< by index into rows_, rising
};

std::string encode(const MetricColumn& column);
/// Decodes a column. Errors: kCorruption.
Result<MetricColumn> decode_column(std::string_view bytes);

}  // namespace muster::metrics
