// Judges whether a launch that was recorded late may still start, and whose fault it is.
#pragma once

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// A launch that was ordered so long ago is not started any more: the controller may have given the
/// node up by now, and the step may run elsewhere. It is longer than a busy machine lets a process
/// wait.
inline constexpr Duration kStaleAfter = Duration::seconds(5);

/// The time of a piece of work.
struct ElapsedTime {
  Duration passed;  ///< by the steady clock
  Duration ran;     ///< of that, the time in which this process was not stopped
};

/// Judges the time of a write. Errors: the record is in the spool, but too late for the launch.
/// - kUnavailable: the disk took that long, which is the node's fault.
/// - kDeadlineExceeded: this process stood still, which is nobody's fault.
Status judge_write(const ElapsedTime& taken);

}  // namespace muster
