// Checkpoints in Determined's shape. What was measured with one comes from the metric store by a
// question of its own; what a caller may not see is cut out before anything is formatted.

#include "api/determined/checkpoint_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "api/determined/measured.h"
#include "api/determined/names.h"
#include "api/determined/trial_json.h"
#include "text/json_reader.h"
#include "trials/config_secrets.h"

namespace muster::api {
namespace {

Json parsed_object(const std::string& text) {
  // Stored texts were JSON when they came in; an empty object stands for none.
  auto json = parse_json(text);
  return json.has_value() && json->object() != nullptr ? std::move(json).value()
                                                       : Json(Json::Object{});
}

}  // namespace

Json resources_json(const Checkpoint& checkpoint) {
  Json resources = parsed_object(checkpoint.resources);
  for (Json::Member& member : *resources.object()) {
    // Protobuf's JSON writes 64-bit numbers as text, and Determined's client reads them so.
    if (member.value.whole() != nullptr) member.value = std::to_string(*member.value.whole());
  }
  return resources;
}

Json metadata_json(const Checkpoint& checkpoint) {
  Json metadata = parsed_object(checkpoint.metadata);
  // Clients look for it among the metadata, whether the run said it there or not.
  if (metadata.find("steps_completed") == nullptr)
    metadata.member("steps_completed") = checkpoint.steps_completed;
  return metadata;
}

Result<CheckpointDetails> details_of(const ClusterState& state, const std::string& uuid) {
  const CheckpointRef checkpoint = state.checkpoints().find(uuid);
  if (checkpoint == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
  return details_of(state, *checkpoint);
}

CheckpointDetails details_of(const ClusterState& state, const Checkpoint& checkpoint) {
  const Trial& trial = *state.experiments().find(checkpoint.trial);
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  return {checkpoint, trial.experiment, experiment.spec, trial.hparams,
          access::readers_of(state, experiment)};
}

void add_questions(const CheckpointDetails& details, std::vector<MetricQuestion>& questions) {
  // The validation at exactly the checkpoint's steps is its own.
  const auto steps = static_cast<std::int64_t>(details.checkpoint.steps_completed);
  questions.emplace_back(
      ReportsQuestion{{details.checkpoint.trial, "validation", steps, steps}, std::nullopt, 1});
}

void fill_in(CheckpointDetails& details, MetricAnswers& answers) {
  const ReportPage page = answers.next<ReportsQuestion>();
  if (!page.reports.empty()) details.validation = page.reports.front();
}

std::optional<double> searcher_metric(const CheckpointDetails& details) {
  return validation_metric(details, details.spec->metric);
}

std::optional<double> validation_metric(const CheckpointDetails& details,
                                        const std::string& metric) {
  return details.validation ? number_in(*details.validation, metric) : std::nullopt;
}

Json checkpoint_json(const ApiPort& port, const CheckpointDetails& details) {
  const Checkpoint& checkpoint = details.checkpoint;
  const std::string& cluster = port.settings().cluster_id;
  const auto metric = searcher_metric(details);
  // Members that Determined's client reads without asking whether they are there.
  Json none = Json::Object{{"avgMetrics", Json::Object{}}, {"batchMetrics", Json::Array{}}};
  Json training = Json::Object{
      {"trialId", checkpoint.trial.value()},
      {"experimentId", details.experiment.value()},
      {"experimentConfig", determined_config(*details.spec)},
      {"hparams", parsed_object(details.hparams)},
      {"trainingMetrics", none},
      {"validationMetrics", details.validation ? metrics_json(*details.validation) : none},
      {"searcherMetric", metric ? Json(*metric) : Json()}};
  return Json::Object{{"uuid", checkpoint.uuid},
                      {"taskId", task_name(cluster, details.experiment, checkpoint.trial)},
                      {"allocationId", allocation_name(cluster, details.experiment,
                                                       checkpoint.trial, checkpoint.run)},
                      {"reportTime", time_json(checkpoint.report_time)},
                      {"resources", resources_json(checkpoint)},
                      {"metadata", metadata_json(checkpoint)},
                      {"state", state_name(checkpoint.state)},
                      {"storageId", Json()},
                      {"training", std::move(training)}};
}

void show_to(const Identity& reader, CheckpointDetails& details) {
  const bool is_open = details.readers.has(reader);
  // The configuration is cut down to what a stranger may read.
  details.spec = spec_shown_to(reader, details.spec, is_open);
  // Names of files tell of the code: readers of the experiment alone see them.
  if (!is_open) details.checkpoint.resources = "{}";
}

kj::Promise<Result<std::vector<CheckpointDetails>>> measured(ApiPort& port, const Caller& caller,
                                                             std::vector<CheckpointDetails> all) {
  for (CheckpointDetails& details : all) show_to(caller.identity, details);
  return measured(port, std::move(all));
}

}  // namespace muster::api
