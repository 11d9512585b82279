// What the workload is told when it is made.
#pragma once

#include <string>

#include "base/time.h"
#include "workload/launch/launch_queue.h"

namespace muster {

struct WorkloadOptions {
  std::string version;
  Duration silence = Duration::seconds(5);  ///< after which a node counts as not responding
  Duration lease = Duration::seconds(60);   ///< of a client's allocation
  /// The time that a client which ends its own job has to read the answer, and its caller to see it
  /// exit.
  Duration answer_grace = Duration::seconds(1);
  /// The time that a client which signals its own job has to read the answer.
  Duration signal_grace = Duration::milliseconds(100);
  LaunchQueue::Bounds launches = {};
};

}  // namespace muster
