// Trials in Determined's shape, and metrics between JSON and the store's values. NaN and
// infinities travel as the words that Python's json writes, as JSON has no numbers for them.

#include "api/determined/trial_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "api/determined/names.h"
#include "state/views.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "trials/experiment_text.h"

namespace muster::api {
namespace {

Json parsed_or(const std::string& text, Json otherwise) {
  // Stored texts were JSON when they came in.
  auto json = parse_json(text);
  return json.has_value() ? std::move(json).value() : std::move(otherwise);
}

/// Of a metric's values: what Determined keeps in summary_metrics.
Json summary_json(const MetricSummary& summary) {
  Json::Object out{{"type", metric_type_name(summary.type)},
                   {"count", summary.count},
                   {"last", value_json(summary.last)}};
  const auto add = [&out](const char* name, const std::optional<double>& value) {
    if (value) out.push_back({name, *value});
  };
  add("sum", summary.sum());
  add("mean", summary.mean());
  add("min", summary.min());
  add("max", summary.max());
  return out;
}

/// Groups by the names that Determined has for them.
std::string summary_group(const std::string& group) {
  if (group == "training") return "avg_metrics";
  if (group == "validation") return "validation_metrics";
  return group;
}

/// Requires: sorted by group, as the store has them. A trial may have thousands of names: each is
/// looked at once.
Json summaries_json(const std::vector<NamedSummary>& summaries) {
  Json::Object all;
  for (std::size_t i = 0; i < summaries.size();) {
    const std::string& group = summaries[i].group;
    Json::Object metrics;
    for (; i < summaries.size() && summaries[i].group == group; ++i) {
      // A name of our own, which is not the user's metric.
      if (summaries[i].metric != kBatchMetrics)
        metrics.push_back({summaries[i].metric, summary_json(summaries[i].summary)});
    }
    // A group without metrics is none.
    if (!metrics.empty()) all.push_back({summary_group(group), std::move(metrics)});
  }
  return all;
}

Json validation_json(const std::optional<StoredReport>& report) {
  return report ? *workload_json(*report, false).find("validation") : Json();
}

}  // namespace

std::int64_t TrialDetails::total_batches() const {
  std::int64_t batches = 0;
  // Whichever was reported last says how far the trial is.
  for (const auto* report : {&latest_validation, &latest_training}) {
    if (report->has_value()) batches = std::max(batches, (*report)->report.steps_completed);
  }
  return batches;
}

Result<TrialDetails> details_of(const ClusterState& state, TrialId id) {
  const Trial* trial = state.experiments().find(id);
  if (trial == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id.value()), "");
  const Experiment& experiment = *state.experiments().find(trial->experiment);
  return TrialDetails{view_of(*trial, state), experiment.state, experiment.spec->metric,
                      experiment.spec->smaller_is_better};
}

void add_questions(const TrialDetails& details, std::vector<MetricQuestion>& questions) {
  // Four questions for one trip to the store.
  const TrialId trial = details.view.id;
  questions.emplace_back(LatestReportQuestion{trial, "validation"});
  questions.emplace_back(LatestReportQuestion{trial, "training"});
  questions.emplace_back(
      BestReportQuestion{trial, "validation", details.metric, details.is_smaller_better});
  questions.emplace_back(SummariesQuestion{trial});
}

void fill_in(TrialDetails& details, MetricAnswers& answers) {
  details.latest_validation = answers.next<LatestReportQuestion>();
  details.latest_training = answers.next<LatestReportQuestion>();
  details.best_validation = answers.next<BestReportQuestion>();
  details.summaries = answers.next<SummariesQuestion>();
}

MetricValue metric_value(const Json& value) {
  // Numbers, and the three words that stand for numbers.
  if (const auto number = value.number()) return *number;
  if (const std::string* text = value.text()) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return JsonText{json_text(value)};
}

Json value_json(const MetricValue& value) {
  if (const double* number = std::get_if<double>(&value)) return *number;
  return parsed_or(std::get<JsonText>(value).text, Json());
}

Json metrics_json(const StoredReport& report, bool has_batches) {
  Json::Object averages;
  Json batches = Json::Array{};
  for (const Metric& metric : report.report.metrics) {
    if (metric.name == kBatchMetrics) {
      // Batches are many: only who asks for them gets them.
      if (has_batches) batches = value_json(metric.value);
    } else {
      averages.push_back({metric.name, value_json(metric.value)});
    }
  }
  return Json::Object{{"avgMetrics", std::move(averages)}, {"batchMetrics", std::move(batches)}};
}

Json workload_json(const StoredReport& report, bool has_batches) {
  const std::string kind = report.report.group == "validation" ? "validation" : "training";
  return Json::Object{{kind, Json::Object{{"endTime", time_json(report.report.report_time)},
                                          {"numInputs", 0},
                                          {"totalBatches", report.report.steps_completed},
                                          {"metrics", metrics_json(report, has_batches)}}}};
}

std::optional<double> number_in(const StoredReport& report, const std::string& metric) {
  const auto found = std::ranges::find(report.report.metrics, metric, &Metric::name);
  const double* value =
      found == report.report.metrics.end() ? nullptr : std::get_if<double>(&found->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Duration wall_time(const TrialView& trial, TimePoint now) {
  // A trial that has not started has no time.
  return trial.start_time.is_set()
             ? (trial.end_time.is_set() ? trial.end_time : now) - trial.submit_time
             : Duration();
}

Json trial_json(const ApiPort& port, const TrialDetails& details) {
  const TrialView& view = details.view;
  const std::string task = task_name(port.settings().cluster_id, view.experiment, view.id);
  const Duration wall = wall_time(view, port.now());
  const std::optional<double> best = view.best_metric ? view.best_metric : view.metric;
  Json metric = best ? Json(*best) : Json();
  return Json::Object{
      {"id", view.id.value()},
      {"experimentId", view.experiment.value()},
      {"startTime", time_json(view.submit_time)},
      {"endTime", time_json(view.end_time)},
      {"state", state_name(view, details.experiment_state)},
      {"restarts", view.restarts},
      {"hparams", parsed_or(view.hparams, Json::Object{})},
      {"totalBatchesProcessed", details.total_batches()},
      {"bestValidation", validation_json(details.best_validation)},
      {"latestValidation", validation_json(details.latest_validation)},
      {"latestTraining", details.latest_training
                             ? *workload_json(*details.latest_training, false).find("training")
                             : Json()},
      {"bestCheckpoint", Json()},
      {"runnerState", port.runner_status(view.id).runner_state},
      {"wallClockTime", static_cast<double>(wall.microseconds()) / 1e6},
      {"warmStartCheckpointUuid", view.source.empty() ? Json() : Json(view.source)},
      // A trial that began with a checkpoint of another says so.
      {"latestCheckpointUuid",
       view.latest_checkpoint.empty() ? Json() : Json(view.latest_checkpoint)},
      {"taskId", task},
      {"taskIds", Json::Array{task}},
      {"totalCheckpointSize", wide(view.checkpoint_bytes)},
      {"checkpointCount", view.checkpoints},
      {"summaryMetrics", summaries_json(details.summaries)},
      {"searcherMetricValue", std::move(metric)},
      {"logPolicyMatched",
       view.log_matches.empty() ? Json() : Json(view.log_matches.back().policy)},
      {"logRetentionDays", view.log_retention_days},
      {"jobId", view.job.value()},
      {"detail", view.state == TrialState::kActive ? view.detail : trial_end_text(view)}};
}

}  // namespace muster::api
