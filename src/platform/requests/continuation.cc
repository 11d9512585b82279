// A continued experiment keeps its id, its trials and its search's state; each trial that goes on
// gets a new job, since its old one may have left memory.
#include "platform/requests/continuation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "access/experiment_access.h"
#include "base/check.h"
#include "platform/requests/trial_jobs.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "trials/config_layers.h"

namespace muster::requests {
namespace {

/// Searches whose decisions do not hang upon how trials compare: a trial that comes back upsets
/// none of them.
constexpr std::array<std::string_view, 3> kContinued{"single", "random", "grid"};

TrialExit exit_of(const Trial& trial) {
  if (trial.is_invalid) return TrialExit::kInvalidHparams;
  switch (trial.state) {
    case TrialState::kCanceled: return TrialExit::kCanceled;
    case TrialState::kError: return TrialExit::kErrored;
    default: return TrialExit::kCompleted;
  }
}

Status check(const Experiment& experiment, const PreparedContinuation& prepared) {
  const auto refuse = [](std::string text, std::string_view way_out) {
    return fail(ErrorCode::kFailedPrecondition, std::move(text), std::string(way_out));
  };
  const std::uint32_t id = experiment.id.value();
  if (!is_final(experiment.state))
    return refuse(fmt::format("experiment {} has not ended", id), "see muster experiment activate");
  if (experiment.state >= ExperimentState::kDeleting)
    return refuse(fmt::format("experiment {} is being deleted", id), "");
  if (!experiment.spec->imported_from.empty()) {
    return refuse(fmt::format("experiment {} ended in another cluster", id),
                  "fork it: muster experiment fork");
  }
  if (std::ranges::find(kContinued, experiment.spec->searcher) == kContinued.end()) {
    return refuse(fmt::format("a search by {} cannot be continued", experiment.spec->searcher),
                  "fork it: muster experiment fork; searches by single, random and grid can be");
  }
  // The gateway made the new specification out of one that it read before, on another thread.
  if (experiment.spec_hash != prepared.basis)
    return fail(ErrorCode::kConflict, fmt::format("experiment {} was changed meanwhile", id),
                "try again");
  return {};
}

/// What a trial would go on from is not taken away under it.
Status check_not_going(const ClusterState& state, TrialId trial) {
  const CheckpointRef latest = state.checkpoints().latest(trial);
  if (latest == nullptr || !state.checkpoints().is_going(latest->uuid)) return {};
  for (const auto& [job, collection] : state.checkpoints().collections()) {
    // The latest checkpoint is being deleted: by which job, for the text.
    if (std::ranges::find(collection.uuids, latest->uuid) == collection.uuids.end()) continue;
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("job {} is deleting checkpoint {}, which trial {} would go on from",
                            job.value(), latest->uuid, trial.value()),
                fmt::format("keep it by scancel {} while that job waits, or go on from an earlier "
                            "one once it has ended",
                            job.value()));
  }
  return {};
}

/// A trial's hyperparameters with some of them changed.
std::string with_values(const std::string& hparams, const std::string& changes) {
  const auto before = parse_json(hparams);
  const auto over = parse_json(changes);
  // prepare_continuation wrote this text.
  CHECK(over.has_value(), "new hyperparameters are no JSON");
  return json_text(merge_layers(*over, before.has_value() ? *before : Json(Json::Object{})));
}

}  // namespace

Result<Reply> continue_experiment(Draft& draft, const PreparedContinuation& prepared,
                                  const Identity& identity) {
  const Experiment& experiment =
      *TRY(access::find_own(draft.state(), prepared.experiment, identity));
  if (experiment.labels.is_archived) {
    return fail(
        ErrorCode::kFailedPrecondition,
        fmt::format("experiment {} is archived", experiment.id.value()),
        fmt::format("bring it back first: muster experiment unarchive {}", experiment.id.value()));
  }
  TRY(check(experiment, prepared));
  auto spec = std::make_shared<ExperimentSpec>(*prepared.spec);
  auto job = std::make_shared<JobSpec>(*spec->job);
  give_slots(draft.state(), *job, spec->slots_per_trial, prepared.is_single_node);
  spec->job = std::move(job);

  ExperimentContinued event;
  event.experiment = experiment.id;
  event.spec = spec;
  event.covered = experiment.covered;
  event.search_state = experiment.search_state;
  const bool is_single = spec->searcher == kContinued.front();
  if (!prepared.hparams.empty() && !experiment.trials.empty()) {
    event.hparams = with_values(
        draft.state().experiments().find(experiment.trials.front())->hparams, prepared.hparams);
  }
  for (const TrialId id : experiment.trials) {
    const Trial& trial = *draft.state().experiments().find(id);
    // The one trial of a single search goes on in any case: to a greater length, with other values.
    const bool is_again = is_single || (trial.state != TrialState::kCompleted && !trial.is_invalid);
    if (is_again) {
      TRY(check_not_going(draft.state(), id));
      event.trials.push_back({id, trial.index, exit_of(trial)});
    } else {
      // Its search is told that this one stays ended.
      event.closed.push_back(trial.index);
    }
  }
  if (event.trials.empty() && experiment.outcome) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("experiment {} has no trial left to continue: all are completed",
                            experiment.id.value()),
                "fork it for more: muster experiment fork");
  }
  draft.add(event);
  for (const TrialAgain& again : event.trials) {
    const Trial& trial = *draft.state().experiments().find(again.id);
    // Numbered on from the trial's last run, so that logs and tokens of runs stay apart.
    TRY(submit_trial(draft, *spec, experiment.labels.name,
                     {again.id, again.trial, trial.last_run, false}));
  }
  Reply reply;
  reply.experiment = experiment.id;
  return reply;
}

}  // namespace muster::requests
