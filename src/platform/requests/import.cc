// Nothing imported ever runs: state is final, job and script are empty shells for the record. Each
// object names where it comes from, by which a repeat of the import finds it.
#include "platform/requests/import.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/requests/trial_jobs.h"
#include "trials/collection_text.h"

namespace muster::requests {
namespace {

std::optional<Error> not_an_operator(const Identity& identity) {
  if (identity.is_operator) return std::nullopt;
  return Error{ErrorCode::kPermissionDenied,
               "only an operator may import another cluster's experiments",
               "ask the cluster's operator"};
}

}  // namespace

Reply import_experiment(Draft& draft, const ImportExperiment& import, const Identity& identity) {
  if (auto error = not_an_operator(identity)) return refused(std::move(*error));
  ImportedExperiment experiment = import.experiment;
  Reply reply;
  // An import that broke off is run again as a whole.
  if (const Experiment* known =
          draft.state().experiments().find_imported_experiment(experiment.spec->imported_from)) {
    reply.experiment = known->id;
    return reply;
  }
  experiment.id = draft.allot_experiment(experiment.id);
  if (experiment.labels.name.empty())
    experiment.labels.name = fmt::format("experiment-{}", experiment.id.value());
  // The parts of the job that could make something run, or name blobs of ours, are cleared.
  auto job = std::make_shared<JobSpec>(*experiment.spec->job);
  job->kind = JobKind::kBatch;
  job->user = experiment.spec->user;
  job->script = job->environment = BlobId();
  job->trial = TrialId();
  job->runs_before = 0;
  job->text.set(JobText::kName, experiment.labels.name);
  auto spec = std::make_shared<ExperimentSpec>(*experiment.spec);
  spec->job = std::move(job);
  std::string origin = spec->imported_from;
  std::ranges::replace(origin, '/', '-');
  spec->run_folder = own_run_folder(draft, spec->run_folder, "imported-" + origin);
  experiment.spec = std::move(spec);
  reply.experiment = experiment.id;
  draft.add(ExperimentImported{std::move(experiment)});
  return reply;
}

Reply import_trial(Draft& draft, const ImportTrial& import, const Identity& identity) {
  if (auto error = not_an_operator(identity)) return refused(std::move(*error));
  const Experiment* experiment = draft.state().experiments().find(import.trial.experiment);
  if (experiment == nullptr) {
    return refused({ErrorCode::kNotFound,
                    fmt::format("there is no experiment {}", import.trial.experiment.value()),
                    "import it first"});
  }
  if (experiment->spec->imported_from.empty() || !is_final(experiment->state) ||
      import.trial.state == TrialState::kActive) {
    return refused({ErrorCode::kFailedPrecondition,
                    fmt::format("experiment {} is our own", experiment->id.value()),
                    "trials are imported into imported experiments, when they have ended"});
  }
  Reply reply;
  const Trial* known =
      draft.state().experiments().find_imported_trial(experiment->id, import.trial.imported_from);
  if (known != nullptr) {
    reply.trial = known->id;
    return reply;
  }
  TrialImported event{import.trial};
  event.trial.id = draft.allot_trial(import.trial.id);
  reply.trial = event.trial.id;
  draft.add(std::move(event));
  return reply;
}

Reply import_checkpoint(Draft& draft, const ImportCheckpoint& import, const Identity& identity) {
  if (auto error = not_an_operator(identity)) return refused(std::move(*error));
  const Checkpoint& wanted = import.checkpoint;
  if (!is_checkpoint_name(wanted.uuid)) {
    return refused({ErrorCode::kInvalidArgument,
                    fmt::format("'{}' is no uuid of a checkpoint", wanted.uuid), ""});
  }
  const Trial* trial = draft.state().experiments().find(wanted.trial);
  if (trial == nullptr)
    return refused({ErrorCode::kNotFound, fmt::format("there is no trial {}", wanted.trial.value()),
                    "import it first"});
  if (trial->imported_from.empty()) {
    return refused({ErrorCode::kFailedPrecondition,
                    fmt::format("trial {} is our own", trial->id.value()),
                    "it reports its checkpoints itself"});
  }
  // Its trial's own: a repeat.
  if (const CheckpointRef known = draft.state().checkpoints().find(wanted.uuid)) {
    if (known->trial == wanted.trial) return {};
    return refused({ErrorCode::kAlreadyExists,
                    fmt::format("checkpoint {} is trial {}'s", wanted.uuid, known->trial.value()),
                    ""});
  }
  draft.add(CheckpointRecorded{std::make_shared<const Checkpoint>(wanted)});
  return {};
}

}  // namespace muster::requests
