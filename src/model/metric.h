// Metrics of trials: what a report says, and what queries about many of them answer. They are
// stored by src/store/metrics/metric_store.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// JSON that is no number, as its text. Two are equal when their texts are.
struct JsonText {
  std::string text;
  friend bool operator==(const JsonText&, const JsonText&) = default;
};
/// A number of any bit pattern (NaN and infinities too), or other JSON.
using MetricValue = std::variant<double, JsonText>;
/// Compares bit by bit: a NaN equals itself, and 0.0 is not -0.0.
bool is_same(const MetricValue& a, const MetricValue& b);

struct Metric {
  std::string name;
  MetricValue value;
};

/// What a run of a trial says at one point of its training.
/// Identity: (trial, run, group, steps_completed, key). Of two reports with one identity the second
/// is a repeat where it names what the first named, and adds what it did not name.
struct MetricReport {
  TrialId trial;
  std::uint32_t run = 1;             ///< from 1: the trial's restart count and one
  std::string group;                 ///< "training", "validation" or any name without a full stop
  std::int64_t steps_completed = 0;  ///< at least 0
  std::string key;                   ///< the client's own mark for the report; may be empty
  TimePoint report_time;
  std::vector<Metric> metrics;  ///< each name once
};

enum class ReportOutcome : std::uint8_t {
  kStored = 0,
  kRepeated = 1,  ///< all of it was there already; nothing changed
  kConflict =
      2,  ///< one of its values differs from what was stored under its identity; the first stays
  kStale = 3,    ///< of an older run than the trial's newest
  kInvalid = 4,  ///< against the rules of MetricReport
};

/// A report as it is stored. `id` rises with arrival, over all trials.
struct StoredReport {
  std::uint64_t id = 0;
  MetricReport report;
  bool is_archived = false;  ///< a newer run began before this point: it is in no series
};

/// What kind of JSON a metric's values are; kMixed when they differ. A date is a string in the form
/// of RFC 3339.
enum class MetricType : std::uint8_t {
  kNumber,
  kString,
  kBoolean,
  kObject,
  kArray,
  kDate,
  kNull,
  kMixed
};
/// Returns the name that Determined has for it in summary_metrics; kMixed is "string" there.
const char* metric_type_name(MetricType type);
MetricType type_of(const MetricValue& value);

/// The summary of all valid values of one metric in one group of a trial.
struct MetricSummary {
  MetricType type = MetricType::kNumber;
  std::uint64_t count = 0;  ///< values of every kind
  std::uint64_t finite_count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
  double finite_sum = 0;
  double finite_min = 0;  ///< 0 when nothing is finite
  double finite_max = 0;
  MetricValue last;  ///< of the most steps

  /// Returns the sum by IEEE arithmetic over all numbers: NaN where one is NaN (min and max pass
  /// over NaN). Nullopt: there are no numbers.
  std::optional<double> sum() const;
  std::optional<double> mean() const;
  std::optional<double> min() const;
  std::optional<double> max() const;
};

struct NamedSummary {
  std::string group;
  std::string metric;
  MetricSummary summary;
};

struct GroupMetrics {
  std::string group;
  std::vector<std::string> metrics;
};

/// The position behind one report, from which a read goes on. Reports are in the order of runs,
/// then of steps, then of arrival.
struct MetricCursor {
  std::uint32_t run = 0;
  std::int64_t steps_completed = 0;
  std::uint64_t id = 0;
};

/// Names the values of one metric in one group of a trial, over steps [first_steps, last_steps].
struct SeriesQuery {
  TrialId trial;
  std::string group;
  std::string metric;
  std::int64_t first_steps = 0;
  std::int64_t last_steps = std::numeric_limits<std::int64_t>::max();
  /// The run whose reports are meant, archived or not. Nullopt: the valid series over all runs.
  std::optional<std::uint32_t> run = std::nullopt;
};

/// One value of a series.
struct MetricPoint {
  std::uint32_t run = 0;
  std::int64_t steps_completed = 0;
  TimePoint report_time;
  MetricValue value;
};

/// A number of a series that stands for others near it.
struct SampledPoint {
  std::uint32_t run = 0;
  std::int64_t steps_completed = 0;
  TimePoint report_time;
  double value = 0;
};

/// A stretch of a series of which at most five points are shown: the first, the last, the smallest
/// and the largest finite number, and the first that is not finite.
struct SampledStretch {
  std::int64_t first_steps = 0;
  std::int64_t last_steps = 0;
  std::uint64_t count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t positive_infinity_count = 0;
  std::uint64_t negative_infinity_count = 0;
};

/// A page of a series, and where the next one begins. Nullopt: this was the last.
struct SeriesPage {
  std::vector<MetricPoint> points;
  std::optional<MetricCursor> next;
};

struct ReportPage {
  std::vector<StoredReport> reports;
  std::optional<MetricCursor> next;
};

/// Points in order of steps. `stretches` is empty when `points` are all that there are.
struct SampledSeries {
  std::vector<SampledPoint> points;
  std::vector<SampledStretch> stretches;
};

}  // namespace muster
