// Turns jobs that wait for other jobs into eligible ones, or into ones that can never start.
#pragma once

#include "engine/engine.h"
#include "workload/dependencies/dependency_index.h"
#include "workload/roles.h"

namespace muster {

class DependencyRole {
 public:
  explicit DependencyRole(WorkloadRoles& roles);

  void load();
  void on_event(const Event& event);
  /// True when jobs wait to be looked at, because what they wait for has changed.
  bool has_affected() const { return index_.has_affected(); }
  /// Looks at them, as far as the turn's allowance goes.
  void decide_dependencies();

 private:
  TimePoint now() const { return engine_.now(); }
  DependencyOutcome decide_elements_of(const Job& record, const AffectedJob& affected,
                                       WholeArrays& wholes);
  void decide_dependencies_of(const Job& job, const DependencyOutcome& outcome);

  WorkloadRoles& roles_;
  Engine& engine_;
  const ClusterState& state_;
  DependencyIndex index_;
};

}  // namespace muster
