// What the runs of some jobs mean beyond the jobs themselves: a trial's run is a part of an
// experiment. The module that knows implements this; the one that starts and ends runs asks.
#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "model/agent_message.h"
#include "model/event.h"
#include "model/job.h"

namespace muster {

class RunPolicy {
 public:
  virtual ~RunPolicy() = default;

  /// Turns the end of a run into what it is for what the run is a part of. `is_own_fault`: the
  /// script ended by itself. Leaves the ends of other jobs alone.
  virtual void refine_ending(const Job& job, bool is_own_fault, JobEnding& ending) const = 0;
  /// The job is over, or goes back to the queue, and nothing of its run is left on any node. True:
  /// the policy has put it back itself.
  virtual bool after_run(const Job& job) = 0;

  /// What a launch carries beside what the job says, in bytes.
  virtual std::size_t launch_bytes(const Job& job) const = 0;
  /// Adds what every node is told alike. Errors: kInvalidArgument: the job cannot be launched so.
  virtual Status add_to_launch(const Job& job, LaunchStep& launch) = 0;
  /// Whether each node is told something of its own.
  virtual bool has_own_parts(const Job& job) const = 0;
  /// Adds that. Requires: has_own_parts(job); the launch names its node.
  virtual void add_to_part(const Job& job, LaunchStep& part) const = 0;
};

}  // namespace muster
