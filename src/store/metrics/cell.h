// The summary of a stretch of a series: the level of the pyramid above the points, one cell a block
// and metric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/metric.h"
#include "store/files/byte_stream.h"
#include "store/metrics/report_rows.h"

namespace muster::metrics {

struct NumberPoint {
  Position position;
  std::int64_t time_us = 0;
  double value = 0;
};

/// Counts and the points that must not be lost. Adding and merging may come in any order of
/// positions; the result is the same but for the rounding of `finite_sum`. Of equal extremes the
/// first by position stays.
struct Cell {
  std::uint64_t finite_count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
  std::uint64_t text_count = 0;
  double finite_sum = 0;
  std::optional<NumberPoint> first;  ///< of all numbers
  std::optional<NumberPoint> last;
  std::optional<NumberPoint> min;  ///< of the finite ones
  std::optional<NumberPoint> max;
  std::optional<NumberPoint> first_not_finite;

  std::uint64_t number_count() const {
    return finite_count + nan_count + positive_infinity_count + negative_infinity_count;
  }
  void add(const NumberPoint& point);
  void add_text() { ++text_count; }
  void merge(const Cell& other);

  void write(ByteWriter& out) const;
  /// Reads a cell. Damaged bytes leave `in` not ok.
  static Cell read(ByteReader& in);
};

/// The total of all values of one metric of one run.
struct SeriesTotal {
  Cell cell;
  std::optional<MetricType> type;  ///< nullopt: no value yet
  Position last_text_place;
  std::string last_text;

  void add(Position position, std::int64_t time_us, const MetricValue& value);
  void merge(const SeriesTotal& other);
  MetricSummary summary() const;

  void write(ByteWriter& out) const;
  static SeriesTotal read(ByteReader& in);
};

}  // namespace muster::metrics
