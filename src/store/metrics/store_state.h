// What an open metric store holds in memory. All of it follows from the file; after a refused write
// it is made anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "store/metrics/metric_store.h"
#include "store/metrics/metric_tables.h"
#include "store/metrics/report_log.h"
#include "store/metrics/trial_cache.h"

namespace muster {

struct MetricStore::State {
  State(std::unique_ptr<metrics::MetricTables> opened, const Options& options)
      : tables(std::move(opened)), trials(*tables, options.cached_metrics_max) {}

  struct LogRecord {
    std::uint64_t last_id = 0;
    std::size_t bytes = 0;
  };

  std::unique_ptr<metrics::MetricTables> tables;
  metrics::TrialCache trials;
  metrics::Counters counters;
  /// Segments with a tail by the id of their oldest waiting report; `full` are those with a block's
  /// worth of them.
  std::map<std::uint64_t, metrics::Segment*> waiting;
  std::map<std::uint64_t, metrics::Segment*> full;
  std::size_t waiting_bytes = 0;
  std::deque<LogRecord> log;
  std::size_t log_bytes = 0;
  bool has_tombstones = false;
  std::unique_ptr<metrics::ReportBatchWriter> batch;  ///< what the append under way stores

  /// Adds a report that belongs there.
  void add(metrics::Trial& trial, std::uint64_t id, const MetricReport& report);
  /// Puts the tail into blocks. Requires: a transaction is open.
  Status flush(metrics::Segment& segment);
  /// Log records that nothing waits in go. Requires: a transaction is open.
  Status trim();
  void forget(const metrics::Trial& trial);
};

}  // namespace muster
