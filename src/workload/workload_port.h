// What the workload needs of the world.
#pragma once

#include "base/result.h"
#include "model/agent_message.h"
#include "model/ids.h"

namespace muster {

/// Its methods are called within a turn; an implementation must not call back into the controller.
class WorkloadPort {
 public:
  virtual ~WorkloadPort() = default;
  /// Sends a message at once: what it says is durable.
  virtual void send(NodeIndex node, const ToAgent& message) = 0;
  /// Says that the plan last given has become events up to `until`.
  virtual void plan_consumed(Seq until) = 0;
  /// Asks for a blob; LaunchRole::on_blob answers.
  virtual void fetch_blob(BlobId id) = 0;
  /// Reads and checks the configuration file, on the calling thread; where it is good, the process
  /// starts again with it soon after this returns. Errors: what is wrong with the file; nothing
  /// changes then.
  virtual Status reconfigure() = 0;
  /// Says that a node has met a newer leader than this one, so the state is an older copy: the
  /// controller must start again under an epoch beyond that.
  virtual void lead_beyond(Epoch epoch) = 0;
};

}  // namespace muster
