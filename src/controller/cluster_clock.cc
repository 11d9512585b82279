#include "controller/cluster_clock.h"

#include <algorithm>

namespace muster {
namespace {

constexpr std::int64_t kSlewShare = 20;

Duration magnitude(Duration d) { return d < Duration() ? Duration() - d : d; }

}  // namespace

Duration ClusterClock::believed_after(Duration jump) {
  return std::clamp(magnitude(jump) / 60, Duration::seconds(10), Duration::minutes(10));
}

void ClusterClock::update(const ClockReading& reading) {
  const Duration passed = reading.steady - last_.steady;
  last_ = reading;
  const Duration ahead = reading.wall - at(reading.steady);
  if (magnitude(ahead) <= kSlewedMax) {
    jump_ = Duration();
    const Duration most = passed / kSlewShare;
    offset_ += std::clamp(ahead, Duration() - most, most);
    return;
  }
  if (jump_ == Duration() || magnitude(ahead - jump_) > kJitter) jump_since_ = reading.steady;
  jump_ = ahead;
}

std::optional<Duration> ClusterClock::believed_jump() const {
  if (jump_ == Duration() || last_.steady - jump_since_ < believed_after(jump_)) return std::nullopt;
  return jump_;
}

ClockStart clock_start(TimePoint last_event, std::optional<Duration> away, TimePoint wall, bool is_believed) {
  if (!last_event.is_set()) return {wall, Duration()};
  // After a boot nobody knows how long the controller was away: a wall clock that went on is taken for true.
  const TimePoint steady = away ? last_event + *away : std::max(last_event, wall);
  const Duration ahead = wall - steady;
  if (!is_believed || magnitude(ahead) <= ClusterClock::kSlewedMax) return {steady, Duration()};
  return {steady, ahead};
}

}  // namespace muster
