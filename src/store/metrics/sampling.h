// How few points stand for many: stretches of nearly equal length, each shown by what must not be
// lost of it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/metrics/cell.h"

namespace muster::metrics {

/// Points that a stretch is shown by, at most.
inline constexpr std::size_t kPointsPerStretch = 5;

/// Stretches that make at most `points_max` points.
constexpr std::size_t stretches_max(std::size_t points_max) {
  return points_max < kPointsPerStretch ? 1 : points_max / kPointsPerStretch;
}

/// Values that each stretch covers at least, so that there are at most `stretches`. Requires:
/// stretches > 0.
constexpr std::uint64_t stretch_count(std::uint64_t values, std::size_t stretches) {
  return (values + stretches - 1) / stretches;
}

/// Joins neighbours, by the position of their first number, until each covers at least `count`
/// numbers; the last may cover fewer. Cells without a number are left out.
std::vector<Cell> joined(std::vector<Cell> cells, std::uint64_t count);

/// The points that a cell is shown by, by position, each once. Requires: it has a number.
std::vector<NumberPoint> shown_points(const Cell& cell);

}  // namespace muster::metrics
