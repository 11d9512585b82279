// Decides when a checkpoint is worth its cost.
#pragma once

#include <cstdint>

#include "model/ids.h"

namespace muster {

/// Counts what a recovery would have to replay: what was written since the last checkpoint, that of
/// earlier starts included. Otherwise a controller that is restarted often would never write one.
class CheckpointSchedule {
 public:
  struct Bounds {
    std::uint64_t batches = 50'000;
    std::uint64_t events = 200'000;
  };
  /// Begins at a start. `last`: the newest checkpoint; 0: none. `replayed_events`: of the batches
  /// behind it.
  CheckpointSchedule(const Bounds& bounds, Seq last, std::uint64_t replayed_events)
      : bounds_(bounds), last_(last), events_(replayed_events) {}

  /// Counts a batch that has been applied.
  void count(std::size_t events) { events_ += events; }
  /// True when a checkpoint is due. `now`: the batch up to which everything is applied.
  bool is_due(Seq now) const {
    return now.value() - last_.value() >= bounds_.batches || events_ >= bounds_.events;
  }
  /// Counts anew: a checkpoint of everything up to `now` is being written.
  void written(Seq now) {
    last_ = now;
    events_ = 0;
  }

 private:
  Bounds bounds_;
  Seq last_;
  std::uint64_t events_ = 0;
};

}  // namespace muster
