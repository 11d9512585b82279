// Records of another cluster in our own shapes. A record is believed as far as it is plausible:
// ids and counts have bounds, times a range, and what a version of ours would not run is kept as
// text instead of being read.

#include "api/muster/import_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "api/determined/trial_json.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/web_time.h"

namespace muster::api {
namespace {

Error bad(const char* name, std::string_view what) {
  return wrong(fmt::format("{}: {}", name, what));
}

std::string text_or(const Json& record, const char* name, std::string otherwise = {}) {
  return text_field(record, name).value_or(std::move(otherwise));
}

Result<std::string> text_of(const Json& record, const char* name) {
  // An empty text is no text.
  if (auto text = text_field(record, name); text && !text->empty()) return std::move(*text);
  return fail(bad(name, "a text is missing"));
}

/// Unset where there is none.
Result<TimePoint> time_of(const Json& record, const char* name) {
  const auto text = text_field(record, name);
  if (!text) return TimePoint::unset();
  const TimePoint time = TRY(parse_web_time(*text));
  // Times outside are a mistake of the exporting side, or of a clock.
  constexpr std::int64_t kYear2200 = 7'258'118'400;
  if (time < TimePoint::from_seconds(0) || time > TimePoint::from_seconds(kYear2200))
    return fail(bad(name, "it lies outside of 1970 to 2200"));
  return time;
}

std::vector<std::string> labels_of(const Json& record) {
  return texts_field(record, "labels").value_or(std::vector<std::string>());
}

Json object_or_empty(const Json& record, const char* name) {
  // Members of another type are no reason to refuse a record: they are not there.
  const Json* value = field(record, name);
  return value == nullptr || value->object() == nullptr ? Json(Json::Object{}) : *value;
}

template <class State>
Result<State> state_of(const Json& record,
                       std::initializer_list<std::pair<std::string_view, State>> known) {
  const std::string text = TRY(text_of(record, "state"));
  for (const auto& [name, state] : known) {
    // Only final states: what runs elsewhere is not imported.
    if (name == text) return state;
  }
  return fail(bad("state", fmt::format("'{}' is none of an end", text)));
}

/// Beyond it nothing is counted by people.
constexpr std::int64_t kImportedCountMax = 1'000'000'000;

std::uint32_t small_or(const Json& object, const char* name, std::uint32_t otherwise) {
  const auto value = whole_field(object, name);
  // A count outside is treated as absent: it is no reason to lose a whole experiment.
  return value && *value >= 0 && *value <= kImportedCountMax ? static_cast<std::uint32_t>(*value)
                                                             : otherwise;
}

std::string entrypoint_text(const Json* entrypoint) {
  if (entrypoint == nullptr) return "";
  // Determined takes an entrypoint as a text or as a list of words.
  if (const std::string* line = entrypoint->text()) return *line;
  std::string line;
  if (entrypoint->array() == nullptr) return line;
  for (const Json& word : *entrypoint->array()) {
    if (const std::string* text = word.text()) line += (line.empty() ? "" : " ") + *text;
  }
  return line;
}

/// What of the configuration is looked at without reading all of it: it may be of a version that we
/// would not run.
void read_config(const Json& config, ExperimentSpec& spec) {
  const Json searcher = object_or_empty(config, "searcher");
  spec.searcher = text_or(searcher, "name");
  spec.metric = text_or(searcher, "metric");
  // true, 1 and 5 are Determined's defaults.
  spec.smaller_is_better = bool_field(searcher, "smaller_is_better").value_or(true);
  spec.time_metric = text_or(searcher, "time_metric");
  spec.slots_per_trial = small_or(object_or_empty(config, "resources"), "slots_per_trial", 1);
  spec.max_restarts = small_or(config, "max_restarts", 5);
  spec.seed = small_or(object_or_empty(config, "reproducibility"), "experiment_seed", 0);
  spec.entrypoint = entrypoint_text(field(config, "entrypoint"));
  const Json storage = object_or_empty(config, "checkpoint_storage");
  spec.retention.experiment_best =
      small_or(storage, "save_experiment_best", spec.retention.experiment_best);
  spec.retention.trial_best = small_or(storage, "save_trial_best", spec.retention.trial_best);
  spec.retention.trial_latest = small_or(storage, "save_trial_latest", spec.retention.trial_latest);
}

std::string run_root(const Json& config, const ImportOwner& owner) {
  const Json storage = object_or_empty(config, "checkpoint_storage");
  const std::string host = text_or(storage, "host_path");
  std::string below = text_or(storage, "storage_path");
  std::string folder = text_or(storage, "container_path");
  // Of directory and shared_fs, as Determined says where files are; else our own folder.
  if (text_or(storage, "type") == "directory" && folder.starts_with('/')) return folder;
  // An absolute storage_path lies below host_path already.
  if (below.starts_with('/')) return below;
  if (!host.empty()) return below.empty() ? host : host + "/" + below;
  return owner.home + "/muster-runs";
}

JobSpecRef job_of(const ImportOwner& owner) {
  auto job = std::make_shared<JobSpec>();
  job->user = owner.user;
  job->group = owner.group;
  job->text.set(JobText::kUserName, owner.name);
  job->text.set(JobText::kWorkDir, owner.home);
  job->text.set(JobText::kCommand, "experiment");
  job->is_requeue = true;
  job->given |= given_option::kRequeue;
  return job;
}

Result<Document> document_of(const Json& record, const ImportContext& context, DocumentKind kind) {
  const ImportOwner& owner = context.owner_of(record);
  Document document;
  document.kind = kind;
  document.name = text_or(record, "name");
  document.user = owner.user;
  document.user_name = owner.name;
  document.create_time = TRY(time_of(record, "createTime"));
  document.change_time = TRY(time_of(record, "changeTime"));
  // Without a time of its own it is now.
  if (!document.create_time.is_set()) document.create_time = context.now;
  if (!document.change_time.is_set()) document.change_time = document.create_time;
  document.is_archived = bool_field(record, "isArchived").value_or(false);
  return document;
}

/// The members of a record that a document keeps, and where it comes from.
std::string body_text(const Json& record, std::initializer_list<const char*> kept,
                      const std::string& origin) {
  Json body = Json::Object{};
  for (const char* name : kept) {
    if (const Json* value = field(record, name)) body.member(name) = *value;
  }
  body.member("importedFrom") = origin;
  return json_text(body);
}

}  // namespace

const ImportOwner& ImportContext::owner_of(const Json& record) const {
  const auto id = whole_field(record, "owner");
  const auto found = id ? owners.find(*id) : owners.end();
  // The operator owns what nobody else does, such as records of users who were not imported.
  return found == owners.end() ? unknown : found->second;
}

std::string ImportContext::origin(std::int64_t id) const {
  return fmt::format("{}/{}", source, id);
}

Result<std::uint32_t> record_id(const Json& record, const char* name) {
  const auto id = whole_field(record, name);
  if (!id || *id < 1 || *id > kImportedCountMax)
    return fail(bad(name, "a number from 1 is missing"));
  return static_cast<std::uint32_t>(*id);
}

Result<ImportExperiment> experiment_of(const Json& record, const ImportContext& context) {
  const std::uint32_t id = TRY(record_id(record, "id"));
  const ImportOwner& owner = context.owner_of(record);
  ImportExperiment import;
  ImportedExperiment& experiment = import.experiment;
  experiment.id = ExperimentId(id);
  experiment.state =
      TRY(state_of<ExperimentState>(record, {{"COMPLETED", ExperimentState::kCompleted},
                                             {"CANCELED", ExperimentState::kCanceled},
                                             {"ERROR", ExperimentState::kError}}));
  experiment.submit_time = TRY(time_of(record, "startTime"));
  experiment.end_time = TRY(time_of(record, "endTime"));
  // An end before its beginning would be shown as a run of minus one hour.
  experiment.end_time =
      std::max(experiment.end_time, experiment.submit_time);  // also where there is none
  experiment.labels = ExperimentLabels{text_or(record, "name"),
                                       text_or(record, "description"),
                                       text_or(record, "notes"),
                                       labels_of(record),
                                       "",
                                       "",
                                       bool_field(record, "isArchived").value_or(false)};
  const auto project = context.projects.find(whole_field(record, "project").value_or(0));
  if (project != context.projects.end()) {
    // A project that was not imported leaves the names empty.
    experiment.labels.project = project->second.name;
    const auto workspace = context.workspaces.find(project->second.workspace);
    if (workspace != context.workspaces.end()) experiment.labels.workspace = workspace->second;
  }
  const Json* config = field(record, "config");
  if (config == nullptr || config->object() == nullptr)
    return fail(bad("config", "an object is missing"));
  auto spec = std::make_shared<ExperimentSpec>();
  read_config(*config, *spec);
  spec->user = owner.user;
  spec->user_name = owner.name;
  spec->config = json_text(*config);
  spec->original = text_or(record, "originalConfig", spec->config);
  spec->run_folder = run_root(*config, owner);
  spec->job = job_of(owner);
  spec->imported_from = context.origin(id);
  experiment.spec = std::move(spec);
  return import;
}

Result<ImportTrial> trial_of(const Json& record, ExperimentId experiment) {
  ImportTrial import;
  ImportedTrial& trial = import.trial;
  const std::uint32_t id = TRY(record_id(record, "id"));
  trial.id = TrialId(id);
  trial.imported_from = std::to_string(id);
  trial.experiment = experiment;
  trial.state = TRY(state_of<TrialState>(record, {{"COMPLETED", TrialState::kCompleted},
                                                  {"CANCELED", TrialState::kCanceled},
                                                  {"ERROR", TrialState::kError}}));
  trial.submit_time = TRY(time_of(record, "startTime"));
  trial.end_time = TRY(time_of(record, "endTime"));
  trial.end_time = std::max(trial.end_time, trial.submit_time);  // also where there is none
  trial.hparams = json_text(object_or_empty(record, "hparams"));
  trial.seed = small_or(record, "seed", 0);
  trial.restarts = small_or(record, "restarts", 0);
  const Json* runs = field(record, "runs");
  trial.last_run = runs != nullptr && runs->array() != nullptr
                       ? static_cast<std::uint32_t>(runs->array()->size())
                       : 0;
  // Runs need not be listed: each restart was one.
  trial.last_run = std::max(trial.last_run, trial.restarts + 1);
  trial.units = static_cast<double>(whole_field(record, "stepsCompleted").value_or(0));
  if (const Json* metric = field(record, "searcherMetric")) {
    // NaN and infinities come as texts, which metric_value() reads.
    const MetricValue value = metric_value(*metric);
    if (const double* number = std::get_if<double>(&value)) trial.metric = *number;
  }
  return import;
}

Result<ImportCheckpoint> checkpoint_of(const Json& record, TrialId trial) {
  ImportCheckpoint import;
  Checkpoint& checkpoint = import.checkpoint;
  checkpoint.uuid = TRY(text_of(record, "uuid"));
  checkpoint.trial = trial;
  checkpoint.run = std::max(small_or(record, "run", 1), 1U);
  checkpoint.state = TRY(state_of<CheckpointState>(
      record, {{"COMPLETED", CheckpointState::kCompleted},
               {"ERROR", CheckpointState::kError},
               {"DELETED", CheckpointState::kDeleted},
               {"PARTIALLY_DELETED", CheckpointState::kPartiallyDeleted}}));
  checkpoint.steps_completed = static_cast<std::uint64_t>(
      std::max<std::int64_t>(whole_field(record, "stepsCompleted").value_or(0), 0));
  checkpoint.report_time = TRY(time_of(record, "time"));
  checkpoint.metadata = json_text(object_or_empty(record, "metadata"));
  Json::Object resources;
  const Json told = object_or_empty(record, "resources");
  for (const Json::Member& member : *told.object()) {
    const auto size = whole_of(member.value);
    if (!size || *size < 0)
      return fail(
          bad("resources", fmt::format("the size of {} is no number of bytes", member.name)));
    checkpoint.size += static_cast<std::uint64_t>(*size);
    resources.push_back({member.name, *size});
  }
  checkpoint.resources = json_text(Json(std::move(resources)));
  return import;
}

Result<MetricReport> report_of(const Json& record, TrialId trial) {
  MetricReport report;
  report.trial = trial;
  report.group = TRY(text_of(record, "group"));
  report.steps_completed = whole_field(record, "steps").value_or(0);
  report.report_time = TRY(time_of(record, "time"));
  constexpr std::array<std::string_view, 5> kMachine{"cpu", "gpu", "memory", "disk", "network"};
  // Reports of the machine have no steps: they are told apart by their time.
  if (std::ranges::find(kMachine, report.group) != kMachine.end())
    report.key = text_or(record, "time");
  const Json* metrics = field(record, "metrics");
  if (metrics == nullptr || metrics->object() == nullptr)
    return fail(bad("metrics", "an object is missing"));
  for (const Json::Member& member : *metrics->object())
    report.metrics.push_back({member.name, metric_value(member.value)});
  if (const Json* batches = field(record, "batchMetrics");
      batches != nullptr && batches->array() != nullptr && !batches->array()->empty()) {
    report.metrics.push_back({"batch_metrics", JsonText{json_text(*batches)}});
  }
  return report;
}

Result<Document> workspace_of(const Json& record, const ImportContext& context) {
  Document document = TRY(document_of(record, context, DocumentKind::kWorkspace));
  const std::uint32_t id = TRY(record_id(record, "id"));
  document.body = body_text(record, {}, context.origin(id));
  return document;
}

Result<Document> project_of(const Json& record, const ImportContext& context,
                            std::uint32_t parent) {
  Document document = TRY(document_of(record, context, DocumentKind::kProject));
  document.parent = parent;
  const std::uint32_t id = TRY(record_id(record, "id"));
  document.body = body_text(record, {"description", "notes"}, context.origin(id));
  return document;
}

Result<Document> model_of(const Json& record, const ImportContext& context) {
  Document document = TRY(document_of(record, context, DocumentKind::kModel));
  const std::uint32_t id = TRY(record_id(record, "id"));
  document.body =
      body_text(record, {"description", "notes", "labels", "metadata"}, context.origin(id));
  return document;
}

Result<Document> version_of(const Json& record, const ImportContext& context,
                            std::uint32_t parent) {
  Document document = TRY(document_of(record, context, DocumentKind::kModelVersion));
  document.parent = parent;
  const std::uint32_t number = TRY(record_id(record, "version"));
  document.number = number;
  document.checkpoints.push_back(TRY(text_of(record, "checkpoint")));
  document.body =
      body_text(record, {"comment", "notes", "labels", "metadata"}, context.origin(number));
  return document;
}

std::string origin_of(const Document& document) {
  const auto body = parse_json(document.body);
  return body.has_value() && body->object() != nullptr ? text_or(*body, "importedFrom") : "";
}

}  // namespace muster::api
