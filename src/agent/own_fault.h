// A fault that keeps a node from starting anything, and how long the agent waits before it looks
// whether the fault is gone. A disk that is full again and again must not cost a job each time.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// The fault begins, is looked at from time to time, and is gone with the first look that finds
/// nothing. `now`, below, is on the steady clock.
class OwnFault {
 public:
  /// The pause before the first look, and between two of them.
  static constexpr Duration kFirstPause = Duration::seconds(5);
  /// The longest pause: a relapse doubles it up to this.
  static constexpr Duration kLongestPause = Duration::seconds(300);
  /// A fault that begins so soon after the last one was gone is a relapse.
  static constexpr Duration kRelapseWithin = Duration::seconds(600);

  /// Returns why nothing can be started; empty: there is no fault.
  const std::string& text() const { return text_; }
  /// Begins a fault; one that stands already goes on.
  void begin(std::string text);
  /// True when it is time to look. It is asked at every tick: a fault's time counts from the first
  /// one.
  bool is_due(TimePoint now);
  void looked(const Status& found, TimePoint now);

 private:
  std::string text_;
  Duration pause_ = kFirstPause;
  TimePoint next_look_;   ///< unset: it has just begun
  TimePoint gone_since_;  ///< unset: there was none before
};

}  // namespace muster
