// Rows arrive in the tail, in memory, and are appended to the log at once; blocks are written when
// a block's worth has come, or when the log grows long. How a report is found again by its steps
// and key, without an index over all: those that rose above everything before are found by a binary
// search over the blocks' maxima; all others are entered as late.
#include "store/metrics/segment.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace muster::metrics {
namespace {

// Of the footer; another one is refused.
constexpr std::uint8_t kFooterForm = 1;

std::uint64_t key_hash(std::string_view key) { return Hasher().add(key).digest(); }
std::uint64_t late_hash(std::int64_t steps, std::string_view key) {
  return Hasher().add(steps).add(key).digest();
}

// Estimates for the bounds of memory: what a row, a value and a text take about.
std::size_t bytes_of(const MetricReport& report) {
  std::size_t bytes = 32 + report.key.size();
  for (const Metric& metric : report.metrics) {
    const JsonText* text = std::get_if<JsonText>(&metric.value);
    bytes += 12 + (text == nullptr ? 0 : 40 + text->text.size());
  }
  return bytes;
}

BlockEntry entry_of(const ReportRows& rows, std::size_t begin, std::size_t end) {
  const auto [least, most] =
      std::minmax_element(rows.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                          rows.steps.begin() + static_cast<std::ptrdiff_t>(end));
  return {end - begin, rows.ids[begin], rows.ids[end - 1], *least, *most};
}

}  // namespace

/// Reports with all their columns, beside the segment's series.
struct Segment::Content {
  ReportRows rows;
  std::vector<MetricColumn> columns;

  void add(const ReportRows& more, const std::vector<MetricColumn>& more_columns) {
    const auto begin = static_cast<std::uint32_t>(rows.size());
    rows.add_rows(more, 0, more.size());
    for (std::size_t i = 0; i < more_columns.size(); ++i) {
      columns[i].add_rows(more_columns[i], 0, static_cast<std::uint32_t>(more.size()), begin);
    }
  }
};

Segment::Segment(SegmentId id, TrialId trial, std::uint32_t run, std::string group)
    : id_(id), trial_(trial), run_(run), group_(std::move(group)) {}

Result<std::unique_ptr<Segment>> Segment::load(MetricTables& tables, TrialId trial,
                                               const SegmentRow& row) {
  auto segment = std::make_unique<Segment>(row.id, trial, row.run, row.group);
  if (!segment->read_footer(row.footer)) {
    return fail(ErrorCode::kCorruption, "metrics of a group are damaged",
                "trial " + std::to_string(trial.value()) + ", " + row.group);
  }
  const std::vector<BlockEntry> directory = TRY(tables.directory(row.id));
  for (const BlockEntry& entry : directory) segment->enter(entry);
  return segment;
}

std::optional<std::uint32_t> Segment::find_series(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<BlockEntry> Segment::blocks() const {
  std::vector<BlockEntry> all = directory_;
  if (tail_.size() > 0) all.push_back(entry_of(tail_, 0, tail_.size()));
  return all;
}

void Segment::enter(const BlockEntry& entry) {
  // The running maximum rises, which makes it searchable.
  steps_so_far_.push_back(steps_so_far_.empty() ? entry.max_steps
                                                : std::max(steps_so_far_.back(), entry.max_steps));
  directory_.push_back(entry);
}

std::uint32_t Segment::series_index(const std::string& name, std::uint32_t hint,
                                    std::uint64_t& next_series) {
  if (hint < series_.size() && series_[hint].name == name)
    return hint;  // reports name their metrics in one order, mostly
  const auto [found, is_new] =
      by_name_.try_emplace(name, static_cast<std::uint32_t>(series_.size()));
  if (is_new) {
    series_.push_back({name, SeriesId(next_series++), {}});
    columns_.emplace_back();
  }
  return found->second;
}

void Segment::add(std::uint64_t id, const MetricReport& report, std::uint64_t& next_series) {
  const auto row = static_cast<std::uint32_t>(tail_.size());
  const Position position{report.steps_completed, id};
  const bool is_first = is_empty();
  // Row numbers within the tail.
  if (is_first || position.steps > max_steps_) {
    record_rows_.push_back(row);
    // By hash: steps and key are compared when it is found.
  } else {
    late_rows_.emplace(late_hash(position.steps, report.key), row);
  }
  min_steps_ = is_first ? position.steps : std::min(min_steps_, position.steps);
  max_steps_ = is_first ? position.steps : std::max(max_steps_, position.steps);
  const std::int64_t time_us = report.report_time.microseconds();
  tail_.add(position, time_us, report.key);
  std::uint32_t next = 0;
  for (const Metric& metric : report.metrics) {
    const std::uint32_t index = series_index(metric.name, next, next_series);
    columns_[index].add(row, metric.value);
    series_[index].total.add(position, time_us, metric.value);
    next = index + 1;
  }
  tail_bytes_ += bytes_of(report);
}

Result<std::vector<RowPosition>> Segment::find(MetricTables& tables, std::int64_t steps,
                                               std::string_view key) const {
  std::vector<RowPosition> found;
  if (is_empty() || steps > max_steps_) return found;
  // The report that first reached so many steps: in the one block that raised the maximum to them
  // or beyond.
  // The first block whose maximum reaches so many steps.
  const auto raising = std::ranges::lower_bound(steps_so_far_, steps);
  if (raising != steps_so_far_.end()) {
    const auto block = static_cast<std::size_t>(raising - steps_so_far_.begin());
    const ReportRows rows = TRY(this->rows(tables, block));
    // In that block the row that first reached them.
    const auto reaching =
        std::ranges::find_if(rows.steps, [&](std::int64_t reached) { return reached >= steps; });
    const auto row = static_cast<std::uint32_t>(reaching - rows.steps.begin());
    if (row < rows.size() && rows.steps[row] == steps && rows.key(row) == key)
      found.push_back({block, row});
    // Above all blocks: it can only be in the tail.
  } else {
    const auto record = std::ranges::lower_bound(
        record_rows_, steps, {}, [&](std::uint32_t row) { return tail_.steps[row]; });
    if (record != record_rows_.end() && tail_.steps[*record] == steps &&
        tail_.key(*record) == key) {
      found.push_back({directory_.size(), *record});
    }
  }
  const std::vector<std::uint64_t> late = TRY(tables.late(id_, steps, key_hash(key)));
  // Ids of late reports in blocks; the block follows from the id.
  for (const std::uint64_t id : late) {
    const auto block = static_cast<std::size_t>(
        std::ranges::lower_bound(directory_, id, {}, &BlockEntry::last_id) - directory_.begin());
    if (block == directory_.size())
      return fail(ErrorCode::kCorruption, "a late report is in no block", std::to_string(id));
    const ReportRows rows = TRY(this->rows(tables, block));
    const auto row =
        static_cast<std::uint32_t>(std::ranges::lower_bound(rows.ids, id) - rows.ids.begin());
    if (row < rows.size() && rows.steps[row] == steps && rows.key(row) == key)
      found.push_back({block, row});
  }
  // Late rows of the tail.
  const auto [begin, end] = late_rows_.equal_range(late_hash(steps, key));
  const std::size_t in_blocks = found.size();
  for (auto it = begin; it != end; ++it) {
    if (tail_.steps[it->second] == steps && tail_.key(it->second) == key)
      found.push_back({directory_.size(), it->second});
  }
  // The map is in no order that counts; rows are.
  std::ranges::sort(found.begin() + static_cast<std::ptrdiff_t>(in_blocks), found.end(), {},
                    &RowPosition::row);
  return found;
}

Result<ReportRows> Segment::rows(MetricTables& tables, std::size_t block) const {
  // The tail is the block behind the last.
  if (block == directory_.size()) return tail_;
  const std::string bytes = TRY(tables.rows(id_, block));
  ReportRows rows = TRY(decode_rows(bytes));
  if (rows.size() != directory_[block].reports)
    return fail(ErrorCode::kCorruption, "a block of reports has lost some of them");
  return rows;
}

Result<MetricColumn> Segment::column(MetricTables& tables, std::uint32_t series,
                                     std::size_t block) const {
  if (block == directory_.size()) return columns_[series];
  const std::string bytes = TRY(tables.column(series_[series].id, block));
  // No report of this block names the metric.
  if (bytes.empty()) return MetricColumn();
  return decode_column(bytes);
}

Result<std::optional<MetricValue>> Segment::value(MetricTables& tables, std::uint32_t series,
                                                  RowPosition position) const {
  if (position.block == directory_.size()) return columns_[series].find(position.row);
  const MetricColumn found = TRY(column(tables, series, position.block));
  return found.find(position.row);
}

/// Blocks that are not full and not more than twice as large as what comes behind them are written
/// again with it.
std::size_t Segment::first_block_to_join() const {
  std::size_t begin = directory_.size();
  std::size_t reports = tail_.size();
  // The condition of a logarithmic merge: each report is rewritten O(log n) times.
  while (begin > 0 && directory_[begin - 1].reports < kBlockReports &&
         directory_[begin - 1].reports <= 2 * reports) {
    reports += directory_[--begin].reports;
  }
  return begin;
}

Result<Segment::Content> Segment::joined(MetricTables& tables, std::size_t begin) const {
  Content content;
  // Columns of all series, in their order.
  content.columns.resize(series_.size());
  for (std::size_t block = begin; block < directory_.size(); ++block) {
    const ReportRows rows = TRY(this->rows(tables, block));
    std::vector<MetricColumn> columns;
    for (std::uint32_t i = 0; i < series_.size(); ++i) {
      MetricColumn found = TRY(column(tables, i, block));
      columns.push_back(std::move(found));
    }
    content.add(rows, columns);
  }
  content.add(tail_, columns_);
  return content;
}

Status Segment::write_block(MetricTables& tables, const Content& content, std::size_t begin,
                            std::size_t end) {
  const std::uint64_t block = directory_.size();
  ReportRows rows;
  rows.add_rows(content.rows, begin, end);
  const BlockEntry entry = entry_of(rows, 0, rows.size());
  TRY(tables.put_block(id_, block, entry, encode(rows)));
  for (std::size_t i = 0; i < series_.size(); ++i) {
    MetricColumn column;
    column.add_rows(content.columns[i], static_cast<std::uint32_t>(begin),
                    static_cast<std::uint32_t>(end), 0);
    // A metric that is not named in a block has no column there.
    if (column.size() == 0) continue;
    Cell cell;
    for (std::size_t at = 0; at < column.size(); ++at) {
      const std::uint32_t row = column.row(at);
      if (const double* number = column.number(at)) {
        cell.add({rows.position(row), rows.times_us[row], *number});
      } else {
        cell.add_text();
      }
    }
    ByteWriter out;
    cell.write(out);
    TRY(tables.put_column(series_[i].id, block, encode(column), out.bytes()));
  }
  enter(entry);
  return {};
}

Status Segment::flush(MetricTables& tables) {
  if (tail_.size() == 0) return {};
  const std::size_t begin = first_block_to_join();
  const Content content = TRY(joined(tables, begin));
  // Keys of blocks that are written below replace those of the same number; more than one is
  // dropped first.
  if (begin + 1 < directory_.size()) {  // a single block that is joined is written over
    TRY(tables.drop_blocks(id_, begin));
    for (const Series& one : series_) TRY(tables.drop_columns(one.id, begin));
  }
  directory_.resize(begin);
  steps_so_far_.resize(begin);
  for (std::size_t at = 0; at < content.rows.size(); at += kBlockReports) {
    TRY(write_block(tables, content, at, std::min(at + kBlockReports, content.rows.size())));
  }
  // Late rows are findable from now on by the table alone.
  for (const auto& [hash, row] : late_rows_) {
    TRY(tables.add_late(id_, tail_.steps[row], key_hash(tail_.key(row)), tail_.ids[row]));
  }
  // A replay of the log passes over what lies in blocks.
  flushed_id_ = tail_.ids.back();
  // With the totals as they are now.
  TRY(tables.put_segment(trial_, {id_, run_, group_, footer()}));
  tail_.clear();
  for (MetricColumn& column : columns_) column.clear();
  record_rows_ = {};
  late_rows_ = {};
  tail_bytes_ = 0;
  return {};
}

std::string Segment::footer() const {
  ByteWriter out;
  out.byte(kFooterForm);
  out.number(flushed_id_);
  out.signed_number(min_steps_);
  out.signed_number(max_steps_);
  out.number(series_.size());
  for (const Series& one : series_) {
    out.text(one.name);
    out.number(one.id.value());
    one.total.write(out);
  }
  return out.finish();
}

bool Segment::read_footer(const std::string& bytes) {
  ByteReader in(bytes);
  if (in.byte() != kFooterForm) return false;
  flushed_id_ = in.number();
  min_steps_ = in.signed_number();
  max_steps_ = in.signed_number();
  const std::size_t count = in.count();
  for (std::size_t i = 0; i < count && in.is_ok(); ++i) {
    std::string name(in.text());
    const SeriesId id(in.number());
    by_name_.emplace(name, static_cast<std::uint32_t>(i));
    series_.push_back({std::move(name), id, SeriesTotal::read(in)});
  }
  columns_.resize(series_.size());
  return in.is_ok() && in.is_at_end();
}

Result<std::vector<SeriesId>> Segment::series_of(const std::string& footer) {
  // A segment only to read the footer with.
  Segment segment(SegmentId(0), TrialId(0), 0, {});
  if (!segment.read_footer(footer))
    return fail(ErrorCode::kCorruption, "metrics of a deleted trial are damaged");
  std::vector<SeriesId> ids;
  for (const Series& one : segment.series_) ids.push_back(one.id);
  return ids;
}

}  // namespace muster::metrics
