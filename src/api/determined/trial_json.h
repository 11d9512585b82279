// Trials and their reports in Determined's shapes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/http/api_port.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::api {

/// What is shown of a trial: from the state, and from what it measured.
struct TrialDetails {
  TrialView view;
  ExperimentState experiment_state = ExperimentState::kActive;
  std::string metric;  ///< the search's
  bool is_smaller_better = true;
  std::optional<StoredReport> best_validation = {};
  std::optional<StoredReport> latest_validation = {};
  std::optional<StoredReport> latest_training = {};
  std::vector<NamedSummary> summaries = {};
  /// Batches that it has trained, as far as it has said.
  std::int64_t total_batches() const;
};

/// Errors: kNotFound.
Result<TrialDetails> details_of(const ClusterState& state, TrialId trial);
/// What the metric store is asked of it, and how the answers are filled in (measured.h).
void add_questions(const TrialDetails& details, std::vector<MetricQuestion>& questions);
void fill_in(TrialDetails& details, MetricAnswers& answers);

/// From its submission to its end, or to now; 0: no run of it has begun.
Duration wall_time(const TrialView& trial, TimePoint now);

Json trial_json(const ApiPort& port, const TrialDetails& details);

/// A metric of a report; nullopt: it is not in it, or no number.
std::optional<double> number_in(const StoredReport& report, const std::string& metric);
/// The value of a metric as JSON.
Json value_json(const MetricValue& value);
/// And back: numbers as numbers, also those that JSON writes as texts.
MetricValue metric_value(const Json& value);
/// {"avgMetrics": {...}, "batchMetrics": [...]}
Json metrics_json(const StoredReport& report, bool has_batches = false);
/// A report as a workload of a trial.
Json workload_json(const StoredReport& report, bool has_batches);

}  // namespace muster::api
