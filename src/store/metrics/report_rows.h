// Reports of one group of one run in the order of their arrival, without their metrics: what all
// columns of a block share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::metrics {

/// A report's position in its series: by steps, then by arrival. Unique, because ids are.
struct Position {
  std::int64_t steps = 0;
  std::uint64_t id = 0;
  friend constexpr auto operator<=>(const Position&, const Position&) = default;
};

/// The rows. Shape: all lists have one element a report, except `keys`, which is empty while every
/// key is. Ids rise.
struct ReportRows {
  std::vector<std::uint64_t> ids;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> times_us;
  std::vector<std::string> keys;

  std::size_t size() const { return ids.size(); }
  Position position(std::size_t row) const { return {steps[row], ids[row]}; }
  std::string_view key(std::size_t row) const {
    return keys.empty() ? std::string_view() : std::string_view(keys[row]);
  }
  void add(Position position, std::int64_t time_us, std::string_view key);
  /// Adds rows [begin, end) of another.
  void add_rows(const ReportRows& other, std::size_t begin, std::size_t end);
  void clear();
};

std::string encode(const ReportRows& rows);
/// Decodes rows. Errors: kCorruption.
Result<ReportRows> decode_rows(std::string_view bytes);

}  // namespace muster::metrics
