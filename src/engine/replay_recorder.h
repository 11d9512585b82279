// Records what a recovery sees end and history does not have: it must be stored there before
// anything new ends.
#pragma once

#include <vector>

#include "engine/durable_update.h"
#include "state/cluster_state.h"

namespace muster {

class ReplayRecorder final : public ApplyObserver {
 public:
  /// Observes a recovery. `state`: the one that is being recovered, which outlives this.
  /// `watermark`: what history has on stable storage.
  ReplayRecorder(const ClusterState& state, Seq watermark) : state_(state), watermark_(watermark) {}
  void attempt_ended(const Job& job, TimePoint now) override;
  void step_ended(const Job& job, const StepState& step, TimePoint now) override;
  std::vector<HistoryRecord> extract_records() { return std::move(records_); }

 private:
  const ClusterState& state_;
  Seq watermark_;
  std::vector<HistoryRecord> records_;
};

}  // namespace muster
