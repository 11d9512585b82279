// The metrics that trials report, on stable storage. SQLite stands behind it (sqlite_metrics.h).
// Threads, clocks, and what a metric means for a search do not belong here.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/metric.h"

namespace muster {

/// How many different metrics one run may have, in all of its groups together.
inline constexpr std::size_t kRunMetricsMax = 10'000;

/// The store is used by one thread at a time. Every method: kUnavailable when storage refuses,
/// kCorruption when what is stored is damaged. A refused change is there whole or not at all; it
/// may be tried again, and is then a repeat where it was there. Nothing grows with the number of
/// points but the file: memory holds what waits to be written into blocks, the trials used last,
/// and one page of an answer.
class MetricStore {
 public:
  virtual ~MetricStore() = default;

  /// Stores reports in one transaction, durable on return; one outcome each, in order. A report of
  /// a run that is newer than any known begins that run. Also moves a bounded number of waiting
  /// reports into blocks. Cost: one sync, whatever the number of reports; a few microseconds a
  /// report.
  virtual Result<std::vector<ReportOutcome>> append(const std::vector<MetricReport>& reports) = 0;

  /// Begins a run that continues from a checkpoint of so many steps: what earlier runs reported
  /// beyond is archived. Durable on return. kStored, kRepeated (known and equal), kConflict (known
  /// and different; the first stays), kStale (a newer run is known), kInvalid. A run that had been
  /// begun by a report alone is completed. Cost: one sync, no rewriting.
  virtual Result<ReportOutcome> begin_run(TrialId trial, std::uint32_t run,
                                          std::int64_t resumed_from_steps) = 0;

  /// Returns at most `points_max` values behind `after` (nullopt: from the beginning), in order of
  /// runs and steps. Requires: points_max > 0. Cost: the blocks read, some 20 microseconds for
  /// 1,024 points.
  virtual Result<SeriesPage> read_series(const SeriesQuery& query,
                                         const std::optional<MetricCursor>& after,
                                         std::size_t points_max) = 0;

  /// Returns the numbers of a series, or at most `points_max` of them: of each stretch the first,
  /// the last, the extremes and one that is not finite, so that no spike is missing. Errors:
  /// kInvalidArgument when points_max < 5. Cost: O(points_max) blocks, and one cell for each 1,024
  /// points.
  virtual Result<SampledSeries> sample_series(const SeriesQuery& query, std::size_t points_max) = 0;

  /// Returns a summary for each group and metric over the valid series, by group, then by first
  /// appearance. Cost: what is in memory, and for each run that a newer one has cut short its
  /// cells.
  virtual Result<std::vector<NamedSummary>> summaries(TrialId trial) = 0;
  /// Returns the names alone of what summaries() returns; also of what is archived.
  virtual Result<std::vector<GroupMetrics>> groups(TrialId trial) = 0;

  struct ReportsQuery {
    TrialId trial;
    std::string group;
    std::int64_t first_steps = 0;
    std::int64_t last_steps = std::numeric_limits<std::int64_t>::max();
    bool is_archived_included = false;
  };
  /// Returns reports with all their metrics behind `after`, in order of runs, steps and arrival;
  /// those of one identity as one, under its first id. At most `reports_max`. Requires: reports_max
  /// > 0.
  virtual Result<ReportPage> read_reports(const ReportsQuery& query,
                                          const std::optional<MetricCursor>& after,
                                          std::size_t reports_max) = 0;

  /// Returns the valid report of the most steps. Nullopt: there is none.
  virtual Result<std::optional<StoredReport>> latest_report(TrialId trial,
                                                            const std::string& group) = 0;
  /// Returns the valid report with the smallest (or largest) value of a metric; of equal ones the
  /// first. NaN and the wrong infinity rank behind every number, so that they are found only where
  /// there is nothing else. Nullopt: no number.
  virtual Result<std::optional<StoredReport>> best_report(TrialId trial, const std::string& group,
                                                          const std::string& metric,
                                                          bool is_smaller_better) = 0;

  /// Removes everything of the trial from every answer, durable on return. After sweep() the file
  /// uses its room again; it does not become shorter. Requires: trials are not numbered anew.
  virtual Status delete_trial(TrialId trial) = 0;
  /// Removes at most about `rows_max` rows of deleted trials. True: nothing is left.
  virtual Result<bool> sweep(std::uint32_t rows_max) = 0;
  /// Moves at least `reports` waiting reports into blocks, the oldest first. True: none waits.
  virtual Result<bool> compact(std::size_t reports) = 0;

  /// Returns how much waits, for probes. Units: bytes, approximate.
  virtual std::size_t waiting_bytes() const = 0;
};

/// Returns the number of a metric in the valid reports of so many steps. Nullopt: none was
/// reported, or no number.
Result<std::optional<double>> metric_at(MetricStore& store, TrialId trial, const std::string& group,
                                        std::int64_t steps, const std::string& metric);

}  // namespace muster
