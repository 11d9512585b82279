// The mark of a batch of events, beyond its number. After an older state was restored a cluster
// gives numbers of batches again, to other batches; each of those has another mark than the one
// that had its number.
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
