#include "engine/cluster_clock.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

/// At most a twentieth of the time that passes is corrected: no limit is off by more than 5 %.
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
    // The share of the time that passed: where updates come seldom, more is made good at once.
    const Duration most = passed / kSlewShare;
    offset_ += std::clamp(ahead, Duration() - most, most);
    return;
  }
  // A jump of another size is another jump: it has to stand for its own time.
  // The first sight of it, or another: believed_after counts from here.
  if (jump_ == Duration() || magnitude(ahead - jump_) > kJitter) jump_since_ = reading.steady;
  jump_ = ahead;
}

std::optional<Duration> ClusterClock::believed_jump() const {
  if (jump_ == Duration() || last_.steady - jump_since_ < believed_after(jump_))
    return std::nullopt;
  return jump_;
}

bool ClusterClock::is_other_jump(Duration told) const {
  if (jump_ == Duration() || told == Duration()) return jump_ != told;
  return magnitude(jump_ - told) > kJitter;
}

std::string ClusterClock::warning() const {
  if (jump_ == Duration()) return "";
  return fmt::format("the wall clock jumped by {} s: not followed before it has stood for {} s",
                     jump_.seconds(), believed_after(jump_).seconds());
}

ClockStart clock_start(TimePoint last_event, std::optional<Duration> away, TimePoint wall,
                       bool is_believed) {
  if (!last_event.is_set()) return {wall, Duration()};
  // After a boot nobody knows how long the controller was away, and a wall clock that no battery or
  // network has set may say anything. What it says is followed at once, as a jump: should it be
  // wrong, no limit of a running job is over for that, and the way back is the same.
  const TimePoint steady = away ? last_event + *away : last_event;
  // Positive: the wall clock is ahead of where the steady clock would have the cluster.
  const Duration ahead = wall - steady;
  const bool is_small = magnitude(ahead) <= ClusterClock::kSlewedMax;
  // After a boot a small lead of the wall clock is just the time away; events never go back.
  if (!away && is_small) return {std::max(steady, wall), Duration()};
  // While the machine ran only a jump that has stood is followed. After a boot one ahead is
  // followed at once; one back has to stand as well.
  const bool is_followed = is_believed || (!away && ahead > Duration());
  if (!is_followed || is_small) return {steady, Duration()};
  return {steady, ahead};
}

}  // namespace muster
