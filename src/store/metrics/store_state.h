// What an open metric store holds in memory. All of it follows from the file; after a refused write
// it is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "store/metrics/metric_tables.h"
#include "store/metrics/report_log.h"
#include "store/metrics/sqlite_metrics.h"
#include "store/metrics/trial_cache.h"

namespace muster {

/// One open file.
class SqliteMetricStore final : public MetricStore {
 public:
  explicit SqliteMetricStore(SqliteMetricOptions options);
  ~SqliteMetricStore() override;
  SqliteMetricStore(const SqliteMetricStore&) = delete;
  SqliteMetricStore& operator=(const SqliteMetricStore&) = delete;

  /// Reads what is stored. The other methods call it where a refused write has made it necessary.
  Status ready();

  Result<std::vector<ReportOutcome>> append(const std::vector<MetricReport>& reports) override;
  Result<ReportOutcome> begin_run(TrialId trial, std::uint32_t run,
                                  std::int64_t resumed_from_steps) override;
  Result<SeriesPage> read_series(const SeriesQuery& query, const std::optional<MetricCursor>& after,
                                 std::size_t points_max) override;
  Result<SampledSeries> sample_series(const SeriesQuery& query, std::size_t points_max) override;
  Result<std::vector<NamedSummary>> summaries(TrialId trial) override;
  Result<std::vector<GroupMetrics>> groups(TrialId trial) override;
  Result<ReportPage> read_reports(const ReportsQuery& query,
                                  const std::optional<MetricCursor>& after,
                                  std::size_t reports_max) override;
  Result<std::optional<StoredReport>> latest_report(TrialId trial,
                                                    const std::string& group) override;
  Result<std::optional<StoredReport>> best_report(TrialId trial, const std::string& group,
                                                  const std::string& metric,
                                                  bool is_smaller_better) override;
  Status delete_trial(TrialId trial) override;
  Result<bool> sweep(std::uint32_t rows_max) override;
  Result<bool> compact(std::size_t reports) override;
  std::size_t waiting_bytes() const override;

 private:
  struct State;
  Status replay();
  Result<ReportOutcome> accept(const MetricReport& report);
  Status flush_some(std::size_t bytes_least);
  SqliteMetricOptions options_;
  std::unique_ptr<State> state_;
  bool needs_reload_ = true;
};

struct SqliteMetricStore::State {
  State(std::unique_ptr<metrics::MetricTables> opened, const SqliteMetricOptions& options)
      : tables(std::move(opened)), trials(*tables, options.cached_metrics_max) {}

  struct LogRecord {
    std::uint64_t last_id = 0;
    std::size_t bytes = 0;
  };

  std::unique_ptr<metrics::MetricTables> tables;
  metrics::TrialCache trials;
  metrics::Counters counters;
  /// The segments with a tail, by the id of their oldest waiting report; `full` are those with a
  /// block's worth of them.
  std::map<std::uint64_t, metrics::Segment*> waiting;
  std::map<std::uint64_t, metrics::Segment*> full;
  std::size_t waiting_bytes = 0;
  std::deque<LogRecord> log;
  std::size_t log_bytes = 0;
  bool has_tombstones = false;
  std::unique_ptr<metrics::ReportBatchWriter> batch;  ///< what the append under way stores

  /// Adds a report that belongs there.
  void add(metrics::Trial& trial, std::uint64_t id, const MetricReport& report);
  /// Writes the tail into blocks. Requires: a transaction is open.
  Status flush(metrics::Segment& segment);
  /// Deletes log records in which nothing waits. Requires: a transaction is open.
  Status trim();
  void forget(const metrics::Trial& trial);
};

}  // namespace muster
