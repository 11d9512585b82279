// Reads one segment in the order of positions: by steps, then by arrival.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "base/result.h"
#include "store/metrics/segment.h"

namespace muster::metrics {

/// The positions from `first` on, up to steps `last_steps`.
struct PositionRange {
  Position first;
  std::int64_t last_steps = 0;
  bool contains(Position position) const {
    return position >= first && position.steps <= last_steps;
  }
  bool may_touch(const BlockEntry& entry) const {
    return Position{entry.max_steps, entry.last_id} >= first && entry.min_steps <= last_steps;
  }
  bool contains(const BlockEntry& entry) const {
    return Position{entry.min_steps, entry.first_id} >= first && entry.max_steps <= last_steps;
  }
};

/// Returns the first `limit` rows of a range. `load(block, rows)` adds the rows of a block that lie
/// in the range, in any order. Cost: only blocks that may hold one of them are loaded; where steps
/// come in order, those and no others.
template <class Row, class Load>
Result<std::vector<Row>> first_rows(const Segment& segment, const PositionRange& range,
                                    std::size_t limit, Load&& load) {
  const std::vector<BlockEntry> blocks = segment.blocks();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (range.may_touch(blocks[i])) order.push_back(i);
  }
  const auto floor = [&](std::size_t block) {
    return Position{blocks[block].min_steps, blocks[block].first_id};
  };
  std::ranges::sort(order, {}, floor);
  std::vector<Row> rows;
  for (const std::size_t block : order) {
    if (rows.size() >= limit && rows[limit - 1].position < floor(block)) break;
    const auto known = static_cast<std::ptrdiff_t>(rows.size());
    TRY(load(block, rows));
    const auto middle = rows.begin() + known;
    if (!std::ranges::is_sorted(middle, rows.end(), {}, &Row::position))
      std::ranges::sort(middle, rows.end(), {}, &Row::position);
    const bool is_behind =
        known == 0 || middle == rows.end() || (middle - 1)->position < middle->position;
    if (!is_behind) std::ranges::inplace_merge(rows, middle, {}, &Row::position);
    if (rows.size() > limit) rows.resize(limit);
  }
  return rows;
}

/// One value with its position.
struct SeriesRow {
  Position position;
  std::int64_t time_us = 0;
  MetricValue value;
};

/// Reads the values of one metric.
class SeriesReader {
 public:
  SeriesReader(MetricTables& tables, const Segment& segment, std::uint32_t series)
      : tables_(tables), segment_(segment), series_(series) {}

  /// Adds the values of a block that lie in the range, by arrival.
  Status read(std::size_t block, const PositionRange& range, std::vector<SeriesRow>& rows) const;
  /// Returns the first `limit` values of the range.
  Result<std::vector<SeriesRow>> first(const PositionRange& range, std::size_t limit) const;
  /// Returns for each block the cell of its values that lie in the range, the tail's last. Cost:
  /// cells for blocks that lie in the range whole; the others are read.
  Result<std::vector<Cell>> cells(const PositionRange& range) const;
  /// Returns the total of the values in the range.
  Result<SeriesTotal> total(const PositionRange& range) const;

 private:
  MetricTables& tables_;
  const Segment& segment_;
  std::uint32_t series_;
};

}  // namespace muster::metrics
