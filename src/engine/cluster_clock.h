// The cluster's time, which stamps events and by which limits are counted. It runs with the
// machine's steady clock, so that a wall clock that jumps cuts short or draws out no limit, lease
// or silence, and it follows the wall clock.
//
// While the difference to the wall clock is at most kSlewedMax, the cluster's time runs at most
// 1/20 faster or slower until it is gone. A jump beyond that is believed once it has stood for a
// while (believed_after), and is then followed at once by an event that moves every running job's
// times along (ClockStepped).
//
// A jump that is undone before it is believed leaves no trace.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace muster {

/// Both clocks of the machine, read together.
struct ClockReading {
  Duration steady;  ///< since the machine's boot
  TimePoint wall;
};

/// The cluster's clock. Single-threaded. Pure: time comes in as readings.
class ClusterClock {
 public:
  static constexpr Duration kSlewedMax = Duration::seconds(2);
  /// How far two readings of one jump may lie apart.
  static constexpr Duration kJitter = Duration::seconds(1);

  /// Begins with `time`.
  ClusterClock(const ClockReading& reading, TimePoint time)
      : offset_(time - (TimePoint() + reading.steady)), last_(reading) {}

  /// Returns the cluster's time at a reading of the steady clock.
  TimePoint at(Duration steady) const { return TimePoint() + steady + offset_; }
  /// Returns what must be added to the steady clock's time.
  Duration offset() const { return offset_; }
  /// Follows the clocks: called a few times a second.
  void update(const ClockReading& reading);
  /// Returns how far the wall clock is from the cluster's time, ahead of it if positive; zero while
  /// it is followed.
  Duration jump() const { return jump_; }
  /// Returns a jump that is to be followed now.
  std::optional<Duration> believed_jump() const;
  /// Returns how long a jump must stand: a sixtieth of it, at least ten seconds, at most ten
  /// minutes.
  static Duration believed_after(Duration jump);
  /// True when there is another jump than `told` (zero: none), or none any more.
  bool is_other_jump(Duration told) const;
  /// Returns what the operator should know of a jump that is not followed; empty: the clock is
  /// followed.
  std::string warning() const;

 private:
  Duration offset_;
  ClockReading last_;
  Duration jump_;
  Duration jump_since_;  ///< on the steady clock; meaningful while there is a jump
};

/// The cluster's time when a controller starts, and the event that makes it true.
struct ClockStart {
  TimePoint time;  ///< not before the last event's
  Duration step;   ///< a jump that is followed at once: of the event that the start begins with;
                   ///< zero: none
};

/// Works out the time at a start. `last_event`: the state's time; unset: there is no event. `away`:
/// how long ago the last event was stored, by the steady clock; nullopt: unknown, because the
/// machine was booted since. `is_believed`: a jump of the wall clock has stood for long enough.
ClockStart clock_start(TimePoint last_event, std::optional<Duration> away, TimePoint wall,
                       bool is_believed);

}  // namespace muster
