#include "store/metrics/sampling.h"

#include <algorithm>

namespace muster::metrics {

// Sorted by where they begin, then joined greedily until each stretch has its count.
std::vector<Cell> joined(std::vector<Cell> cells, std::uint64_t count) {
  std::erase_if(cells, [](const Cell& cell) { return cell.number_count() == 0; });
  std::ranges::sort(cells, {}, [](const Cell& cell) { return cell.first->position; });
  std::vector<Cell> result;
  for (const Cell& cell : cells) {
    if (result.empty() || result.back().number_count() >= count) {
      result.push_back(cell);
    } else {
      result.back().merge(cell);
    }
  }
  return result;
}

std::vector<NumberPoint> shown_points(const Cell& cell) {
  std::vector<NumberPoint> points;
  for (const auto* point :
       {&cell.first, &cell.last, &cell.min, &cell.max, &cell.first_not_finite}) {
    if (*point) points.push_back(**point);
  }
  // A point may be several of the five.
  std::ranges::sort(points, {}, &NumberPoint::position);
  const auto is_same = [](const NumberPoint& a, const NumberPoint& b) {
    return a.position == b.position;
  };
  points.erase(std::unique(points.begin(), points.end(), is_same), points.end());
  return points;
}

}  // namespace muster::metrics
