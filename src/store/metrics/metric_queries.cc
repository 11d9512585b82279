// The questions that a metric store answers. What it keeps is written by metric_store.cc.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "store/metrics/metric_store.h"
#include "store/metrics/sampling.h"
#include "store/metrics/series_reader.h"
#include "store/metrics/store_state.h"

namespace muster {

using metrics::BlockEntry;
using metrics::Cell;
using metrics::MetricColumn;
using metrics::MetricTables;
using metrics::NumberPoint;
using metrics::Position;
using metrics::PositionRange;
using metrics::ReportRows;
using metrics::RowPosition;
using metrics::Segment;
using metrics::SeriesReader;
using metrics::SeriesRow;
using metrics::SeriesTotal;
using metrics::Trial;
using metrics::ValidSegment;

namespace {

constexpr std::int64_t kStepsMax = std::numeric_limits<std::int64_t>::max();

/// A part of a series: what one run gives to it.
struct SeriesPart {
  const Segment* segment = nullptr;
  std::uint32_t series = 0;
  PositionRange range;
};

std::vector<SeriesPart> parts_of(const Trial& trial, const SeriesQuery& query) {
  std::vector<SeriesPart> parts;
  for (const ValidSegment& one : segments_of(trial, query.group)) {
    if (query.run && one.segment->run() != *query.run) continue;
    // Asked for one run, all that it reported counts, archived or not.
    const std::int64_t last = std::min(query.last_steps, query.run ? kStepsMax : one.last_steps);
    const std::optional<std::uint32_t> series = one.segment->find_series(query.metric);
    if (series) parts.push_back({one.segment, *series, {{query.first_steps, 0}, last}});
  }
  return parts;
}

/// The part of a range behind the cursor; false when the run lies before it.
/// A cursor is a position after which a page begins: (run, steps, id).
bool go_behind(const std::optional<MetricCursor>& after, std::uint32_t run, PositionRange& range) {
  if (!after || run > after->run) return true;
  if (run < after->run) return false;
  range.first = std::max(range.first, Position{after->steps_completed, after->id + 1});
  return true;
}

/// The metrics of reports in one segment, in the order of `positions`.
Result<std::vector<std::vector<Metric>>> metrics_at(MetricTables& tables, const Segment& segment,
                                                    const std::vector<RowPosition>& positions) {
  // Each block's columns are read once for all reports in it.
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_block;
  for (std::size_t i = 0; i < positions.size(); ++i) by_block[positions[i].block].push_back(i);
  std::vector<std::vector<Metric>> result(positions.size());
  for (const auto& [block, indexes] : by_block) {
    for (std::uint32_t series = 0; series < segment.series().size(); ++series) {
      const MetricColumn column = TRY(segment.column(tables, series, block));
      for (const std::size_t i : indexes) {
        std::optional<MetricValue> value = column.find(positions[i].row);
        if (value) result[i].push_back({segment.series()[series].name, std::move(*value)});
      }
    }
  }
  return result;
}

/// A report's row with where it lies.
struct ReportRow {
  Position position;
  std::int64_t time_us = 0;
  std::string key;
  RowPosition at;
};

Result<std::vector<ReportRow>> first_reports(MetricTables& tables, const Segment& segment,
                                             const PositionRange& range, std::size_t limit) {
  return metrics::first_rows<ReportRow>(
      segment, range, limit, [&](std::size_t block, std::vector<ReportRow>& found) -> Status {
        const ReportRows rows = TRY(segment.rows(tables, block));
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
          if (!range.contains(rows.position(row))) continue;
          found.push_back(
              {rows.position(row), rows.times_us[row], std::string(rows.key(row)), {block, row}});
        }
        return {};
      });
}

/// A page ends with a whole step, so that reports of one identity stay together, unless one step is
/// longer than the page. Requires: more rows than `limit`.
void cut_page(std::vector<ReportRow>& rows, std::size_t limit) {
  std::size_t end = limit;
  const std::int64_t steps = rows[limit].position.steps;
  // The step that the cut falls into goes to the next page, unless the page is all of that step.
  while (end > 0 && rows[end - 1].position.steps == steps) --end;
  rows.resize(end > 0 ? end : limit);
}

/// Reports with their metrics; rows of one identity become one report.
Result<std::vector<StoredReport>> assemble(MetricTables& tables, const Segment& segment,
                                           const std::vector<ReportRow>& rows) {
  std::vector<RowPosition> positions;
  for (const ReportRow& row : rows) positions.push_back(row.at);
  std::vector<std::vector<Metric>> metrics = TRY(metrics_at(tables, segment, positions));
  std::vector<StoredReport> reports;
  // Keys tell reports of one step apart; rows with the same were reported in parts.
  std::unordered_map<std::string, std::size_t> of_step;  // by key: the report of the step at hand
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].position.steps != rows[i - 1].position.steps) of_step.clear();
    const auto [known, is_new] = of_step.try_emplace(rows[i].key, reports.size());
    if (!is_new) {
      std::ranges::move(metrics[i], std::back_inserter(reports[known->second].report.metrics));
      continue;
    }
    StoredReport stored;
    stored.id = rows[i].position.id;
    stored.report = {segment.trial(),      segment.run(),
                     segment.group(),      rows[i].position.steps,
                     rows[i].key,          TimePoint::from_microseconds(rows[i].time_us),
                     std::move(metrics[i])};
    reports.push_back(std::move(stored));
  }
  return reports;
}

/// The report that a position belongs to, with everything under its identity.
Result<StoredReport> report_at(MetricTables& tables, const Segment& segment, Position position) {
  const std::vector<BlockEntry> blocks = segment.blocks();
  // Ids rise over the blocks.
  const auto block = static_cast<std::size_t>(
      std::ranges::lower_bound(blocks, position.id, {}, &BlockEntry::last_id) - blocks.begin());
  CHECK(block < blocks.size(), "report {} lies in no block", position.id);
  const ReportRows rows = TRY(segment.rows(tables, block));
  const auto row =
      static_cast<std::size_t>(std::ranges::lower_bound(rows.ids, position.id) - rows.ids.begin());
  if (row >= rows.size())
    return fail(ErrorCode::kCorruption, "a block of reports has lost some of them");
  std::vector<ReportRow> same;
  const std::vector<RowPosition> positions =
      TRY(segment.find(tables, position.steps, rows.key(row)));
  for (const RowPosition& at : positions) {
    const ReportRows found = TRY(segment.rows(tables, at.block));
    same.push_back(
        {found.position(at.row), found.times_us[at.row], std::string(found.key(at.row)), at});
  }
  std::vector<StoredReport> reports = TRY(assemble(tables, segment, same));
  if (reports.size() != 1)
    return fail(ErrorCode::kCorruption, "a report is not found by its steps",
                std::to_string(position.id));
  return std::move(reports.front());
}

/// The last position up to `last_steps`. Nullopt: none.
Result<std::optional<Position>> last_place(MetricTables& tables, const Segment& segment,
                                           std::int64_t last_steps) {
  std::vector<BlockEntry> blocks = segment.blocks();
  std::vector<std::size_t> order(blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto ceiling = [&](std::size_t i) {
    return Position{std::min(blocks[i].max_steps, last_steps), blocks[i].last_id};
  };
  // By the best that a block may have: once one is found above the rest's best, the rest is not
  // read.
  std::ranges::sort(order, std::greater(), ceiling);
  std::optional<Position> last;
  for (const std::size_t block : order) {
    if (last && *last > ceiling(block)) break;
    if (blocks[block].min_steps > last_steps) continue;
    const ReportRows rows = TRY(segment.rows(tables, block));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows.steps[row] <= last_steps && (!last || rows.position(row) > *last))
        last = rows.position(row);
    }
  }
  return last;
}

/// NaN behind every number.
bool is_better(const NumberPoint& a, const NumberPoint& b, bool is_smaller_better) {
  if (std::isnan(a.value) != std::isnan(b.value)) return std::isnan(b.value);
  if (a.value != b.value && !std::isnan(a.value)) return (a.value < b.value) == is_smaller_better;
  return a.position < b.position;
}

Result<std::optional<NumberPoint>> best_of(const SeriesReader& reader, const PositionRange& range,
                                           bool is_smaller_better) {
  std::optional<NumberPoint> best;
  const auto consider = [&](const NumberPoint& point) {
    if (!best || is_better(point, *best, is_smaller_better)) best = point;
  };
  const std::vector<Cell> cells = TRY(reader.cells(range));
  std::vector<SeriesRow> rows;
  for (std::size_t block = 0; block < cells.size(); ++block) {
    const Cell& cell = cells[block];
    // A cell knows the extreme of finite numbers. With others among them their order decides, which
    // needs the values.
    if (!cell.first_not_finite) {
      const std::optional<NumberPoint>& extreme = is_smaller_better ? cell.min : cell.max;
      if (extreme) consider(*extreme);
      continue;
    }
    rows.clear();
    TRY(reader.read(block, range, rows));
    for (const SeriesRow& row : rows) {
      if (const double* number = std::get_if<double>(&row.value))
        consider({row.position, row.time_us, *number});
    }
  }
  return best;
}

/// Cuts the numbers of a block into cells of `count`.
Status cut_block(const SeriesReader& reader, std::size_t block, const PositionRange& range,
                 std::uint64_t count, std::vector<Cell>& cells) {
  // By position, though rows lie by arrival.
  std::vector<SeriesRow> rows;
  TRY(reader.read(block, range, rows));
  std::ranges::sort(rows, {}, &SeriesRow::position);
  Cell cell;
  for (const SeriesRow& row : rows) {
    if (const double* number = std::get_if<double>(&row.value))
      cell.add({row.position, row.time_us, *number});
    if (cell.number_count() < count) continue;
    cells.push_back(cell);
    cell = Cell();
  }
  // The rest, which may be short.
  cells.push_back(cell);
  return {};
}

/// One part of a series with the cells of its blocks.
struct PartCells {
  SeriesPart part;
  std::vector<Cell> cells;
};

/// Every number of the parts. Requires: they fit in memory.
Result<std::vector<NumberPoint>> all_numbers(MetricTables& tables,
                                             const std::vector<PartCells>& parts) {
  std::vector<NumberPoint> points;
  // Asked for with few numbers alone.
  for (const PartCells& one : parts) {
    const std::vector<SeriesRow> rows = TRY(
        SeriesReader(tables, *one.part.segment, one.part.series).first(one.part.range, kStepsMax));
    for (const SeriesRow& row : rows) {
      if (const double* number = std::get_if<double>(&row.value))
        points.push_back({row.position, row.time_us, *number});
    }
  }
  return points;
}

/// Cells fine enough for stretches of `count` numbers: those of whole blocks where blocks are small
/// beside them.
Result<std::vector<Cell>> fine_cells(MetricTables& tables, std::vector<PartCells>& parts,
                                     std::uint64_t count, bool is_by_block) {
  std::vector<Cell> fine;
  for (PartCells& one : parts) {
    const SeriesReader reader(tables, *one.part.segment, one.part.series);
    for (std::size_t block = 0; block < one.cells.size(); ++block) {
      if (one.cells[block].number_count() == 0) continue;
      // A quarter of a stretch: joined cells then come close to equal lengths.
      if (is_by_block && one.cells[block].number_count() <= count) {
        fine.push_back(one.cells[block]);
      } else {
        TRY(cut_block(reader, block, one.part.range, std::max<std::uint64_t>(1, count / 4), fine));
      }
    }
  }
  return fine;
}

SampledStretch stretch_of(const Cell& cell) {
  return {cell.first->position.steps,   cell.last->position.steps,
          cell.number_count(),          cell.nan_count,
          cell.positive_infinity_count, cell.negative_infinity_count};
}

/// Points with their runs, which follow from the ids: reports of a newer run come after all of an
/// older one.
std::vector<SampledPoint> sampled_points(const std::vector<PartCells>& parts,
                                         const std::vector<NumberPoint>& points) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> runs;  // by the id of their first report
  // Sorted by segment order, run after run.
  for (const PartCells& one : parts)
    runs.emplace_back(one.part.segment->blocks().front().first_id, one.part.segment->run());
  std::vector<SampledPoint> sampled;
  for (const NumberPoint& point : points) {
    const auto behind = std::ranges::upper_bound(runs, point.position.id, {},
                                                 &std::pair<std::uint64_t, std::uint32_t>::first);
    CHECK(behind != runs.begin(), "report {} belongs to no run", point.position.id);
    sampled.push_back({(behind - 1)->second, point.position.steps,
                       TimePoint::from_microseconds(point.time_us), point.value});
  }
  return sampled;
}

}  // namespace

Result<SeriesPage> SqliteMetricStore::read_series(const SeriesQuery& query,
                                                  const std::optional<MetricCursor>& after,
                                                  std::size_t points_max) {
  CHECK(points_max > 0);
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(query.trial));
  SeriesPage page;
  MetricCursor last;
  bool is_cut = false;
  for (SeriesPart part : parts_of(*trial, query)) {
    if (is_cut || !go_behind(after, part.segment->run(), part.range)) continue;
    // One more than there is room shows whether there is another page.
    const std::size_t room = points_max - page.points.size();
    std::vector<SeriesRow> rows =
        TRY(SeriesReader(*state_->tables, *part.segment, part.series).first(part.range, room + 1));
    is_cut = rows.size() > room;
    if (is_cut) rows.resize(room);
    for (SeriesRow& row : rows) {
      last = {part.segment->run(), row.position.steps, row.position.id};
      page.points.push_back({last.run, last.steps_completed,
                             TimePoint::from_microseconds(row.time_us), std::move(row.value)});
    }
  }
  // Where the next page goes on; none at the end.
  if (is_cut) page.next = last;
  return page;
}

Result<SampledSeries> SqliteMetricStore::sample_series(const SeriesQuery& query,
                                                       std::size_t points_max) {
  if (points_max < metrics::kPointsPerStretch)
    return fail(ErrorCode::kInvalidArgument, "at least 5 points must be asked for");
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(query.trial));
  std::vector<PartCells> parts;
  std::uint64_t numbers = 0;
  std::size_t blocks = 0;
  for (const SeriesPart& part : parts_of(*trial, query)) {
    std::vector<Cell> cells =
        TRY(SeriesReader(*state_->tables, *part.segment, part.series).cells(part.range));
    for (const Cell& cell : cells) {
      numbers += cell.number_count();
      blocks += cell.number_count() > 0 ? 1 : 0;
    }
    parts.push_back({part, std::move(cells)});
  }
  SampledSeries sampled;
  // Few enough to be shown as they are.
  if (numbers <= points_max) {
    const std::vector<NumberPoint> points = TRY(all_numbers(*state_->tables, parts));
    sampled.points = sampled_points(parts, points);
    return sampled;
  }
  const std::size_t stretches = metrics::stretches_max(points_max);
  // Equal numbers of points for each stretch, not equal times: what is dense stays visible.
  const std::uint64_t count = metrics::stretch_count(numbers, stretches);
  std::vector<Cell> fine = TRY(fine_cells(*state_->tables, parts, count, blocks >= stretches));
  std::vector<NumberPoint> points;
  for (const Cell& cell : metrics::joined(std::move(fine), count)) {
    std::ranges::copy(metrics::shown_points(cell), std::back_inserter(points));
    sampled.stretches.push_back(stretch_of(cell));
  }
  // Cells of late reports overlap: in order of positions again.
  std::ranges::sort(points, {}, &NumberPoint::position);
  sampled.points = sampled_points(parts, points);
  return sampled;
}

Result<std::vector<NamedSummary>> SqliteMetricStore::summaries(TrialId trial_id) {
  const std::vector<GroupMetrics> named = TRY(groups(trial_id));
  const Trial* trial = TRY(state_->trials.find(trial_id));
  std::vector<NamedSummary> summaries;
  for (const GroupMetrics& group : named) {
    const std::vector<ValidSegment> segments = segments_of(*trial, group.group);
    for (const std::string& metric : group.metrics) {
      SeriesTotal total;
      for (const ValidSegment& one : segments) {
        const std::optional<std::uint32_t> series = one.segment->find_series(metric);
        if (!series) continue;
        // All of the segment is valid: its total is at hand.
        if (one.last_steps >= one.segment->max_steps()) {
          total.merge(one.segment->series()[*series].total);
          continue;
        }
        // A newer run went on from within it: the valid part is summed up.
        const SeriesReader reader(*state_->tables, *one.segment, *series);
        const SeriesTotal part = TRY(reader.total({{0, 0}, one.last_steps}));
        total.merge(part);
      }
      if (total.type) summaries.push_back({group.group, metric, total.summary()});
    }
  }
  return summaries;
}

Result<std::vector<GroupMetrics>> SqliteMetricStore::groups(TrialId trial_id) {
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(trial_id));
  std::vector<const Segment*> segments;
  for (const auto& segment : trial->segments) segments.push_back(segment.get());
  std::ranges::sort(segments, {}, [](const Segment* segment) {
    return std::pair(std::string_view(segment->group()), segment->run());
  });
  std::vector<GroupMetrics> groups;
  std::unordered_map<std::string_view, bool> is_named;
  for (const Segment* segment : segments) {
    if (groups.empty() || groups.back().group != segment->group()) {
      groups.push_back({segment->group(), {}});
      is_named.clear();
    }
    for (const metrics::Series& one : segment->series()) {
      // Each name once, in the order of the first run that used it.
      if (is_named.try_emplace(one.name, true).second) groups.back().metrics.push_back(one.name);
    }
  }
  return groups;
}

Result<ReportPage> SqliteMetricStore::read_reports(const ReportsQuery& query,
                                                   const std::optional<MetricCursor>& after,
                                                   std::size_t reports_max) {
  CHECK(reports_max > 0);
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(query.trial));
  ReportPage page;
  MetricCursor last;
  bool is_cut = false;
  std::size_t room = reports_max;
  for (const ValidSegment& one : segments_of(*trial, query.group)) {
    PositionRange range{
        // Archived reports are those that a newer run has taken the place of.
        {query.first_steps, 0},
        query.is_archived_included ? query.last_steps : std::min(query.last_steps, one.last_steps)};
    if (is_cut || !go_behind(after, one.segment->run(), range)) continue;
    std::vector<ReportRow> rows =
        TRY(first_reports(*state_->tables, *one.segment, range, room + 1));
    is_cut = rows.size() > room;
    if (is_cut) cut_page(rows, room);
    if (rows.empty()) continue;
    last = {one.segment->run(), rows.back().position.steps, rows.back().position.id};
    room -= rows.size();
    std::vector<StoredReport> reports = TRY(assemble(*state_->tables, *one.segment, rows));
    for (StoredReport& report : reports) {
      report.is_archived = report.report.steps_completed > one.last_steps;
      page.reports.push_back(std::move(report));
    }
  }
  if (is_cut) page.next = last;
  return page;
}

Result<std::optional<StoredReport>> SqliteMetricStore::latest_report(TrialId trial_id,
                                                                     const std::string& group) {
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(trial_id));
  std::vector<ValidSegment> segments = segments_of(*trial, group);
  // The newest run with a valid report has the latest.
  std::ranges::reverse(segments);
  for (const ValidSegment& one : segments) {
    const std::optional<Position> last =
        TRY(last_place(*state_->tables, *one.segment, one.last_steps));
    if (!last) continue;
    StoredReport report = TRY(report_at(*state_->tables, *one.segment, *last));
    return std::optional(std::move(report));
  }
  return std::optional<StoredReport>();
}

Result<std::optional<StoredReport>> SqliteMetricStore::best_report(TrialId trial_id,
                                                                   const std::string& group,
                                                                   const std::string& metric,
                                                                   bool is_smaller_better) {
  TRY(ready());
  const Trial* trial = TRY(state_->trials.find(trial_id));
  SeriesQuery query;
  // Across runs the better value; of equal ones the earlier.
  query.group = group;
  query.metric = metric;
  std::optional<NumberPoint> best;
  const Segment* of = nullptr;
  for (const SeriesPart& part : parts_of(*trial, query)) {
    const SeriesReader reader(*state_->tables, *part.segment, part.series);
    const std::optional<NumberPoint> found = TRY(best_of(reader, part.range, is_smaller_better));
    if (!found || (best && !is_better(*found, *best, is_smaller_better))) continue;
    best = found;
    of = part.segment;
  }
  if (!best) return std::optional<StoredReport>();
  StoredReport report = TRY(report_at(*state_->tables, *of, best->position));
  return std::optional(std::move(report));
}

Result<std::optional<double>> metric_at(MetricStore& store, TrialId trial, const std::string& group,
                                        std::int64_t steps, const std::string& metric) {
  // The report itself, not the series: the metric must be of these steps.
  const ReportPage page = TRY(store.read_reports({trial, group, steps, steps}, std::nullopt, 1));
  if (page.reports.empty()) return std::optional<double>();
  const auto& metrics = page.reports.front().report.metrics;
  const auto found = std::ranges::find(metrics, metric, &Metric::name);
  const double* value = found == metrics.end() ? nullptr : std::get_if<double>(&found->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

}  // namespace muster
