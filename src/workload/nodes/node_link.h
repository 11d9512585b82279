// What the core knows of a node's agent beside the state. It is derived, lost on restart, and
// rebuilt by the agents' messages.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/time.h"
#include "model/agent_message.h"

namespace muster {

struct NodeLink {
  bool is_connected = false;
  std::uint64_t agent_id = 0;  ///< of the agent that is connected, or was last
  std::uint32_t protocol = 0;  ///< as in its registration
  TimePoint last_contact;      ///< unset: nothing heard since the controller started
  std::uint32_t load_hundredths = 0;
  std::uint64_t free_memory_mib = 0;
  bool has_moved_ids = false;  ///< it knew ids beyond our state's, and they were believed
  TimePoint warned;            ///< when it was last logged that it spoke of what is not its own
  /// Attempts that ran on while the node counted as lost: until they are gone the node accepts no
  /// work.
  std::set<std::pair<JobId, std::uint32_t>> fenced;
  /// Steps on the node, with the keys of their launches, that the state does not know though their
  /// runs go on: they count as fenced.
  std::set<std::pair<StepId, std::uint64_t>> fenced_steps;
  /// Signals for steps on the node that were given while it was away.
  std::vector<SignalStep> missed_signals;
  static constexpr std::ptrdiff_t kMissedSignalsMax = 1'000;  ///< of one user's
  /// The most fenced attempts and steps that one agent may report: its word is not believed without
  /// end.
  static constexpr std::size_t kFencedMax = 10'000;
  /// How many supervisors are lost in a row before a node is drained or a job is held.
  static constexpr std::uint32_t kLossesMax = 5;
  bool is_fenced() const { return !fenced.empty() || !fenced_steps.empty(); }
  std::uint32_t losses =
      0;  ///< of supervisors, one launch after the other, without an end in between
  TimePoint last_loss;
  std::set<JobId> lost_jobs;  ///< whose these were
};

/// How far a running step has come on its nodes, by position in its layout.
struct StepProgress {
  Bitmap running;
  Bitmap done;
  std::map<std::size_t, StepPart>
      parts;  ///< of nodes that are done and not released: a release journals its part
  bool is_out_of_memory = false;
  bool is_lost = false;
  bool is_node_fault = false;
  bool is_timeout = false;
  /// Returns of how many parts something was heard.
  std::size_t heard() const {
    Bitmap all = running;
    all |= done;
    return all.count();
  }
};

/// A node's report that it runs its part of a step.
struct HeardStart {
  TimePoint time;
  StepId step;
  std::size_t part = 0;  ///< position in the step's layout
};

}  // namespace muster
