#include "api/determined/checkpoint_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "api/determined/names.h"
#include "api/determined/trial_json.h"
#include "text/json_reader.h"
#include "trials/config_secrets.h"

namespace muster::api {
namespace {

Json parsed_object(const std::string& text) {
  auto json = parse_json(text);
  return json.has_value() && json->object() != nullptr ? std::move(json).value()
                                                       : Json(Json::Object{});
}

}  // namespace

Json resources_json(const Checkpoint& checkpoint) {
  Json resources = parsed_object(checkpoint.resources);
  for (Json::Member& member : *resources.object()) {
    if (member.value.whole() != nullptr) member.value = std::to_string(*member.value.whole());
  }
  return resources;
}

Json metadata_json(const Checkpoint& checkpoint) {
  Json metadata = parsed_object(checkpoint.metadata);
  if (metadata.find("steps_completed") == nullptr)
    metadata.member("steps_completed") = checkpoint.steps_completed;
  return metadata;
}

Result<CheckpointFacts> facts_of(const ClusterState& state, const std::string& uuid) {
  const CheckpointRef checkpoint = state.checkpoints().find(uuid);
  if (checkpoint == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
  return facts_of(state, *checkpoint);
}

CheckpointFacts facts_of(const ClusterState& state, const Checkpoint& checkpoint) {
  const Trial& trial = *state.experiments().find(checkpoint.trial);
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  return {checkpoint, trial.experiment, experiment.spec, trial.hparams,
          access::readers_of(state, experiment)};
}

Status measure_checkpoint(MetricStore& store, CheckpointFacts& facts) {
  const auto steps = static_cast<std::int64_t>(facts.checkpoint.steps_completed);
  const ReportPage page = TRY(
      store.read_reports({facts.checkpoint.trial, "validation", steps, steps}, std::nullopt, 1));
  if (!page.reports.empty()) facts.validation = page.reports.front();
  return {};
}

std::optional<double> searcher_metric(const CheckpointFacts& facts) {
  return validation_metric(facts, facts.spec->metric);
}

std::optional<double> validation_metric(const CheckpointFacts& facts, const std::string& metric) {
  return facts.validation ? number_in(*facts.validation, metric) : std::nullopt;
}

Json checkpoint_json(const ApiPort& port, const CheckpointFacts& facts) {
  const Checkpoint& checkpoint = facts.checkpoint;
  const std::string& cluster = port.facts().cluster_id;
  const auto metric = searcher_metric(facts);
  Json none = Json::Object{{"avgMetrics", Json::Object{}}, {"batchMetrics", Json::Array{}}};
  Json training =
      Json::Object{{"trialId", checkpoint.trial.value()},
                   {"experimentId", facts.experiment.value()},
                   {"experimentConfig", determined_config(*facts.spec)},
                   {"hparams", parsed_object(facts.hparams)},
                   {"trainingMetrics", none},
                   {"validationMetrics", facts.validation ? metrics_json(*facts.validation) : none},
                   {"searcherMetric", metric ? Json(*metric) : Json()}};
  return Json::Object{{"uuid", checkpoint.uuid},
                      {"taskId", task_name(cluster, facts.experiment, checkpoint.trial)},
                      {"allocationId", allocation_name(cluster, facts.experiment, checkpoint.trial,
                                                       checkpoint.run)},
                      {"reportTime", time_json(checkpoint.report_time)},
                      {"resources", resources_json(checkpoint)},
                      {"metadata", metadata_json(checkpoint)},
                      {"state", state_name(checkpoint.state)},
                      {"storageId", Json()},
                      {"training", std::move(training)}};
}

void show_to(const Identity& reader, CheckpointFacts& facts) {
  const bool is_open = facts.readers.has(reader);
  facts.spec = spec_shown_to(reader, facts.spec, is_open);
  if (!is_open) facts.checkpoint.resources = "{}";
}

kj::Promise<Result<std::vector<CheckpointFacts>>> measured(ApiPort& port, const Caller& caller,
                                                           std::vector<CheckpointFacts> all) {
  for (CheckpointFacts& facts : all) show_to(caller.identity, facts);
  return measure<std::vector<CheckpointFacts>>(
      port,
      [all = std::move(all)](MetricStore& store) mutable -> Result<std::vector<CheckpointFacts>> {
        for (CheckpointFacts& facts : all) TRY(measure_checkpoint(store, facts));
        return std::move(all);
      });
}

}  // namespace muster::api
