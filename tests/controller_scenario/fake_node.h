// A node's agent as a scenario has it: it takes orders, runs what it is told to until the scenario
// says how that ends, and remembers ends until they are acknowledged. Processes do as SIGTERM of a
// job's end and SIGKILL say, and pass over every other signal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/agent_message.h"

namespace muster::scenario {

class FakeNode {
 public:
  /// What the node answers to an order. Requires: it is not away.
  std::vector<FromAgent> receive(const ToAgent& order);
  /// All that a registration names.
  std::vector<KnownStep> known_steps() const;
  /// Ends that nobody has acknowledged.
  const std::vector<StepDone>& unacknowledged() const { return ended_; }
  const StepDone* find_end(const StepId& step) const;
  bool runs(const StepId& step) const;
  /// Of the step that runs there under that job and number, whichever attempt it is; null: none.
  const KnownStep* find(JobId job, std::uint32_t step) const;
  /// A part of a step ends as the report says; `id` names it. What to tell.
  std::vector<FromAgent> end(StepDone report);
  /// What waited for it may end now.
  std::vector<FromAgent> let_go();
  /// The machine starts anew, and nothing of before is left.
  void reboot();
  std::string boot_id() const { return "boot" + std::to_string(boots_); }

  bool is_away = false;      ///< not heard, and hears nothing
  bool is_mute = false;      ///< does not say that it has started what it was told to
  bool is_clinging = false;  ///< its processes do not end when they are told to
  std::string fault;         ///< what it finds wrong with itself
  std::uint32_t cpus = 0;    ///< that it finds; 0: as configured
  std::uint64_t memory_mib = 0;

 private:
  std::vector<FromAgent> terminate(const TerminateJob& order);
  std::vector<FromAgent> kill(const StepId& step, std::uint64_t launch_key, int signal);
  std::vector<FromAgent> launch(const LaunchStep& order);
  std::vector<FromAgent> answer(const FindSteps& order) const;
  void forget(const AcknowledgeStep& order);

  std::vector<KnownStep> running_;
  std::vector<StepDone> ended_;
  std::vector<TerminateJob> terminating_;                 ///< while it clings
  std::vector<std::pair<StepId, std::uint64_t>> killed_;  ///< while it clings
  std::uint32_t boots_ = 1;
};

/// "LaunchStep", "TerminateJob", ...
std::string_view order_name(const ToAgent& order);
/// Of which job the order is; 0: of none.
JobId job_of(const ToAgent& order);

}  // namespace muster::scenario
