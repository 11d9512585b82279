// Checks that history has all that it must have: an end that neither memory nor history knows is
// lost for ever.
#pragma once

#include <string>
#include <vector>

#include "state/cluster_state.h"
#include "store/history/history_store.h"

namespace muster {

/// Records the ends of attempts and steps while a journal is replayed into `state`.
class HistoryExpectation final : public ApplyObserver {
 public:
  explicit HistoryExpectation(const ClusterState& state) : state_(state) {}
  void attempt_ended(const Job& job, TimePoint now) override;
  void step_ended(const Job& job, const StepState& step, TimePoint now) override;

  /// Returns what is missing from history although its watermark has passed it: a line each, and
  /// one that says how many more there are. It is called after the replay. Errors: as HistoryStore.
  Result<std::vector<std::string>> missing_from(HistoryStore& history) const;

 private:
  struct Attempt {
    Seq seq;
    JobId job;
    std::uint32_t attempt = 0;
  };
  const ClusterState& state_;
  std::vector<Attempt> attempts_;
  std::vector<std::pair<Seq, StepId>> steps_;
};

}  // namespace muster
