// Points in time and spans of it, in whole microseconds. There is no clock here: `now` is always an
// argument.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace muster {

/// A span of time. Units: whole microseconds, signed. `infinite()` stands for "no limit": it plus
/// or minus anything is infinite, and so is it times or divided by anything, a negative number and
/// 0 included; a finite span less it is the most negative one. Nothing wraps around: what would be
/// beyond ends at infinite() or at -infinite().microseconds().
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration milliseconds(std::int64_t n) { return microseconds(1000) * n; }
  static constexpr Duration seconds(std::int64_t n) { return microseconds(1'000'000) * n; }
  static constexpr Duration minutes(std::int64_t n) { return microseconds(60'000'000) * n; }
  static constexpr Duration hours(std::int64_t n) { return microseconds(3'600'000'000) * n; }
  static constexpr Duration infinite() {
    return Duration(std::numeric_limits<std::int64_t>::max());
  }

  constexpr bool is_infinite() const { return *this == infinite(); }
  constexpr std::int64_t microseconds() const { return us_; }
  /// Returns whole milliseconds, rounded towards zero.
  constexpr std::int64_t milliseconds() const { return us_ / 1000; }
  /// Returns whole seconds, rounded towards zero.
  constexpr std::int64_t seconds() const { return us_ / 1'000'000; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    std::int64_t sum = 0;
    const bool is_beyond = __builtin_add_overflow(a.us_, b.us_, &sum);
    return a.is_infinite() || b.is_infinite() || (is_beyond && a.us_ > 0)
               ? infinite()
               : Duration(is_beyond ? -infinite().us_ : sum);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    std::int64_t difference = 0;
    const bool is_beyond = __builtin_sub_overflow(a.us_, b.us_, &difference);
    return a.is_infinite() || (is_beyond && a.us_ > 0)
               ? infinite()
               : Duration(is_beyond || b.is_infinite() ? -infinite().us_ : difference);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t n) {
    std::int64_t product = 0;
    const bool is_beyond = __builtin_mul_overflow(a.us_, n, &product);
    return a.is_infinite() || (is_beyond && (a.us_ > 0) == (n > 0))
               ? infinite()
               : Duration(is_beyond ? -infinite().us_ : product);
  }
  /// The quotient is rounded towards zero. Requires: n is not 0, unless `a` is infinite.
  friend constexpr Duration operator/(Duration a, std::int64_t n) {
    return a.is_infinite() ? infinite() : Duration(a.us_ / n);
  }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }

 private:
  constexpr explicit Duration(std::int64_t us) : us_(us) {}
  std::int64_t us_ = 0;
};

/// A point in time. Units: whole microseconds since 1970-01-01 UTC. `never()` sorts after every
/// other point, and stays so whatever is added or taken away; `unset()` (zero) means that the point
/// is not known, but counts as 1970 in comparisons and sums. Sums that would wrap around end at
/// never() or at its negative.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  static constexpr TimePoint from_microseconds(std::int64_t n) { return TimePoint(n); }
  static constexpr TimePoint from_seconds(std::int64_t n) {
    return TimePoint() + Duration::seconds(n);
  }
  static constexpr TimePoint unset() { return TimePoint(0); }
  static constexpr TimePoint never() { return TimePoint(std::numeric_limits<std::int64_t>::max()); }

  constexpr bool is_set() const { return us_ != 0; }
  constexpr bool is_never() const { return *this == never(); }
  constexpr std::int64_t microseconds() const { return us_; }
  /// Returns whole seconds, rounded towards zero, which for a point before 1970 is up.
  constexpr std::int64_t seconds() const { return us_ / 1'000'000; }

  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    std::int64_t sum = 0;
    const bool is_beyond = __builtin_add_overflow(t.us_, d.microseconds(), &sum);
    return t.is_never() || d.is_infinite() || (is_beyond && t.us_ > 0)
               ? never()
               : TimePoint(is_beyond ? -never().us_ : sum);
  }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    const Duration since_epoch = Duration::microseconds(t.us_) - d;
    return TimePoint(since_epoch.microseconds());
  }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return Duration::microseconds(a.us_) - Duration::microseconds(b.us_);
  }

 private:
  constexpr explicit TimePoint(std::int64_t us) : us_(us) {}
  std::int64_t us_ = 0;
};

}  // namespace muster
