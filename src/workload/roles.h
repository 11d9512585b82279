// The roles that the workload consists of, and what they share: each acts within a turn of the
// engine, on the same state. A role calls another's public functions; its data are its own.
#pragma once

#include <string>

#include "base/time.h"
#include "workload/launch/launch_queue.h"

namespace muster {

class DependencyRole;
class Engine;
class LaunchRole;
class NodeRole;
class RunPolicy;
class RunRole;
class StartRole;
class SweepRole;
class TimerRole;
class WorkloadPort;

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

struct WorkloadRoles {
  Engine& engine;
  WorkloadPort& port;
  const WorkloadOptions& options;
  RunPolicy* policy = nullptr;
  DependencyRole* dependencies = nullptr;
  LaunchRole* launches = nullptr;
  NodeRole* nodes = nullptr;
  RunRole* runs = nullptr;
  StartRole* starts = nullptr;
  SweepRole* sweeps = nullptr;
  TimerRole* timers = nullptr;
};

}  // namespace muster
