// Metric rows, and who keeps them: the run folder (metrics.jsonl, as the Python package writes it)
// or a controller.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "run_folder.h"
#include "session.h"

namespace muster::core {

/// What was reported of one group at one step.
struct MetricRow {
  std::int64_t run = 1;
  std::string group;
  std::int64_t steps = 0;
  double time = 0;  ///< seconds since the epoch
  Metrics metrics;
  std::vector<Metrics> batch_metrics;
};

class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// Durable when it returns. An equal repeat of (run, group, steps, name) changes nothing.
  /// Errors: MetricConflictError when a repeat differs, after keeping all the rest; any other error
  /// is final.
  virtual void append(const std::vector<MetricRow>& rows) = 0;
};

/// Remembers the last 4096 steps of each group to tell repeats; of older ones the file is read.
std::unique_ptr<MetricSink> make_folder_sink(RunFolder& folder);
/// One request per row; the controller ignores equal repeats.
std::unique_ptr<MetricSink> make_controller_sink(const Controller& controller);

}  // namespace muster::core
