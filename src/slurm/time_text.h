// Reads points in time as users write them (--begin=now+1hour, -S 2026-08-01, teatime) and writes
// them as the commands print them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "text/time_zone.h"

namespace muster {

/// Which of several days an incomplete text means: the next one, or the last one that has begun.
enum class TimeDirection { kFuture, kPast };

/// What a text is read against: the present time, the zone, and the direction.
struct TimeContext {
  TimePoint now;
  const ZoneRule& zone;
  TimeDirection direction =
      TimeDirection::kFuture;  ///< kPast for -S and -E of the accounting commands
};

/// Reads a point in time, in any case:
///   now, now+60, now-2days, now + 1 hour      count and seconds (default), minutes, hours, days or
///   weeks, abbreviable today, tomorrow, 0821, 08/21/26, 08.21, 2026-08-21     a day; alone: its
///   midnight 16:00, 16:00:30, 4pm, 4:30 pm, midnight, noon, elevenses (11:00), fika (15:00),
///   teatime (16:00)     a time of day 2026-08-21T16:00:00, "16:00 tomorrow", 1970-01-01-00:00:01
///   both, apart by T, a blank or a dash uts1755000000     seconds since 1970
/// A time of day alone is its next occurrence (the last with kPast); a day without a year likewise.
/// now is cut to whole seconds. Units: days and weeks of now+N are 24 hours and seven times that.
/// Errors: kInvalidArgument "Invalid time specification" with the text. Source: sbatch(1) --begin,
/// sacct(1) -S.
Result<TimePoint> parse_time(std::string_view text, const TimeContext& context);

/// Returns "2026-08-21T16:00:00" in the zone. Requires: neither unset nor never.
std::string iso_time_text(TimePoint time, const ZoneRule& zone);
/// Returns `iso_time_text`, or `absent` when the time is unset or never: "Unknown" (scontrol,
/// sacct), "N/A" (squeue), "None".
std::string time_text(TimePoint time, const ZoneRule& zone, std::string_view absent = "Unknown");

}  // namespace muster
