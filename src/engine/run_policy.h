// Says what the runs of some jobs mean beyond the jobs themselves: a trial's run is a part of an
// experiment. The module that knows implements this; the one that starts and ends runs asks it.
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

  /// Changes the end of a run to what it means for the whole of which the run is a part.
  /// `is_own_fault`: the script ended by itself. It leaves the ends of other jobs alone.
  virtual void refine_ending(const Job& job, bool is_own_fault, JobEnding& ending) const = 0;
  /// Called when the job is over, or goes back to the queue, and nothing of its run is left on any
  /// node. True: the policy has requeued it itself.
  virtual bool after_run(const Job& job) = 0;

  /// Returns the bytes that a launch holds beside what the job says.
  virtual std::size_t launch_bytes(const Job& job) const = 0;
  /// Adds what every node gets alike. Errors: kInvalidArgument: the job cannot be launched so.
  virtual Status add_to_launch(const Job& job, LaunchStep& launch) = 0;
  /// True when each node gets something of its own.
  virtual bool has_own_parts(const Job& job) const = 0;
  /// Adds that part. Requires: has_own_parts(job); the launch names its node.
  virtual void add_to_part(const Job& job, LaunchStep& part) const = 0;
};

}  // namespace muster
