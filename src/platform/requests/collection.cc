// A deletion is a job with a script that removes files under the owner's name, recorded as a
// Collection before it can start, so that no checkpoint is given out any more that it may already
// have removed. When the job ends, Platform::end_collection says what is left.
#include "platform/requests/collection.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "access/experiment_access.h"
#include "platform/requests/trial_jobs.h"
#include "platform/search/search_role.h"
#include "search/custom_search.h"
#include "text/digest.h"
#include "text/json_reader.h"
#include "trials/collection_text.h"
#include "trials/trial_text.h"

namespace muster::requests {
namespace {

/// What trials that the client of a custom search has created, and that have not begun, will begin
/// with.
std::vector<std::string> wanted_sources(const Experiment& experiment) {
  const auto searcher = searcher_now(experiment);
  if (!searcher.has_value()) return {};
  const auto* custom = dynamic_cast<const search::CustomMethod*>(&searcher->method());
  return custom == nullptr ? std::vector<std::string>() : custom->sources();
}

bool is_there(const Checkpoint& checkpoint) {
  return checkpoint.state != CheckpointState::kDeleted;
}

/// One task of its own, with the experiment's environment and without its slots.
std::shared_ptr<JobSpec> job_of(Draft& draft, const Experiment& experiment,
                                const std::string& script) {
  auto job = std::make_shared<JobSpec>(*experiment.spec->job);
  // No GPU, one task: it only deletes.
  give_slots(draft.state(), *job, 0, true);
  job->trial = TrialId();
  job->text.set(JobText::kName, fmt::format("collect.{}", experiment.id.value()));
  job->text.set(JobText::kStdOut, checkpoint_root(*experiment.spec) + "/collection.log");
  job->script = draft.blob_for({sha256(script), std::make_shared<const std::string>(script)});
  return job;
}

/// Drafts the job and what it deletes. Requires: `uuids` are the experiment's.
Status begin(Draft& draft, const Experiment& experiment, std::vector<std::string> uuids,
             bool is_whole) {
  Doomed doomed;
  for (const std::string& uuid : uuids)
    add_checkpoint(doomed, *experiment.spec, draft.state().checkpoints().find(uuid)->trial, uuid);
  if (is_whole) doomed.folders.push_back(experiment.spec->run_folder);
  Collection collection{{}, experiment.id, is_whole, std::move(uuids)};
  collection.job = TRY(submit_for_owner(
      draft, job_of(draft, experiment, collection_script(*experiment.spec, doomed)), 0));
  draft.add(CollectionBegun{std::move(collection)});
  return {};
}

const Experiment& experiment_of(const ClusterState& state, const Checkpoint& checkpoint) {
  return *state.experiments().find(state.experiments().find(checkpoint.trial)->experiment);
}

/// A checkpoint's experiment, if it may be deleted by the caller.
Result<ExperimentId> deletable(const ClusterState& state, const ProtectedCheckpoints& kept,
                               const std::string& uuid, const Identity& identity) {
  const CheckpointRef known = state.checkpoints().find(uuid);
  if (known == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
  const Experiment& experiment =
      // Owner first: others must not learn what is kept and why.
      *TRY(access::find_own(state, experiment_of(state, *known).id, identity));
  TRY(check_reachable(experiment));
  if (const auto why = kept.because(*known))
    return fail(ErrorCode::kFailedPrecondition, fmt::format("checkpoint {} {}", uuid, *why), "");
  return experiment.id;
}

}  // namespace

ProtectedCheckpoints::ProtectedCheckpoints(const ClusterState& state) : state_(state) {
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    const std::string& source = experiment.spec->source_checkpoint;
    if (!source.empty())
      // Of each uuid the first reason is enough.
      begun_with_.emplace(source, fmt::format("is what experiment {} began with", id.value()));
    if (experiment.spec->searcher != "custom" || !is_searching(experiment.state) ||
        experiment.outcome)
      continue;
    for (const std::string& uuid : wanted_sources(experiment)) {
      begun_with_.emplace(
          uuid, fmt::format("is what a trial of experiment {} will begin with", id.value()));
      // Its client has asked for these trials; their jobs are still to come.
    }
  }
  for (const auto& [id, trial] : state.experiments().trials()) {
    if (!trial.is_over() && !trial.source.empty())
      begun_with_.emplace(trial.source, fmt::format("is what trial {} begins with", id.value()));
  }
}

std::optional<std::string> ProtectedCheckpoints::needed_elsewhere(
    const Checkpoint& checkpoint) const {
  if (state_.catalog().names_checkpoint(checkpoint.uuid))
    return "is in the model registry; delete the model version that names it first";
  if (const auto found = begun_with_.find(checkpoint.uuid); found != begun_with_.end())
    return found->second;
  return std::nullopt;
}

std::optional<std::string> ProtectedCheckpoints::because(const Checkpoint& checkpoint) const {
  if (auto why = needed_elsewhere(checkpoint)) return why;
  const Trial& own = *state_.experiments().find(checkpoint.trial);
  // An ended trial goes on from nothing.
  const CheckpointRef latest = own.is_over() ? nullptr : state_.checkpoints().latest(own.id);
  if (latest != nullptr && latest->uuid == checkpoint.uuid)
    return fmt::format("is what trial {} goes on from; end it first", own.id.value());
  return std::nullopt;
}

Status check_reachable(const Experiment& experiment) {
  if (experiment.spec->imported_from.empty())
    return {};  // our own were checked when they were created
  const auto config = parse_json(experiment.spec->config);
  const std::vector<std::string> path{"checkpoint_storage", "type"};
  const Json* type = config.has_value() ? config->find(path) : nullptr;
  if (type == nullptr || type->text() == nullptr) return {};
  for (const char* known : {"shared_fs", "directory", "s3"}) {
    if (*type->text() == known) return {};
  }
  return fail(ErrorCode::kFailedPrecondition,
              fmt::format("checkpoints of experiment {} lie in storage of type {}",
                          experiment.id.value(), *type->text()),
              "Muster cannot delete them there");
}

Reply delete_checkpoints(Draft& draft, const DeleteCheckpoints& asked, const Identity& identity) {
  Reply reply;
  const ProtectedCheckpoints kept(draft.state());
  std::map<ExperimentId, std::vector<std::string>> by_experiment;
  // All or none: nothing has been drafted before every uuid was looked at.
  for (const std::string& uuid : asked.uuids) {
    const auto experiment = deletable(draft.state(), kept, uuid, identity);
    if (!experiment.has_value()) {
      reply.error = experiment.error();
      return reply;
    }
    // Gone, or going already, is what was asked for.
    const bool is_gone = !is_there(*draft.state().checkpoints().find(uuid)) ||
                         draft.state().checkpoints().is_going(uuid);
    auto& uuids = by_experiment[*experiment];
    if (!is_gone && std::ranges::find(uuids, uuid) == uuids.end()) uuids.push_back(uuid);
  }
  for (auto& [id, uuids] : by_experiment) {
    if (uuids.empty()) continue;
    if (const Status begun =
            begin(draft, *draft.state().experiments().find(id), std::move(uuids), false);
        !begun.has_value()) {
      reply.error = begun.error();
      return reply;
    }
  }
  return reply;
}

Reply collect(Draft& draft, const CollectCheckpoints& collect) {
  Reply reply;
  const ClusterState& state = draft.state();
  const Experiment* experiment = state.experiments().find(collect.experiment);
  // kDeleting and later states have a deletion of their own.
  const bool is_due = experiment != nullptr && is_final(experiment->state) &&
                      experiment->state < ExperimentState::kDeleting;
  // The collector decided by the retention that it read: if that has changed since, it decides
  // anew.
  if (!is_due || experiment->is_collected || experiment->retention != collect.retention)
    return reply;
  const ProtectedCheckpoints kept(state);
  const bool is_reachable = check_reachable(*experiment).has_value();
  std::vector<std::string> uuids;
  for (const std::string& uuid : collect.uuids) {
    const CheckpointRef known = state.checkpoints().find(uuid);
    const bool may_go = is_reachable && known != nullptr && is_there(*known) &&
                        !state.checkpoints().is_going(uuid) && !kept.because(*known);
    if (may_go) uuids.push_back(uuid);
  }
  std::set<std::string> named(uuids.begin(), uuids.end());
  // What runs that were killed had begun to save, and what a job that broke off may have left.
  for (const TrialId trial : experiment->trials) {
    for (const CheckpointRef& one : state.checkpoints().of(trial)) {
      // With neither size nor files it is a record of what a broken deletion may have left.
      const bool is_left = one->state == CheckpointState::kError && one->size == 0 &&
                           one->resources == "{}" && !kept.because(*one);
      const bool is_torn = one->state == CheckpointState::kActive || is_left;
      const bool may_go = is_torn && is_reachable && !state.checkpoints().is_going(one->uuid);
      if (may_go && named.insert(one->uuid).second) uuids.push_back(one->uuid);
    }
  }
  if (!uuids.empty()) {
    if (const Status begun = begin(draft, *experiment, std::move(uuids), false);
        !begun.has_value()) {
      reply.error = begun.error();
      return reply;
    }
  }
  // Recorded even where nothing goes: else the collector would ask again without end.
  ExperimentChanged change;
  change.experiment = experiment->id;
  change.is_collected = true;
  draft.add(std::move(change));
  return reply;
}

Status delete_experiment(Draft& draft, const Experiment& experiment) {
  const ClusterState& state = draft.state();
  const auto refuse = [&](std::string_view why, std::string way_out) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("experiment {} {}", experiment.id.value(), why), std::move(way_out));
  };
  if (!is_final(experiment.state))
    return refuse("has not ended", "end it first: muster experiment kill");
  if (experiment.state == ExperimentState::kDeleting) return {};
  TRY(check_reachable(experiment));
  // Everything is asked before anything is drafted: an experiment goes whole or not at all.
  const ProtectedCheckpoints kept(state);
  std::vector<std::string> uuids;
  for (const TrialId trial : experiment.trials) {
    for (const CheckpointRef& checkpoint : state.checkpoints().of(trial)) {
      if (const auto why = kept.because(*checkpoint))
        return refuse(fmt::format("keeps checkpoint {}, which {}", checkpoint->uuid, *why), "");
      if (state.checkpoints().is_going(checkpoint->uuid))
        return refuse("has checkpoints that are being deleted", "try again in a moment");
      if (is_there(*checkpoint)) uuids.push_back(checkpoint->uuid);
    }
  }
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.state = ExperimentState::kDeleting;
  draft.add(std::move(change));
  return begin(draft, experiment, std::move(uuids), true);
}

}  // namespace muster::requests
