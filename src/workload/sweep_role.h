// Requests about many jobs. It does a bounded part of each a turn, so that nobody else waits. Such
// a request is not atomic: each part is a draft of its own.
#pragma once

#include <deque>
#include <vector>

#include "engine/engine.h"
#include "workload/requests/sweep.h"
#include "workload/roles.h"

namespace muster {

class SweepRole {
 public:
  explicit SweepRole(WorkloadRoles& roles);

  /// Accepts the command where it is such a request, and answers it in its own time. A repeat of
  /// one that is under way waits for the same answer.
  bool accept(const Command& command);
  bool has_work() const { return !sweeps_.empty(); }
  /// Continues what is under way, as far as the turn's allowance goes.
  void on_work();

 private:
  struct Sweeping {
    requests::Sweep sweep;
    Identity identity;
    RequestId request;
    std::vector<std::uint64_t> tokens;  ///< of those who wait for the answer
    JobId asker;                        ///< from inside which it was asked; 0: none
    bool has_changed = false;
  };
  bool joins_sweep(const Command& command);
  bool begin_sweep(const Command& command);
  bool advance(Sweeping& sweeping);

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  std::deque<Sweeping> sweeps_;
};

}  // namespace muster
