// Experiments in Determined's shape. Fields without a counterpart have the value that Determined's
// client and pages take for "nothing".

#include "api/determined/experiment_json.h"

#include <fmt/format.h>

#include "api/determined/names.h"
#include "api/determined/workspace_ids.h"
#include "state/views.h"

namespace muster::api {

ExperimentDetails details_of(const ClusterState& state, const Experiment& experiment) {
  ExperimentDetails details;
  details.view = view_of(experiment, state, QueryDetail::kFull);
  const WorkspaceIds place = workspace_ids_of(state.catalog(), experiment.labels);
  details.workspace = place.workspace;
  details.project = place.project;
  details.is_parent_archived = place.is_archived;
  details.pool = pool_of(state, *experiment.spec);
  return details;
}

Result<ExperimentDetails> details_of(const ClusterState& state, ExperimentId id) {
  const Experiment* experiment = state.experiments().find(id);
  if (experiment == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no experiment {}", id.value()), "");
  return details_of(state, *experiment);
}

std::string pool_of(const ClusterState& state, const ExperimentSpec& spec) {
  std::string pool(spec.job->get(JobText::kPartition));
  // An experiment that names no partition runs in the default one.
  for (const PartitionConfig& partition : state.partitions()) {
    if (pool.empty() && partition.is_default) pool = partition.name;
  }
  return pool;
}

namespace {

/// With what was changed since its creation.
Json present_config(const ExperimentView& view) {
  Json config = determined_config(*view.spec);
  Json& storage = config.member("checkpoint_storage");
  storage.member("save_experiment_best") = view.retention.experiment_best;
  storage.member("save_trial_best") = view.retention.trial_best;
  storage.member("save_trial_latest") = view.retention.trial_latest;
  Json& resources = config.member("resources");
  resources.member("priority") = view.share.priority;
  resources.member("weight") = view.share.weight;
  if (view.max_slots) resources.member("max_slots") = *view.max_slots;
  return config;
}

}  // namespace

Json experiment_json(const ExperimentDetails& details, bool has_texts) {
  const ExperimentView& view = details.view;
  Json::Array labels;
  for (const std::string& label : view.labels.labels) labels.emplace_back(label);
  // No trial has measured anything yet.
  const bool has_best = view.best_trial.value() != 0;
  const TimePoint end = view.end_time;
  return Json::Object{
      {"id", view.id.value()},
      {"name", view.labels.name},
      {"description", view.labels.description},
      {"notes", view.labels.notes},
      {"labels", std::move(labels)},
      {"startTime", time_json(view.submit_time)},
      {"endTime", time_json(end)},
      // In whole seconds.
      {"duration", end.is_set() ? Json((end - view.submit_time).seconds()) : Json()},
      {"state", state_name(view)},
      {"archived", view.labels.is_archived},
      {"numTrials", view.trials.total()},
      {"displayName", view.spec->user_name},
      {"userId", user_number(view.spec->user)},
      {"username", view.spec->user_name},
      {"resourcePool", details.pool},
      {"searcherType", view.spec->searcher},
      {"searcherMetric", view.spec->metric},
      // Determined's job of an experiment; Slurm's job of a trial is a field of the trial.
      {"jobId", std::to_string(view.id.value())},
      {"forkedFrom", view.spec->parent.value() == 0 ? Json() : Json(view.spec->parent.value())},
      {"progress", view.progress},
      {"projectId", details.project},
      {"projectName", details.project == kFirstWorkspaceId ? kUncategorized : view.labels.project},
      {"workspaceId", details.workspace},
      {"workspaceName",
       details.workspace == kFirstWorkspaceId ? kUncategorized : view.labels.workspace},
      {"projectOwnerId", user_number(view.spec->user)},
      {"parentArchived", details.is_parent_archived},
      {"unmanaged", false},
      {"bestTrialId", has_best ? Json(view.best_trial.value()) : Json()},
      {"bestTrialSearcherMetric", has_best ? Json(view.best_metric) : Json()},
      // Lists leave both out: they are the larger part of an experiment.
      {"config", has_texts ? present_config(view) : Json(Json::Object{})},
      {"visibility",
       std::string(kVisibilityNames[static_cast<std::size_t>(view.labels.visibility)])},
      {"originalConfig", has_texts ? view.spec->original : ""},
      {"detail", view.detail}};
}

}  // namespace muster::api
