// The tables of the metric store's file, as bytes and numbers. Format:
// docs/internals/metric_store.md. All SQL is in this file's source.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/metric.h"
#include "store/files/sql_file.h"
#include "store/metrics/report_rows.h"

namespace muster::metrics {

/// One (trial, run, group).
using SegmentId = Id<struct SegmentTag, std::uint64_t>;
/// One metric of a segment.
using SeriesId = Id<struct SeriesTag, std::uint64_t>;

/// A block's position in its segment or series: rows of one owner lie together in the file, in the
/// order of their blocks.
inline constexpr unsigned kBlockBits = 20;
inline constexpr std::uint64_t kBlocksMax = std::uint64_t{1} << kBlockBits;

/// What is known of a block without reading it.
struct BlockEntry {
  std::uint64_t reports = 0;
  std::uint64_t first_id = 0;
  std::uint64_t last_id = 0;
  std::int64_t min_steps = 0;
  std::int64_t max_steps = 0;
};

struct RunStart {
  std::uint32_t run = 0;
  std::optional<std::int64_t> resumed_from;  ///< nullopt: its start was not announced
};

struct SegmentRow {
  SegmentId id;
  std::uint32_t run = 0;
  std::string group;
  std::string footer;
};

struct Counters {
  std::uint64_t next_report = 1;
  std::uint64_t next_segment = 1;
  std::uint64_t next_series = 1;
};

struct Tombstone {
  TrialId trial;
  std::uint64_t last_report = 0;
};

/// The tables. Every method: kUnavailable when the disk refuses, kCorruption when the file is
/// damaged. Outside of a transaction each change is one of its own.
class MetricTables {
 public:
  /// Opens or creates the file. Errors: kFailedPrecondition when it has a newer format.
  static Result<std::unique_ptr<MetricTables>> open(const std::string& path);
  ~MetricTables();

  /// Returns the session, for a SqlTransaction around several changes.
  soci::session& session();

  Result<Counters> counters();
  Status put_counters(const Counters& counters);

  // ---- the log of reports that lie in no block yet ----
  Status add_log(std::uint64_t first_id, std::uint64_t last_id, std::string_view record);
  /// Calls `visit` with the records, in order.
  Status each_log(
      const std::function<Status(std::uint64_t last_id, const std::string& record)>& visit);
  /// Deletes the records all of whose reports are below `id`.
  Status trim_log(std::uint64_t id);

  // ---- trials, runs, segments ----
  Result<std::vector<RunStart>> runs(TrialId trial);
  Status put_run(TrialId trial, const RunStart& start);
  Result<std::vector<SegmentRow>> segments(TrialId trial);
  Status put_segment(TrialId trial, const SegmentRow& row);

  // ---- blocks ----
  Result<std::vector<BlockEntry>> directory(SegmentId segment);
  Status put_block(SegmentId segment, std::uint64_t block, const BlockEntry& entry,
                   std::string_view rows);
  Result<std::string> rows(SegmentId segment, std::uint64_t block);
  Status put_column(SeriesId series, std::uint64_t block, std::string_view column,
                    std::string_view cell);
  /// Returns a column's bytes. Empty: the block's reports do not name the metric.
  Result<std::string> column(SeriesId series, std::uint64_t block);
  /// Calls `visit` with the cells of blocks [begin, end) that have one.
  Status each_cell(
      SeriesId series, std::uint64_t begin, std::uint64_t end,
      const std::function<Status(std::uint64_t block, const std::string& cell)>& visit);
  /// Deletes blocks from `begin` on, of the segment and of the series.
  Status drop_blocks(SegmentId segment, std::uint64_t begin);
  Status drop_columns(SeriesId series, std::uint64_t begin);

  // ---- reports that came after one of as many steps or more ----
  Status add_late(SegmentId segment, std::int64_t steps, std::uint64_t key_hash,
                  std::uint64_t report);
  Result<std::vector<std::uint64_t>> late(SegmentId segment, std::int64_t steps,
                                          std::uint64_t key_hash);

  // ---- deletion ----
  // Forgets the trial's runs and segments; sweep() deletes what they held.
  Status bury(TrialId trial, std::uint64_t last_report);
  Result<std::vector<Tombstone>> tombstones();
  /// Deletes tombstones of reports below `id`: no log record names them any more.
  Status drop_tombstones(std::uint64_t id);
  /// Deletes at most about `rows_max` rows of deleted trials. True: none are left. `series_of`
  /// reads a footer.
  Result<bool> sweep(
      std::uint32_t rows_max,
      const std::function<Result<std::vector<SeriesId>>(const std::string& footer)>& series_of);

 private:
  struct Statements;
  explicit MetricTables(std::unique_ptr<Statements> statements);
  std::unique_ptr<Statements> sql_;
};

}  // namespace muster::metrics
