// A fault is looked at after a pause; each relapse doubles the pause up to kLongestPause.
#include "agent/own_fault.h"

#include <algorithm>
#include <utility>

namespace muster {

void OwnFault::begin(std::string text) {
  if (!text_.empty()) return;
  text_ = std::move(text);
  next_look_ = {};
}

bool OwnFault::is_due(TimePoint now) {
  if (text_.empty()) return false;
  if (!next_look_.is_set()) {
    // A disk that fills again and again would cost a job each time that the node comes back.
    const bool is_relapse = gone_since_.is_set() && now - gone_since_ < kRelapseWithin;
    pause_ = is_relapse ? std::min(pause_ + pause_, kLongestPause) : kFirstPause;
    next_look_ = now + pause_;
  }
  return now >= next_look_;
}

void OwnFault::looked(const Status& found, TimePoint now) {
  next_look_ = now + pause_;
  text_ = found.has_value() ? "" : found.error().text();
  if (found.has_value()) gone_since_ = now;
}

}  // namespace muster
