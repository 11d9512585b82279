// What keeps a node from starting anything: how long it is left alone before its agent looks
// whether it is gone. A disk that is full again and again must not cost a job each time.
#pragma once

#include <string>

#include "base/result.h"
#include "base/time.h"

namespace muster {

/// The fault begins, is looked at from time to time, and is gone with the first look that finds
/// nothing. `now`, below, is on the steady clock.
class OwnFault {
 public:
  /// Before the first look, and between two of them.
  static constexpr Duration kFirstPause = Duration::seconds(5);
  /// A relapse doubles the pause up to this.
  static constexpr Duration kLongestPause = Duration::seconds(300);
  /// A fault that begins so soon after the last one was gone is a relapse.
  static constexpr Duration kRelapseWithin = Duration::seconds(600);

  /// Why nothing can be started; empty: there is no fault.
  const std::string& text() const { return text_; }
  /// One that stands already goes on.
  void begin(std::string text);
  /// Whether it is time to look. To be asked at every tick: a fault's time counts from the first
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
