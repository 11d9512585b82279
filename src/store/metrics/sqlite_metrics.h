// Metrics on SQLite: one database file. Format and why it is so: docs/internals/metric_store.md.
#pragma once

#include <memory>
#include <string>

#include "store/metrics/metric_store.h"

namespace muster {

struct SqliteMetricOptions {
  std::string path;
  /// The bounds of the reports that wait in memory and in the log, both approximate. They decide
  /// how long opening takes after a crash.
  std::size_t tail_bytes_max = std::size_t{12} << 20;
  std::size_t log_bytes_max = std::size_t{16} << 20;
  /// How many trials stay in memory without such reports, in metrics of some 400 bytes.
  std::size_t cached_metrics_max = 60'000;
};

/// Opens or creates the file; a second process or object must not open it for writing. Errors:
/// kFailedPrecondition when it has a newer format (the message names both).
Result<std::unique_ptr<MetricStore>> open_sqlite_metrics(const SqliteMetricOptions& options);

}  // namespace muster
