// Lets few points stand for many: stretches of nearly equal length, each shown by what must not be
// lost of it. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/metrics/cell.h"

namespace muster::metrics {

/// The most points by which a stretch is shown.
inline constexpr std::size_t kPointsPerStretch = 5;

/// Returns how many stretches make at most `points_max` points.
constexpr std::size_t stretches_max(std::size_t points_max) {
  return points_max < kPointsPerStretch ? 1 : points_max / kPointsPerStretch;
}

/// Returns how many values each stretch covers at least, so that there are at most `stretches`.
/// Requires: stretches > 0.
constexpr std::uint64_t stretch_count(std::uint64_t values, std::size_t stretches) {
  return (values + stretches - 1) / stretches;
}

/// Joins neighbours, by the position of their first number, until each covers at least `count`
/// numbers; the last may cover fewer. Cells without a number are left out.
std::vector<Cell> joined(std::vector<Cell> cells, std::uint64_t count);

/// Returns the points by which a cell is shown, by position, each once. Requires: it has a number.
std::vector<NumberPoint> shown_points(const Cell& cell);

}  // namespace muster::metrics
