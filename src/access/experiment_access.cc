// Two questions about an experiment: who may change it (its owner and operators), and who may read
// what belongs to it (readers_of). Both are asked of the state as it is, so that a right that is
// taken back ends at once.
#include "access/experiment_access.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster::access {

Error not_allowed() {
  return Error{ErrorCode::kPermissionDenied, "Access/permission denied",
               "only its owner or an operator may do this"};
}

bool may_control(const Experiment& experiment, const Identity& identity) {
  return identity.is_operator || experiment.spec->user == identity.user;
}

bool Readers::has(const Identity& identity) const {
  return is_everybody || identity.is_operator ||
         std::ranges::find(users, identity.user) != users.end();
}

Readers readers_of(const ClusterState& state, const Experiment& experiment) {
  Readers readers;
  // private: its owner alone. project: the owners of its project and of that project's workspace as
  // well. cluster: everybody.
  readers.is_everybody = experiment.labels.visibility == Visibility::kCluster;
  readers.users.push_back(experiment.spec->user);
  if (experiment.labels.visibility != Visibility::kProject) return readers;
  const DocumentRef workspace =
      state.catalog().find(DocumentKind::kWorkspace, 0, experiment.labels.workspace);
  // The workspace that is always there is no document and has no owner.
  if (workspace == nullptr) return readers;
  readers.users.push_back(workspace->user);
  const DocumentRef project =
      state.catalog().find(DocumentKind::kProject, workspace->id, experiment.labels.project);
  if (project != nullptr) readers.users.push_back(project->user);
  return readers;
}

Status check_readable(const ClusterState& state, const Experiment& experiment,
                      const Identity& identity) {
  if (readers_of(state, experiment).has(identity)) return {};
  return fail(ErrorCode::kPermissionDenied,
              fmt::format("code, configuration and logs of experiment {} are {}'s",
                          experiment.id.value(), experiment.spec->user_name),
              fmt::format("its owner opens them: muster experiment set {} --visibility cluster",
                          experiment.id.value()));
}

Result<const Experiment*> find_own(const ClusterState& state, ExperimentId id,
                                   const Identity& identity) {
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr) {
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()),
                "see muster experiment list");
  }
  if (!may_control(*experiment, identity)) return fail(not_allowed());
  return experiment;
}

Result<const Trial*> find_running(const ClusterState& state, TrialId id, std::uint32_t run,
                                  const Identity& identity) {
  const Trial* trial = state.experiments().find(id);
  if (trial == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), "");
  if (!may_control(*state.experiments().find(trial->experiment), identity))
    return fail(not_allowed());
  const Job* job = state.jobs().find(trial->job);
  const bool has_run = job != nullptr && job->run != nullptr && !trial->is_over();
  // No run has the number 0.
  const std::uint32_t present = job == nullptr || trial->is_over() ? 0 : run_number(*job);
  // An earlier run may live on at a node that was given up: what it says is not the trial's any
  // more.
  if (!has_run || present != run) {
    return fail(ErrorCode::kFailedPrecondition, ErrorCause::kStaleRun,
                fmt::format("invalid run id, {} (reported) != {} (expected)", run, present),
                "another run of the trial has taken over, or it has ended");
  }
  return trial;
}

}  // namespace muster::access
