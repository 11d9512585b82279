// The only place of the commands that knows a clock and a time zone: everything that formats times
// gets both as arguments.

#include "cli/lib/local_zone.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "cli/lib/console.h"
#include "slurm/time_text.h"
#include "text/words.h"

namespace muster::cli {
namespace {

std::tm local_parts(TimePoint point) {
  // localtime_r follows TZ of whoever runs the command.
  const std::time_t seconds = point.seconds();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

TimePoint LocalZone::to_point(const CivilTime& time) const {
  std::tm parts{};
  parts.tm_year = static_cast<int>(time.year - 1900);
  parts.tm_mon = static_cast<int>(time.month - 1);
  parts.tm_mday = static_cast<int>(time.day);
  parts.tm_hour = static_cast<int>(time.hour);
  parts.tm_min = static_cast<int>(time.minute);
  parts.tm_sec = static_cast<int>(time.second);
  // Whether summer time holds at that moment is looked up.
  parts.tm_isdst = -1;
  return TimePoint::from_seconds(::mktime(&parts));
}

CivilTime LocalZone::to_civil(TimePoint point) const {
  const std::tm parts = local_parts(point);
  return CivilTime{parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                   parts.tm_hour,        parts.tm_min,     parts.tm_sec};
}

TimePoint clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return TimePoint::from_microseconds(std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000);
}

namespace {

/// The nearer the day, the less is said of it. Source: squeue(1), SLURM_TIME_FORMAT=relative.
const char* relative_format(const std::tm& when, const std::tm& today) {
  const auto days = [](const std::tm& day) {
    // Days of the calendar, not spans of 24 hours: yesterday ends at midnight.
    return days_from_date(day.tm_year + 1900, day.tm_mon + 1, day.tm_mday);
  };
  const std::int64_t ahead = days(when) - days(today);
  if (ahead == -1) return "Ystday %H:%M";
  if (ahead == 0) return "%H:%M:%S";
  if (ahead == 1) return "Tomorr %H:%M";
  if (ahead < -365 || ahead > 365) return "%-d %b %Y";
  return ahead < -1 || ahead > 6 ? "%-d %b %H:%M" : "%a %H:%M";
}

}  // namespace

std::string ShowContext::time(TimePoint point, std::string_view absent) const {
  // Both are shown as the caller says: N/A, Unknown, NONE.
  if (!point.is_set() || point.is_never()) return std::string(absent);
  if (time_format.empty() || time_format == "standard") return iso_time_text(point, *zone);
  if (time_format == "%s") return fmt::format("{}", point.seconds());
  const std::tm parts = local_parts(point);
  const char* format =
      time_format == "relative" ? relative_format(parts, local_parts(now)) : time_format.c_str();
  // A format that makes more than 256 bytes shows as nothing.
  std::array<char, 256> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format, &parts);
  return std::string(text.data(), size);
}

ShowContext show_context(std::string cluster) {
  static const LocalZone kZone;
  ShowContext context;
  context.now = clock_now();
  context.zone = &kZone;
  context.time_format = std::string(environment_value("SLURM_TIME_FORMAT"));
  context.cluster = std::move(cluster);
  // Source: squeue(1), SLURM_BITSTR_LEN: how much of an array's indices is shown.
  if (const auto limit = parse_whole32(environment_value("SLURM_BITSTR_LEN")))
    context.array_text_max = *limit;
  return context;
}

}  // namespace muster::cli
