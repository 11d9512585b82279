// Trials and their reports in Determined's shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::api {

/// What is shown of a trial: its state, and what it measured.
struct TrialDetails {
  TrialView view;
  ExperimentState experiment_state = ExperimentState::kActive;
  std::string metric;  ///< the search's
  bool is_smaller_better = true;
  std::optional<StoredReport> best_validation = {};
  std::optional<StoredReport> latest_validation = {};
  std::optional<StoredReport> latest_training = {};
  std::vector<NamedSummary> summaries = {};
  /// Returns how many batches it has trained, as far as it has said.
  std::int64_t total_batches() const;
};

/// Returns the details of a trial. Errors: kNotFound.
Result<TrialDetails> details_of(const ClusterState& state, TrialId trial);
/// Adds the questions to the metric store about it; fill_in() reads their answers (measured.h).
void add_questions(const TrialDetails& details, std::vector<MetricQuestion>& questions);
void fill_in(TrialDetails& details, MetricAnswers& answers);

/// Returns the time from its submission to its end, or to now; 0: no run of it has begun.
Duration wall_time(const TrialView& trial, TimePoint now);

Json trial_json(const ApiPort& port, const TrialDetails& details);

/// Returns a metric of a report; nullopt: it is not in it, or no number.
std::optional<double> number_in(const StoredReport& report, const std::string& metric);
/// Returns the value of a metric as JSON.
Json value_json(const MetricValue& value);
/// Reads such a value: numbers as numbers, also those that JSON writes as texts.
MetricValue metric_value(const Json& value);
/// Returns {"avgMetrics": {...}, "batchMetrics": [...]}.
Json metrics_json(const StoredReport& report, bool has_batches = false);
/// Returns a report as a workload of a trial.
Json workload_json(const StoredReport& report, bool has_batches);

}  // namespace muster::api
