// What one group of one run of a trial has reported: what is known of its blocks, and in memory the
// tail of reports that lie only in the log so far. metric_store.cc decides whether a report may be
// stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/metric.h"
#include "store/metrics/cell.h"
#include "store/metrics/metric_column.h"
#include "store/metrics/metric_tables.h"

namespace muster::metrics {

/// How many reports a full block has.
inline constexpr std::size_t kBlockReports = 1024;

struct Series {
  std::string name;
  SeriesId id;
  SeriesTotal total;  ///< of blocks and tail
};

/// A report's position in a segment. The tail counts as the block behind the last.
struct RowPosition {
  std::size_t block = 0;
  std::uint32_t row = 0;
};

/// Blocks hold reports in the order of arrival; their steps overlap where reports came out of
/// order. A report whose steps are above all before it is found by its steps; each other one is
/// *late* and is found by an entry of its own.
class Segment {
 public:
  Segment(SegmentId id, TrialId trial, std::uint32_t run, std::string group);
  /// Loads a segment. Errors: kCorruption.
  static Result<std::unique_ptr<Segment>> load(MetricTables& tables, TrialId trial,
                                               const SegmentRow& row);

  SegmentId id() const { return id_; }
  TrialId trial() const { return trial_; }
  std::uint32_t run() const { return run_; }
  const std::string& group() const { return group_; }
  const std::vector<Series>& series() const { return series_; }
  /// Returns the series of that metric. Nullopt: no report named it.
  std::optional<std::uint32_t> find_series(const std::string& name) const;
  bool is_empty() const { return directory_.empty() && tail_.size() == 0; }
  /// Returns the fewest steps of its reports. Requires: not empty.
  std::int64_t min_steps() const { return min_steps_; }
  std::int64_t max_steps() const { return max_steps_; }
  /// Returns the report up to which every report lies in blocks.
  std::uint64_t flushed_id() const { return flushed_id_; }
  const std::vector<BlockEntry>& directory() const { return directory_; }
  const ReportRows& tail() const { return tail_; }
  std::size_t tail_bytes() const { return tail_bytes_; }
  /// Returns roughly how much memory it needs, in metrics.
  std::size_t weight() const { return 8 + series_.size() + directory_.size() / 4; }
  /// Returns all blocks, and last the tail if it holds anything.
  std::vector<BlockEntry> blocks() const;

  /// Adds a report to the tail. `next_series` numbers metrics that are new.
  void add(std::uint64_t id, const MetricReport& report, std::uint64_t& next_series);
  /// Returns every report of these steps and key. Cost: memory alone unless the steps lie in
  /// blocks; then O(log n) reads.
  Result<std::vector<RowPosition>> find(MetricTables& tables, std::int64_t steps,
                                        std::string_view key) const;

  Result<ReportRows> rows(MetricTables& tables, std::size_t block) const;
  Result<MetricColumn> column(MetricTables& tables, std::uint32_t series, std::size_t block) const;
  /// Returns the value of a row. Nullopt: the report does not name the metric.
  Result<std::optional<MetricValue>> value(MetricTables& tables, std::uint32_t series,
                                           RowPosition position) const;

  /// Writes the tail as blocks, joined with small ones before it, and empties it. Cost: each report
  /// is written again some log2(1024 / reports at a time) times. Requires: a transaction is open;
  /// when it fails this object is of no use any more.
  Status flush(MetricTables& tables);

  /// Returns the metrics that a footer names.
  static Result<std::vector<SeriesId>> series_of(const std::string& footer);

 private:
  struct Content;
  std::uint32_t series_index(const std::string& name, std::uint32_t hint,
                             std::uint64_t& next_series);
  void enter(const BlockEntry& entry);
  std::size_t first_block_to_join() const;
  Result<Content> joined(MetricTables& tables, std::size_t begin) const;
  Status write_block(MetricTables& tables, const Content& content, std::size_t begin,
                     std::size_t end);
  std::string footer() const;
  bool read_footer(const std::string& bytes);

  SegmentId id_;
  TrialId trial_;
  std::uint32_t run_;
  std::string group_;
  std::vector<Series> series_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::int64_t min_steps_ = 0;
  std::int64_t max_steps_ = 0;
  std::uint64_t flushed_id_ = 0;
  std::vector<BlockEntry> directory_;
  std::vector<std::int64_t>
      steps_so_far_;  ///< beside directory_: the most steps in it and all before it

  ReportRows tail_;
  std::vector<MetricColumn> columns_;       ///< of the tail, beside series_
  std::vector<std::uint32_t> record_rows_;  ///< rows of the tail whose steps were above all before
  std::unordered_multimap<std::uint64_t, std::uint32_t>
      late_rows_;  ///< the others, by hash of steps and key
  std::size_t tail_bytes_ = 0;
};

}  // namespace muster::metrics
