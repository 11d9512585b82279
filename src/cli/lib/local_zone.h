// The wall clock of the machine on which a command runs, and how the commands print points in time.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "text/time_zone.h"

namespace muster::cli {

/// The zone of TZ, by localtime_r(3) and mktime(3).
class LocalZone final : public ZoneRule {
 public:
  TimePoint to_point(const CivilTime& time) const override;
  CivilTime to_civil(TimePoint point) const override;
};

TimePoint clock_now();

/// What every column and line needs beside the object that it shows.
struct ShowContext {
  TimePoint now = {};
  const ZoneRule* zone = nullptr;
  std::string time_format =
      {};  ///< SLURM_TIME_FORMAT: empty is ISO; "%s" and other strftime(3) formats
  std::string cluster = {};
  bool is_converted = true;         ///< false: --noconvert, amounts in their own unit
  std::size_t array_text_max = 64;  ///< SLURM_BITSTR_LEN; 0 is no limit

  /// Returns the time in the user's format, or `absent` when it is unset or never.
  std::string time(TimePoint point, std::string_view absent) const;
};

/// Returns the context of this process: clock, zone and environment.
ShowContext show_context(std::string cluster);

}  // namespace muster::cli
