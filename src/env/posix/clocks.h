// The machine's two clocks. What waits, expires or judges uses the steady one; the wall clock is
// for people, and jumps.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

/// Returns CLOCK_BOOTTIME: the time since the machine's boot, suspension included. It never goes
/// back and never jumps.
Duration steady_time();
/// Returns the same as a point in time, for objects that get `now` and compare it with nothing from
/// elsewhere.
TimePoint steady_now();
/// Returns CLOCK_REALTIME.
TimePoint wall_time();
/// Returns a number for this boot of the machine: times of steady_time() compare within one boot.
/// Never 0.
std::uint64_t boot_number();

}  // namespace muster
