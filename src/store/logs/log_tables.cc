// Keys of chunks are (owner's number << kChunkBits) + chunk: one integer primary key, by which the
// rows of an owner lie together in their order.
#include "store/logs/log_tables.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>

#include "env/sql_guard.h"
#include "env/sqlite_log.h"

namespace muster::logs {
namespace {

constexpr const char* kSchema[] = {
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE log (record INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE owners (owner INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id INTEGER NOT NULL, "
    "sealed_record INTEGER NOT "
    "NULL, "
    "next_line INTEGER NOT NULL, UNIQUE (kind, id))",
    "CREATE TABLE streams (owner INTEGER, run INTEGER, rank INTEGER, stream INTEGER, source "
    "INTEGER, state BLOB NOT NULL, "
    "PRIMARY KEY (owner, run, rank, stream, source)) WITHOUT ROWID",
    "CREATE TABLE directory (chunk INTEGER PRIMARY KEY, first_line INTEGER NOT NULL, lines INTEGER "
    "NOT NULL, "
    "text_bytes INTEGER NOT NULL, stored_bytes INTEGER NOT NULL, first_time INTEGER NOT NULL, "
    "last_time INTEGER NOT NULL, "
    "rank_mask INTEGER NOT NULL, stream_mask INTEGER NOT NULL, level_mask INTEGER NOT NULL)",
    "CREATE INDEX directory_by_time ON directory (last_time)",
    "CREATE TABLE texts (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE heads (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE filters (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE tombstones (kind INTEGER, id INTEGER, last_record INTEGER NOT NULL, PRIMARY KEY "
    "(kind, id)) WITHOUT ROWID",
    "CREATE TABLE doomed (owner INTEGER PRIMARY KEY)",
    "INSERT INTO meta VALUES ('format', 1)",
    "INSERT INTO meta VALUES ('next_record', 1)",
    "INSERT INTO meta VALUES ('next_owner', 1)",
};

long long key_of(OwnerNumber owner, std::uint64_t chunk) {
  const std::uint64_t key = (owner.value() << kChunkBits) + chunk;
  return static_cast<long long>(key);
}

}  // namespace

/// Prepared statements and the variables that they are bound to. A select is run to its end, so
/// that no read lock stays.
struct LogTables::Statements {
  explicit Statements(const std::string& connect)
      : session(soci::sqlite3, connect), bytes(session), found(session) {}

  void prepare() {
    add_log.emplace(
        (session.prepare << "INSERT INTO log VALUES (:r, :b)", soci::use(key), soci::use(bytes)));
    put_text.emplace((session.prepare << "INSERT OR REPLACE INTO texts VALUES (:k, :b)",
                      soci::use(key), soci::use(bytes)));
    put_heads.emplace((session.prepare << "INSERT OR REPLACE INTO heads VALUES (:k, :b)",
                       soci::use(key), soci::use(bytes)));
    put_filter.emplace((session.prepare << "INSERT OR REPLACE INTO filters VALUES (:k, :b)",
                        soci::use(key), soci::use(bytes)));
    get_text.emplace((session.prepare << "SELECT bytes FROM texts WHERE chunk = :k", soci::use(key),
                      soci::into(found)));
    get_heads.emplace((session.prepare << "SELECT bytes FROM heads WHERE chunk = :k",
                       soci::use(key), soci::into(found)));
    get_filter.emplace((session.prepare << "SELECT bytes FROM filters WHERE chunk = :k",
                        soci::use(key), soci::into(found)));
  }
  void put(soci::statement& statement, long long at, std::string_view content) {
    key = at;
    put_bytes(bytes, content);
    statement.execute(true);
  }
  /// The one row's bytes; empty without a row.
  std::string one(soci::statement& statement, long long at) {
    key = at;
    std::string result;
    if (!statement.execute(true)) return result;
    result = get_bytes(found);
    // To the end: the statement is reset only there.
    while (statement.fetch()) {
    }
    return result;
  }
  long long meta(const std::string& name) {
    long long value = 0;
    session << "SELECT value FROM meta WHERE name = :n", soci::use(name), soci::into(value);
    return value;
  }

  soci::session session;
  soci::blob bytes;
  soci::blob found;
  long long key = 0;
  std::optional<soci::statement> add_log, put_text, put_heads, put_filter, get_text, get_heads,
      get_filter;
};

LogTables::LogTables(std::unique_ptr<Statements> statements) : sql_(std::move(statements)) {}
LogTables::~LogTables() = default;
soci::session& LogTables::session() { return sql_->session; }

Result<std::unique_ptr<LogTables>> LogTables::open(const std::string& path) {
  std::unique_ptr<Statements> statements;
  // What an interrupted sync may have lost is written anew first (env/sqlite_log.h).
  TRY(rewrite_log(path));
  TRY(sql_guard([&] { statements = std::make_unique<Statements>(sqlite_connection(path)); }));
  TRY(prepare_sql_file(statements->session,
                       {.name = "log store", .format = 1, .schema = kSchema, .page_bytes = 16384}));
  TRY(sql_guard([&] {
    // A page is four times SQLite's usual one: as many bytes in the write-ahead log before it is
    // copied.
    statements->session << "PRAGMA wal_autocheckpoint=500";
    statements->prepare();
  }));
  return std::unique_ptr<LogTables>(new LogTables(std::move(statements)));
}

Result<std::uint64_t> LogTables::next_record() {
  long long next = 0;
  long long logged = 0;
  TRY(sql_guard([&] {
    next = sql_->meta("next_record");
    sql_->session << "SELECT COALESCE(MAX(record), 0) FROM log", soci::into(logged);
  }));
  // The counter is written when something is sealed; the log may be ahead of it.
  return static_cast<std::uint64_t>(std::max(next, logged + 1));
}

Status LogTables::put_next_record(std::uint64_t record) {
  const auto next = static_cast<long long>(record);
  return sql_guard([&] {
    sql_->session << "UPDATE meta SET value = :v WHERE name = 'next_record'", soci::use(next);
  });
}

Status LogTables::add_log(std::uint64_t record, std::string_view bytes) {
  return sql_guard([&] { sql_->put(*sql_->add_log, static_cast<long long>(record), bytes); });
}

Status LogTables::each_log(const std::function<Status(std::uint64_t, const std::string&)>& visit) {
  Status outcome;
  TRY(sql_guard([&] {
    long long record = 0;
    soci::blob bytes(sql_->session);
    soci::statement select =
        (sql_->session.prepare << "SELECT record, bytes FROM log ORDER BY record",
         soci::into(record), soci::into(bytes));
    select.execute();
    while (outcome.has_value() && select.fetch())
      outcome = visit(static_cast<std::uint64_t>(record), get_bytes(bytes));
  }));
  return outcome;
}

Status LogTables::trim_log(std::uint64_t record) {
  const auto bound = static_cast<long long>(record);
  return sql_guard([&] { sql_->session << "DELETE FROM log WHERE record < :r", soci::use(bound); });
}

Result<std::optional<OwnerRow>> LogTables::find_owner(LogOwner owner) {
  std::optional<OwnerRow> row;
  TRY(sql_guard([&] {
    const auto kind = static_cast<long long>(owner.kind);
    const long long id = owner.id;
    long long number = 0, sealed = 0, next = 0;
    sql_->session
        << "SELECT owner, sealed_record, next_line FROM owners WHERE kind = :k AND id = :i",
        soci::use(kind), soci::use(id), soci::into(number), soci::into(sealed), soci::into(next);
    if (!sql_->session.got_data()) return;
    row = OwnerRow{OwnerNumber(static_cast<std::uint64_t>(number)), owner,
                   static_cast<std::uint64_t>(sealed), static_cast<std::uint64_t>(next)};
  }));
  return row;
}

Result<OwnerNumber> LogTables::add_owner(LogOwner owner) {
  OwnerRow row;
  row.owner = owner;
  TRY(sql_guard([&] {
    // Numbers are never given twice: rows of a deleted owner may still wait to be swept.
    row.number = OwnerNumber(static_cast<std::uint64_t>(sql_->meta("next_owner")));
    sql_->session << "UPDATE meta SET value = value + 1 WHERE name = 'next_owner'";
  }));
  TRY(put_owner(row));
  return row.number;
}

Status LogTables::put_owner(const OwnerRow& row) {
  const auto number = static_cast<long long>(row.number.value());
  const auto kind = static_cast<long long>(row.owner.kind);
  const long long id = row.owner.id;
  const auto sealed = static_cast<long long>(row.sealed_record);
  const auto next = static_cast<long long>(row.next_line);
  return sql_guard([&] {
    sql_->session << "INSERT OR REPLACE INTO owners VALUES (:n, :k, :i, :s, :l)", soci::use(number),
        soci::use(kind), soci::use(id), soci::use(sealed), soci::use(next);
  });
}

Result<std::vector<StreamRow>> LogTables::streams(OwnerNumber owner) {
  std::vector<StreamRow> rows;
  TRY(
      sql_guard([&] {
        const auto number = static_cast<long long>(owner.value());
        long long run = 0, rank = 0, stream = 0, source = 0;
        soci::blob state(sql_->session);
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT run, rank, stream, source, state FROM streams WHERE owner = :o "
                    "ORDER BY run, rank, stream, source",
             soci::use(number), soci::into(run), soci::into(rank), soci::into(stream),
             soci::into(source), soci::into(state));
        select.execute();
        while (select.fetch()) {
          rows.push_back({{static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(rank),
                           static_cast<LogStream>(stream), static_cast<std::uint64_t>(source)},
                          get_bytes(state)});
        }
      }));
  return rows;
}

Status LogTables::put_stream(OwnerNumber owner, const StreamRow& row) {
  const auto number = static_cast<long long>(owner.value());
  const long long run = row.key.run;
  const long long rank = row.key.rank;
  const auto stream = static_cast<long long>(row.key.stream);
  const auto source = static_cast<long long>(row.key.source);
  return sql_guard([&] {
    put_bytes(sql_->bytes, row.state);
    sql_->session << "INSERT OR REPLACE INTO streams VALUES (:o, :r, :k, :s, :c, :b)",
        soci::use(number), soci::use(run), soci::use(rank), soci::use(stream), soci::use(source),
        soci::use(sql_->bytes);
  });
}

Result<std::vector<ChunkEntry>> LogTables::directory(OwnerNumber owner) {
  std::vector<ChunkEntry> entries;
  TRY(
      sql_guard([&] {
        const long long begin = key_of(owner, 0);
        const long long end = key_of(owner, kChunksMax);
        long long chunk = 0, first = 0, lines = 0, text = 0, stored = 0, from = 0, to = 0,
                  ranks = 0, streams = 0, levels = 0;
        soci::statement select =
            (sql_->session.prepare
                 // Columns in the order of the schema.
                 << "SELECT * FROM directory WHERE chunk >= :b AND chunk < :e ORDER BY chunk",
             soci::use(begin), soci::use(end), soci::into(chunk), soci::into(first),
             soci::into(lines), soci::into(text), soci::into(stored), soci::into(from),
             soci::into(to), soci::into(ranks), soci::into(streams), soci::into(levels));
        select.execute();
        const auto wide = [](long long value) { return static_cast<std::uint64_t>(value); };
        while (select.fetch()) {
          entries.push_back({wide(chunk - begin), wide(first), wide(lines), wide(text),
                             wide(stored), from, to, wide(ranks), wide(streams), wide(levels)});
        }
      }));
  return entries;
}

Status LogTables::put_chunk(OwnerNumber owner, const SealedChunk& chunk) {
  const ChunkEntry& entry = chunk.entry;
  return sql_guard([&] {
    const auto narrow = [](std::uint64_t value) { return static_cast<long long>(value); };
    const long long key = key_of(owner, entry.number);
    const long long first = narrow(entry.first_line), lines = narrow(entry.lines),
                    text = narrow(entry.text_bytes);
    const long long stored = narrow(entry.stored_bytes), from = entry.first_time_us,
                    to = entry.last_time_us;
    const long long ranks = narrow(entry.rank_mask), streams = narrow(entry.stream_mask),
                    levels = narrow(entry.level_mask);
    sql_->session
        << "INSERT OR REPLACE INTO directory VALUES (:k, :a, :b, :c, :d, :e, :f, :g, :h, :i)",
        soci::use(key), soci::use(first), soci::use(lines), soci::use(text), soci::use(stored),
        soci::use(from), soci::use(to), soci::use(ranks), soci::use(streams), soci::use(levels);
    sql_->put(*sql_->put_text, key, chunk.text);
    sql_->put(*sql_->put_heads, key, chunk.heads);
    sql_->put(*sql_->put_filter, key, chunk.filter);
  });
}

Result<std::string> LogTables::part(OwnerNumber owner, std::uint64_t chunk, ChunkPart part) {
  std::string bytes;
  TRY(sql_guard([&] {
    auto& statement = part == ChunkPart::kText    ? sql_->get_text
                      : part == ChunkPart::kHeads ? sql_->get_heads
                                                  : sql_->get_filter;
    bytes = sql_->one(*statement, key_of(owner, chunk));
  }));
  return bytes;
}

Status LogTables::drop_chunk(OwnerNumber owner, std::uint64_t chunk) {
  const long long key = key_of(owner, chunk);
  return sql_guard([&] {
    for (const std::string table : {"directory", "texts", "heads", "filters"}) {
      sql_->session << "DELETE FROM " + table + " WHERE chunk = :k", soci::use(key);
    }
  });
}

Result<std::vector<std::pair<OwnerNumber, std::uint64_t>>> LogTables::chunks_before(
    TimePoint time, std::uint32_t limit) {
  std::vector<std::pair<OwnerNumber, std::uint64_t>> found;
  TRY(
      sql_guard([&] {
        const long long bound = time.microseconds();
        const long long rows = limit;
        long long chunk = 0;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT chunk FROM directory WHERE last_time < :t ORDER BY last_time, chunk "
                    "LIMIT :n",
             soci::use(bound), soci::use(rows), soci::into(chunk));
        select.execute();
        while (select.fetch()) {
          const auto key = static_cast<std::uint64_t>(chunk);
          // The key taken apart again.
          found.emplace_back(OwnerNumber(key >> kChunkBits), key & (kChunksMax - 1));
        }
      }));
  return found;
}

Result<std::vector<LogSize>> LogTables::sizes() {
  std::vector<LogSize> sizes;
  TRY(sql_guard([&] {
    long long kind = 0, id = 0, lines = 0, text = 0, stored = 0;
    soci::statement select =
        (sql_->session.prepare
             << "SELECT kind, id, SUM(lines), SUM(text_bytes), SUM(stored_bytes) FROM directory "
                // The owner's number is in the key.
                "JOIN owners ON owner = chunk >> " +
                    std::to_string(kChunkBits) + " GROUP BY kind, id ORDER BY kind, id",
         soci::into(kind), soci::into(id), soci::into(lines), soci::into(text), soci::into(stored));
    select.execute();
    while (select.fetch()) {
      sizes.push_back({{static_cast<LogOwnerKind>(kind), static_cast<std::uint32_t>(id)},
                       static_cast<std::uint64_t>(lines),
                       static_cast<std::uint64_t>(text),
                       static_cast<std::uint64_t>(stored)});
    }
  }));
  return sizes;
}

Status LogTables::bury(OwnerNumber number, LogOwner owner, std::uint64_t last_record) {
  const auto key = static_cast<long long>(number.value());
  const auto kind = static_cast<long long>(owner.kind);
  const long long id = owner.id;
  const auto last = static_cast<long long>(last_record);
  // All at once, so that the owner is gone from every answer; its chunks are swept later. The
  // tombstone keeps records of the log that name it from bringing it back.
  SqlTransaction transaction(sql_->session);
  TRY(transaction.begin());
  TRY(sql_guard([&] {
    sql_->session << "DELETE FROM owners WHERE owner = :o", soci::use(key);
    sql_->session << "DELETE FROM streams WHERE owner = :o", soci::use(key);
    sql_->session << "INSERT INTO doomed VALUES (:o)", soci::use(key);
    sql_->session << "INSERT OR REPLACE INTO tombstones VALUES (:k, :i, :l)", soci::use(kind),
        soci::use(id), soci::use(last);
  }));
  return transaction.commit();
}

Result<std::vector<LogTombstone>> LogTables::tombstones() {
  std::vector<LogTombstone> found;
  TRY(sql_guard([&] {
    long long kind = 0, id = 0, last = 0;
    soci::statement select =
        (sql_->session.prepare << "SELECT kind, id, last_record FROM tombstones ORDER BY kind, id",
         soci::into(kind), soci::into(id), soci::into(last));
    select.execute();
    while (select.fetch()) {
      found.push_back({{static_cast<LogOwnerKind>(kind), static_cast<std::uint32_t>(id)},
                       static_cast<std::uint64_t>(last)});
    }
  }));
  return found;
}

Status LogTables::drop_tombstones(std::uint64_t record) {
  const auto bound = static_cast<long long>(record);
  // No record that could bring such an owner back is left.
  return sql_guard(
      [&] { sql_->session << "DELETE FROM tombstones WHERE last_record < :r", soci::use(bound); });
}

Result<bool> LogTables::sweep(std::uint32_t chunks_max) {
  long long owner = 0;
  TRY(sql_guard(
      [&] { sql_->session << "SELECT COALESCE(MIN(owner), 0) FROM doomed", soci::into(owner); }));
  if (owner == 0) return true;
  const OwnerNumber number(static_cast<std::uint64_t>(owner));
  const std::vector<ChunkEntry> entries = TRY(directory(number));
  SqlTransaction transaction(sql_->session);
  TRY(transaction.begin());
  for (std::size_t i = 0; i < entries.size() && i < chunks_max; ++i)
    TRY(drop_chunk(number, entries[i].number));
  // Only with its last chunk: a crash in between goes on sweeping.
  if (entries.size() <= chunks_max) {
    TRY(sql_guard(
        [&] { sql_->session << "DELETE FROM doomed WHERE owner = :o", soci::use(owner); }));
  }
  TRY(transaction.commit());
  return false;
}

}  // namespace muster::logs
