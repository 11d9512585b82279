// The roles that the workload consists of, and what they share: each acts within a turn of the
// engine, on the same state. A role calls another's public functions; its data are its own.
#pragma once

#include "workload/workload_options.h"

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
