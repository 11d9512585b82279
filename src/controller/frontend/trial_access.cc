#include "controller/frontend/trial_access.h"

#include <fmt/format.h>

namespace muster::frontend {

Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied", "only its owner or an operator may do this"};
}

bool may_control(const Experiment& experiment, const Identity& identity) {
  return identity.is_operator || experiment.spec->user == identity.user;
}

Result<const Experiment*> find_own(const ClusterState& state, ExperimentId id, const Identity& identity) {
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()), "see muster experiment list");
  }
  if (!may_control(*experiment, identity)) return fail(not_allowed());
  return experiment;
}

Result<const Trial*> find_running(const ClusterState& state, TrialId id, std::uint32_t run, const Identity& identity) {
  const Trial* trial = state.experiments().find(id);
  if (trial == nullptr) return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), "");
  if (!may_control(*state.experiments().find(trial->experiment), identity)) return fail(not_allowed());
  const Job* job = state.jobs().find(trial->job);
  const std::uint32_t present = job == nullptr || trial->is_over() ? 0 : run_number(*job);
  if (present != run || job->run == nullptr) {
    return fail(ErrorCode::kFailedPrecondition, fmt::format("invalid run id, {} (reported) != {} (expected)", run, present),
                "another run of the trial has taken over, or it has ended");
  }
  return trial;
}

}  // namespace muster::frontend
