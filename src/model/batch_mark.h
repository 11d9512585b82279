// Which batch of events it is, beyond its number: after an older state was put back a cluster goes
// on otherwise and gives numbers of batches again, and each of these differs from the one that had
// its number.
#pragma once

#include "model/event.h"

namespace muster {

struct BatchMark {
  Seq seq;
  Epoch epoch;     ///< 0: not known, as the time
  TimePoint time;  ///< of its last event
  friend bool operator==(const BatchMark&, const BatchMark&) = default;
};

inline BatchMark mark_of(const EventBatch& batch) {
  return {batch.seq, batch.epoch, batch.events.empty() ? TimePoint() : batch.events.back().time};
}

}  // namespace muster
