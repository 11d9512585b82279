// The machine's two clocks. What waits, expires or judges counts the steady one; the wall clock is
// for people, and jumps.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace muster {

/// CLOCK_BOOTTIME: since the machine's boot, time that it was suspended included. Never goes back,
/// never jumps.
Duration steady_time();
/// The same as a point in time, for objects that are told `now` and compare it with nothing from
/// elsewhere.
TimePoint steady_now();
/// CLOCK_REALTIME.
TimePoint wall_time();
/// Stands for this boot of the machine: times of steady_time() compare within one boot. Never 0.
std::uint64_t boot_number();

}  // namespace muster
