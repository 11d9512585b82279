// Keys of blocks are (owner's number << kBlockBits) + block, the owner being a segment or a series:
// rows of one series lie together, which makes reading it sequential.
#include "store/metrics/metric_tables.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>

#include "env/sql_guard.h"
#include "env/sqlite_log.h"

namespace muster::metrics {
namespace {

constexpr int kFormat = 1;

constexpr const char* kSchema[] = {
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE log (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE runs (trial INTEGER, run INTEGER, resumed_from INTEGER NOT NULL, PRIMARY KEY "
    "(trial, run)) "
    "WITHOUT ROWID",
    "CREATE TABLE segments (segment INTEGER PRIMARY KEY, trial INTEGER NOT NULL, run INTEGER NOT "
    "NULL, "
    "group_name TEXT NOT NULL, footer BLOB NOT NULL)",
    "CREATE INDEX segments_by_trial ON segments (trial)",
    "CREATE TABLE directory (block INTEGER PRIMARY KEY, reports INTEGER NOT NULL, first_id INTEGER "
    "NOT NULL, "
    "last_id INTEGER NOT NULL, min_steps INTEGER NOT NULL, max_steps INTEGER NOT NULL)",
    "CREATE TABLE report_rows (block INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE columns (block INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE cells (block INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE late (segment INTEGER, steps INTEGER, key_hash INTEGER, report INTEGER, "
    "PRIMARY KEY (segment, steps, key_hash, report)) WITHOUT ROWID",
    "CREATE TABLE tombstones (trial INTEGER PRIMARY KEY, last_report INTEGER NOT NULL)",
    "CREATE TABLE doomed (segment INTEGER PRIMARY KEY, footer BLOB NOT NULL)",
    "INSERT INTO meta VALUES ('format', 1)",
    "INSERT INTO meta VALUES ('next_report', 1)",
    "INSERT INTO meta VALUES ('next_segment', 1)",
    "INSERT INTO meta VALUES ('next_series', 1)",
};

// In `runs`: the run was begun by its first report, and from where it goes on is not known.
constexpr std::int64_t kNotAnnounced = -1;

template <class Owner>
long long key_of(Owner owner, std::uint64_t block) {
  const std::uint64_t key = (owner.value() << kBlockBits) + block;
  return static_cast<long long>(key);
}

}  // namespace

/// Prepared statements and the variables that they are bound to. A select is run to its end, so
/// that no read lock stays.
struct MetricTables::Statements {
  explicit Statements(const std::string& connect)
      : session(soci::sqlite3, connect), bytes(session), found(session) {}

  void prepare() {
    add_log.emplace((session.prepare << "INSERT INTO log VALUES (:f, :l, :r)", soci::use(key),
                     soci::use(last), soci::use(bytes)));
    put_segment.emplace(
        (session.prepare << "INSERT OR REPLACE INTO segments VALUES (:s, :t, :r, :g, :f)",
         soci::use(key), soci::use(trial), soci::use(run), soci::use(text), soci::use(bytes)));
    put_entry.emplace(
        (session.prepare << "INSERT OR REPLACE INTO directory VALUES (:k, :n, :f, :l, :a, :b)",
         soci::use(key), soci::use(reports), soci::use(first), soci::use(last),
         soci::use(min_steps), soci::use(max_steps)));
    put_rows.emplace((session.prepare << "INSERT OR REPLACE INTO report_rows VALUES (:k, :r)",
                      soci::use(key), soci::use(bytes)));
    put_column.emplace((session.prepare << "INSERT OR REPLACE INTO columns VALUES (:k, :r)",
                        soci::use(key), soci::use(bytes)));
    put_cell.emplace((session.prepare << "INSERT OR REPLACE INTO cells VALUES (:k, :r)",
                      soci::use(key), soci::use(bytes)));
    get_rows.emplace((session.prepare << "SELECT record FROM report_rows WHERE block = :k",
                      soci::use(key), soci::into(found)));
    get_column.emplace((session.prepare << "SELECT record FROM columns WHERE block = :k",
                        soci::use(key), soci::into(found)));
    get_cells.emplace(
        (session.prepare
             << "SELECT block, record FROM cells WHERE block >= :k AND block < :e ORDER BY block",
         soci::use(key), soci::use(last), soci::into(block), soci::into(found)));
    add_late.emplace((session.prepare << "INSERT OR IGNORE INTO late VALUES (:s, :n, :h, :r)",
                      soci::use(key), soci::use(min_steps), soci::use(first), soci::use(last)));
  }
  /// The one row's bytes; empty without a row.
  std::string one(soci::statement& statement) {
    std::string result;
    if (!statement.execute(true)) return result;
    result = get_bytes(found);
    while (statement.fetch()) {
    }
    return result;
  }

  soci::session session;
  soci::blob bytes;
  soci::blob found;
  long long key = 0, trial = 0, run = 0, reports = 0, first = 0, last = 0, min_steps = 0,
            max_steps = 0, block = 0;
  std::string text;
  std::optional<soci::statement> add_log, put_segment, put_entry, put_rows, put_column, put_cell,
      get_rows, get_column, get_cells, add_late;
};

MetricTables::MetricTables(std::unique_ptr<Statements> statements) : sql_(std::move(statements)) {}
MetricTables::~MetricTables() = default;

Result<std::unique_ptr<MetricTables>> MetricTables::open(const std::string& path) {
  std::unique_ptr<Statements> statements;
  TRY(rewrite_log(path));
  TRY(sql_guard([&] { statements = std::make_unique<Statements>(sqlite_connection(path)); }));
  TRY(prepare_sql_file(statements->session,
                       {.name = "metric store", .format = kFormat, .schema = kSchema}));
  TRY(sql_guard([&] { statements->prepare(); }));
  return std::unique_ptr<MetricTables>(new MetricTables(std::move(statements)));
}

soci::session& MetricTables::session() { return sql_->session; }

Result<Counters> MetricTables::counters() {
  long long report = 0, segment = 0, series = 0, logged = 0;
  TRY(sql_guard([&] {
    sql_->session << "SELECT value FROM meta WHERE name = 'next_report'", soci::into(report);
    sql_->session << "SELECT value FROM meta WHERE name = 'next_segment'", soci::into(segment);
    sql_->session << "SELECT value FROM meta WHERE name = 'next_series'", soci::into(series);
    sql_->session << "SELECT COALESCE((SELECT last FROM log ORDER BY first DESC LIMIT 1), 0)",
        soci::into(logged);
  }));
  // As with the log store: the log may be ahead of the counters.
  const long long next = std::max(report, logged + 1);
  return Counters{static_cast<std::uint64_t>(next), static_cast<std::uint64_t>(segment),
                  static_cast<std::uint64_t>(series)};
}

Status MetricTables::put_counters(const Counters& counters) {
  const auto report = static_cast<long long>(counters.next_report);
  const auto segment = static_cast<long long>(counters.next_segment);
  const auto series = static_cast<long long>(counters.next_series);
  return sql_guard([&] {
    sql_->session << "UPDATE meta SET value = CASE name WHEN 'next_report' THEN :a WHEN "
                     "'next_segment' THEN :b ELSE :c END "
                     "WHERE name IN ('next_report', 'next_segment', 'next_series')",
        soci::use(report), soci::use(segment), soci::use(series);
  });
}

Status MetricTables::add_log(std::uint64_t first_id, std::uint64_t last_id,
                             std::string_view record) {
  return sql_guard([&] {
    sql_->key = static_cast<long long>(first_id);
    sql_->last = static_cast<long long>(last_id);
    put_bytes(sql_->bytes, record);
    sql_->add_log->execute(true);
  });
}

Status MetricTables::each_log(
    const std::function<Status(std::uint64_t, const std::string&)>& visit) {
  Status outcome;
  TRY(sql_guard([&] {
    long long last = 0;
    soci::blob record(sql_->session);
    soci::statement select =
        (sql_->session.prepare << "SELECT last, record FROM log ORDER BY first", soci::into(last),
         soci::into(record));
    select.execute();
    while (outcome.has_value() && select.fetch())
      outcome = visit(static_cast<std::uint64_t>(last), get_bytes(record));
  }));
  return outcome;
}

Status MetricTables::trim_log(std::uint64_t id) {
  const auto bound = static_cast<long long>(id);
  return sql_guard([&] {
    // Deleting by `first` alone uses the primary key.
    // Records lie in order and do not overlap: those before the last that begins below the bound
    // end below it.
    sql_->session << "DELETE FROM log WHERE first < (SELECT COALESCE(MAX(first), 0) FROM log WHERE "
                     "first < :a)",
        soci::use(bound, "a");
    sql_->session << "DELETE FROM log WHERE first < :a AND last < :a", soci::use(bound, "a");
  });
}

Result<std::vector<RunStart>> MetricTables::runs(TrialId trial) {
  std::vector<RunStart> result;
  TRY(
      sql_guard([&] {
        const long long id = trial.value();
        long long run = 0;
        long long resumed_from = 0;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT run, resumed_from FROM runs WHERE trial = :t ORDER BY run",
             soci::use(id), soci::into(run), soci::into(resumed_from));
        select.execute();
        while (select.fetch()) {
          result.push_back({static_cast<std::uint32_t>(run), std::nullopt});
          // Completed later by begin_run.
          if (resumed_from != kNotAnnounced) result.back().resumed_from = resumed_from;
        }
      }));
  return result;
}

Status MetricTables::put_run(TrialId trial, const RunStart& start) {
  const long long id = trial.value();
  const long long run = start.run;
  const long long resumed_from = start.resumed_from.value_or(kNotAnnounced);
  return sql_guard([&] {
    sql_->session << "INSERT OR REPLACE INTO runs VALUES (:t, :r, :s)", soci::use(id),
        soci::use(run), soci::use(resumed_from);
  });
}

Result<std::vector<SegmentRow>> MetricTables::segments(TrialId trial) {
  std::vector<SegmentRow> result;
  TRY(
      sql_guard([&] {
        const long long id = trial.value();
        long long segment = 0;
        long long run = 0;
        std::string group;
        soci::blob footer(sql_->session);
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT segment, run, group_name, footer FROM segments WHERE trial = :t "
                    "ORDER BY segment",
             soci::use(id), soci::into(segment), soci::into(run), soci::into(group),
             soci::into(footer));
        select.execute();
        while (select.fetch()) {
          result.push_back({SegmentId(static_cast<std::uint64_t>(segment)),
                            static_cast<std::uint32_t>(run), group, get_bytes(footer)});
        }
      }));
  return result;
}

Status MetricTables::put_segment(TrialId trial, const SegmentRow& row) {
  return sql_guard([&] {
    sql_->key = static_cast<long long>(row.id.value());
    sql_->trial = trial.value();
    sql_->run = row.run;
    sql_->text = row.group;
    put_bytes(sql_->bytes, row.footer);
    sql_->put_segment->execute(true);
  });
}

Result<std::vector<BlockEntry>> MetricTables::directory(SegmentId segment) {
  std::vector<BlockEntry> result;
  TRY(
      sql_guard([&] {
        const long long begin = key_of(segment, 0);
        const long long end = key_of(segment, kBlocksMax);
        long long reports = 0, first = 0, last = 0, min_steps = 0, max_steps = 0;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT reports, first_id, last_id, min_steps, max_steps FROM directory "
                    "WHERE block >= :b AND block < :e ORDER BY block",
             soci::use(begin), soci::use(end), soci::into(reports), soci::into(first),
             soci::into(last), soci::into(min_steps), soci::into(max_steps));
        select.execute();
        while (select.fetch()) {
          result.push_back({static_cast<std::uint64_t>(reports), static_cast<std::uint64_t>(first),
                            static_cast<std::uint64_t>(last), min_steps, max_steps});
        }
      }));
  return result;
}

Status MetricTables::put_block(SegmentId segment, std::uint64_t block, const BlockEntry& entry,
                               std::string_view rows) {
  return sql_guard([&] {
    sql_->key = key_of(segment, block);
    sql_->reports = static_cast<long long>(entry.reports);
    sql_->first = static_cast<long long>(entry.first_id);
    sql_->last = static_cast<long long>(entry.last_id);
    sql_->min_steps = entry.min_steps;
    sql_->max_steps = entry.max_steps;
    sql_->put_entry->execute(true);
    put_bytes(sql_->bytes, rows);
    sql_->put_rows->execute(true);
  });
}

Result<std::string> MetricTables::rows(SegmentId segment, std::uint64_t block) {
  std::string result;
  TRY(sql_guard([&] {
    sql_->key = key_of(segment, block);
    result = sql_->one(*sql_->get_rows);
  }));
  return result;
}

Status MetricTables::put_column(SeriesId series, std::uint64_t block, std::string_view column,
                                std::string_view cell) {
  return sql_guard([&] {
    sql_->key = key_of(series, block);
    put_bytes(sql_->bytes, column);
    sql_->put_column->execute(true);
    put_bytes(sql_->bytes, cell);
    sql_->put_cell->execute(true);
  });
}

Result<std::string> MetricTables::column(SeriesId series, std::uint64_t block) {
  std::string result;
  TRY(sql_guard([&] {
    sql_->key = key_of(series, block);
    result = sql_->one(*sql_->get_column);
  }));
  return result;
}

Status MetricTables::each_cell(
    SeriesId series, std::uint64_t begin, std::uint64_t end,
    const std::function<Status(std::uint64_t, const std::string&)>& visit) {
  Status outcome;
  TRY(sql_guard([&] {
    sql_->key = key_of(series, begin);
    sql_->last = key_of(series, end);
    // Run to its end even after a failure: the statement must be reset.
    bool is_row = sql_->get_cells->execute(true);
    for (; is_row; is_row = sql_->get_cells->fetch()) {
      if (!outcome.has_value()) continue;
      outcome =
          visit(static_cast<std::uint64_t>(sql_->block) & (kBlocksMax - 1), get_bytes(sql_->found));
    }
  }));
  return outcome;
}

Status MetricTables::drop_blocks(SegmentId segment, std::uint64_t begin) {
  const long long first = key_of(segment, begin);
  const long long end = key_of(segment, kBlocksMax);
  // Blocks of one owner are a range of keys.
  return sql_guard([&] {
    sql_->session << "DELETE FROM directory WHERE block >= :a AND block < :b", soci::use(first),
        soci::use(end);
    sql_->session << "DELETE FROM report_rows WHERE block >= :a AND block < :b", soci::use(first),
        soci::use(end);
  });
}

Status MetricTables::drop_columns(SeriesId series, std::uint64_t begin) {
  const long long first = key_of(series, begin);
  const long long end = key_of(series, kBlocksMax);
  return sql_guard([&] {
    sql_->session << "DELETE FROM columns WHERE block >= :a AND block < :b", soci::use(first),
        soci::use(end);
    sql_->session << "DELETE FROM cells WHERE block >= :a AND block < :b", soci::use(first),
        soci::use(end);
  });
}

Status MetricTables::add_late(SegmentId segment, std::int64_t steps, std::uint64_t key_hash,
                              std::uint64_t report) {
  return sql_guard([&] {
    sql_->key = static_cast<long long>(segment.value());
    sql_->min_steps = steps;
    sql_->first = static_cast<long long>(key_hash);
    sql_->last = static_cast<long long>(report);
    sql_->add_late->execute(true);
  });
}

Result<std::vector<std::uint64_t>> MetricTables::late(SegmentId segment, std::int64_t steps,
                                                      std::uint64_t key_hash) {
  std::vector<std::uint64_t> result;
  TRY(
      sql_guard([&] {
        const auto owner = static_cast<long long>(segment.value());
        const auto at = static_cast<long long>(steps);
        const auto hash = static_cast<long long>(key_hash);
        long long report = 0;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT report FROM late WHERE segment = :s AND steps = :n AND key_hash = :h "
                    "ORDER BY report",
             soci::use(owner), soci::use(at), soci::use(hash), soci::into(report));
        select.execute();
        while (select.fetch()) result.push_back(static_cast<std::uint64_t>(report));
      }));
  return result;
}

Status MetricTables::bury(TrialId trial, std::uint64_t last_report) {
  const long long id = trial.value();
  const auto last = static_cast<long long>(last_report);
  SqlTransaction transaction(sql_->session);
  TRY(transaction.begin());
  TRY(sql_guard([&] {
    // Footers go along: they name the series whose rows are to be swept.
    sql_->session << "INSERT INTO doomed SELECT segment, footer FROM segments WHERE trial = :t",
        soci::use(id);
    sql_->session << "DELETE FROM segments WHERE trial = :t", soci::use(id);
    sql_->session << "DELETE FROM runs WHERE trial = :t", soci::use(id);
    sql_->session << "INSERT OR REPLACE INTO tombstones VALUES (:t, :l)", soci::use(id),
        soci::use(last);
  }));
  return transaction.commit();
}

Result<std::vector<Tombstone>> MetricTables::tombstones() {
  std::vector<Tombstone> result;
  TRY(sql_guard([&] {
    long long trial = 0;
    long long last = 0;
    soci::statement select =
        (sql_->session.prepare << "SELECT trial, last_report FROM tombstones ORDER BY trial",
         soci::into(trial), soci::into(last));
    select.execute();
    while (select.fetch())
      result.push_back(
          {TrialId(static_cast<std::uint32_t>(trial)), static_cast<std::uint64_t>(last)});
  }));
  return result;
}

Status MetricTables::drop_tombstones(std::uint64_t id) {
  const auto bound = static_cast<long long>(id);
  return sql_guard(
      [&] { sql_->session << "DELETE FROM tombstones WHERE last_report < :a", soci::use(bound); });
}

/// A doomed segment a call, at most about `rows_max` of its rows.
Result<bool> MetricTables::sweep(
    std::uint32_t rows_max,
    const std::function<Result<std::vector<SeriesId>>(const std::string&)>& series_of) {
  long long segment = 0;
  std::string footer;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    sql_->session << "SELECT segment, footer FROM doomed ORDER BY segment LIMIT 1",
        soci::into(segment), soci::into(record);
    if (sql_->session.got_data()) footer = get_bytes(record);
  }));
  // Nothing is doomed.
  if (segment == 0) return true;
  const SegmentId owner(static_cast<std::uint64_t>(segment));
  const std::vector<SeriesId> series = TRY(series_of(footer));
  SqlTransaction transaction(sql_->session);
  TRY(transaction.begin());
  long long rest = rows_max;
  TRY(sql_guard([&] {
    const auto sweep_rows = [&](const std::string& table, const std::string& column,
                                long long begin, long long end) {
      if (rest <= 0) return;
      soci::statement remove =
          (sql_->session.prepare << "DELETE FROM " + table + " WHERE " + column + " IN (SELECT " +
                                        column + " FROM " + table + " WHERE " + column +
                                        " >= :a AND " + column + " < :b LIMIT :n)",
           soci::use(begin), soci::use(end), soci::use(rest));
      remove.execute(true);
      // What was removed counts, over all tables.
      rest -= remove.get_affected_rows();
    };
    for (const SeriesId one : series) {
      sweep_rows("columns", "block", key_of(one, 0), key_of(one, kBlocksMax));
      sweep_rows("cells", "block", key_of(one, 0), key_of(one, kBlocksMax));
    }
    sweep_rows("report_rows", "block", key_of(owner, 0), key_of(owner, kBlocksMax));
    sweep_rows("directory", "block", key_of(owner, 0), key_of(owner, kBlocksMax));
    // Only when the rest is gone: with the footer the names of its series would be lost.
    if (rest > 0) sql_->session << "DELETE FROM late WHERE segment = :s", soci::use(segment);
    if (rest > 0) sql_->session << "DELETE FROM doomed WHERE segment = :s", soci::use(segment);
  }));
  TRY(transaction.commit());
  return false;
}

}  // namespace muster::metrics
