// One metric of one segment. Rows of a block lie by arrival; a range is of positions, so that a
// block is read when its steps may touch the range.
#include "store/metrics/series_reader.h"

namespace muster::metrics {

Status SeriesReader::read(std::size_t block, const PositionRange& range,
                          std::vector<SeriesRow>& rows) const {
  const MetricColumn column = TRY(segment_.column(tables_, series_, block));
  if (column.size() == 0) return {};
  const ReportRows reports = TRY(segment_.rows(tables_, block));
  for (std::size_t i = 0; i < column.size(); ++i) {
    const std::uint32_t row = column.row(i);
    if (row >= reports.size())
      return fail(ErrorCode::kCorruption, "a column of a metric is longer than its block");
    if (range.contains(reports.position(row)))
      rows.push_back({reports.position(row), reports.times_us[row], column.value(i)});
  }
  return {};
}

Result<std::vector<SeriesRow>> SeriesReader::first(const PositionRange& range,
                                                   std::size_t limit) const {
  return first_rows<SeriesRow>(
      segment_, range, limit,
      [&](std::size_t block, std::vector<SeriesRow>& rows) { return read(block, range, rows); });
}

Result<std::vector<Cell>> SeriesReader::cells(const PositionRange& range) const {
  const std::vector<BlockEntry> blocks = segment_.blocks();
  const std::size_t stored = segment_.directory().size();
  std::vector<Cell> cells(blocks.size());
  TRY(tables_.each_cell(segment_.series()[series_].id, 0, stored,
                        [&](std::uint64_t block, const std::string& bytes) -> Status {
                          if (block >= stored)
                            return fail(ErrorCode::kCorruption, "a cell of a metric has no block");
                          ByteReader in(bytes);
                          // Whole blocks by their cells; the cell of a part of a block is made from
                          // its rows.
                          if (range.contains(blocks[block])) cells[block] = Cell::read(in);
                          return in.is_ok() ? Status()
                                            : Status(fail(ErrorCode::kCorruption,
                                                          "a cell of a metric is damaged"));
                        }));
  std::vector<SeriesRow> rows;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    // Not in the range, or done above.
    if (!range.may_touch(blocks[block]) || (block < stored && range.contains(blocks[block])))
      continue;
    rows.clear();
    TRY(read(block, range, rows));
    SeriesTotal total;
    for (const SeriesRow& row : rows) total.add(row.position, row.time_us, row.value);
    cells[block] = total.cell;
  }
  return cells;
}

Result<SeriesTotal> SeriesReader::total(const PositionRange& range) const {
  SeriesTotal total;
  // Without texts cells suffice.
  if (segment_.series()[series_].total.cell.text_count == 0) {
    const std::vector<Cell> cells = TRY(this->cells(range));
    for (const Cell& cell : cells) total.cell.merge(cell);
    if (total.cell.number_count() > 0) total.type = MetricType::kNumber;
    return total;
  }
  // Cells do not keep texts.
  const std::vector<BlockEntry> blocks = segment_.blocks();
  std::vector<SeriesRow> rows;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (!range.may_touch(blocks[block])) continue;
    rows.clear();
    TRY(read(block, range, rows));
    for (const SeriesRow& row : rows) total.add(row.position, row.time_us, row.value);
  }
  return total;
}

}  // namespace muster::metrics
