// One file: a row for each batch in the order of its number, blobs in the transaction of the batch
// that names them, checkpoints as slices with a manifest that is written last. One thread writes
// all of it; what a reader beside it sees is of one moment.
#include "journal/sqlite_journal.h"

#include <fmt/format.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/hash.h"
#include "env/sql_guard.h"
#include "env/sqlite_log.h"
#include "records/batch_codec.h"

namespace muster {
namespace {

/// 2: rows carry digests, checkpoints the hash of their state, `meta` where the steady clock stood.
/// 3: scripts and environments carry digests, too.
constexpr int kFormat = 3;
/// What the write-ahead log may keep of the disk while it is not needed.
constexpr long long kLogBytesKept = 16 << 20;

constexpr const char* kSchema[] = {
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batches (seq INTEGER PRIMARY KEY, record BLOB NOT NULL, "
    "digest INTEGER)",
    "CREATE TABLE IF NOT EXISTS blobs (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL, "
    "digest INTEGER)",
    "CREATE TABLE IF NOT EXISTS slices (generation INTEGER, position INTEGER, "
    "record BLOB NOT NULL, digest INTEGER, PRIMARY KEY (generation, position))",
    "CREATE TABLE IF NOT EXISTS checkpoints (generation INTEGER PRIMARY KEY, seq INTEGER NOT NULL, "
    "slices INTEGER NOT NULL, hash_format INTEGER NOT NULL DEFAULT 0, "
    "state_hash INTEGER NOT NULL DEFAULT 0)",
    "INSERT OR IGNORE INTO meta VALUES ('format', 3)",
    "INSERT OR IGNORE INTO meta VALUES ('epoch', 0)",
};

/// What a file of format 1 lacks. Its rows have no digests, which is no damage.
constexpr const char* kFromFormat1[] = {
    "ALTER TABLE batches ADD COLUMN digest INTEGER",
    "ALTER TABLE slices ADD COLUMN digest INTEGER",
    "ALTER TABLE checkpoints ADD COLUMN hash_format INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE checkpoints ADD COLUMN state_hash INTEGER NOT NULL DEFAULT 0",
};
/// What one of format 2, or 1, lacks besides.
constexpr const char* kFromFormat2[] = {
    "ALTER TABLE blobs ADD COLUMN digest INTEGER",
    "UPDATE meta SET value = 3 WHERE name = 'format'",
};

/// SQLite's integers are signed.
long long stored(std::uint64_t bits) { return static_cast<long long>(bits); }
std::uint64_t bits_of(long long value) { return static_cast<std::uint64_t>(value); }

/// Of a row: its place counts, so that a row which moved is found, too.
std::uint64_t digest_of(std::uint64_t place, std::string_view record) {
  return Hasher().add(place).add(record).digest();
}

Status check_digest(std::uint64_t place, const std::string& record,
                    const std::optional<std::uint64_t>& digest, const char* what) {
  // Only digests that are there are asked: rows of format 1 have none.
  if (!digest || *digest == digest_of(place, record)) return {};
  return fail(ErrorCode::kCorruption, fmt::format("{} {} is damaged", what, place),
              "its bytes are not those that were written");
}

/// Begins with the write lock: a reader beside it makes a writer wait, and never turns it away in
/// the middle.
class WriteTransaction {
 public:
  explicit WriteTransaction(soci::session& sql) : sql_(sql) { sql_ << "BEGIN IMMEDIATE"; }
  ~WriteTransaction() {
    if (is_over_) return;
    // SQLite has rolled back by itself after some errors.
    try {
      sql_ << "ROLLBACK";
    } catch (const soci::soci_error&) {  // NOLINT: what failed before has ended it already
    }
  }
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;
  void commit() {
    sql_ << "COMMIT";
    is_over_ = true;
  }

 private:
  soci::session& sql_;
  bool is_over_ = false;
};

/// The connection and its prepared statements with the variables that they are bound to.
struct Statements {
  explicit Statements(const std::string& connect)
      : session(soci::sqlite3, connect), bytes(session) {}

  void prepare() {
    // Prepared once: an append executes one or two of these for each batch.
    insert_batch.emplace((session.prepare << "INSERT INTO batches VALUES (:seq, :record, :digest)",
                          soci::use(number), soci::use(bytes), soci::use(digest)));
    set_meta.emplace((session.prepare << "INSERT OR REPLACE INTO meta VALUES (:name, :value)",
                      soci::use(name), soci::use(number)));
    insert_blob.emplace((session.prepare << "INSERT INTO blobs VALUES (:id, :bytes, :digest)",
                         soci::use(number), soci::use(bytes), soci::use(digest)));
    delete_blob.emplace((session.prepare << "DELETE FROM blobs WHERE id = :id", soci::use(number)));
  }
  void run(std::optional<soci::statement>& statement, std::uint64_t key) {
    number = static_cast<long long>(key);
    statement->execute(true);
  }

  void set(const char* of, std::uint64_t value) {
    name = of;
    run(set_meta, value);
  }

  soci::session session;
  soci::blob bytes;
  long long number = 0;
  long long digest = 0;
  std::string name;
  std::optional<soci::statement> set_meta;
  std::optional<soci::statement> insert_batch;
  std::optional<soci::statement> insert_blob;
  std::optional<soci::statement> delete_blob;
};

/// One open file.
class SqliteJournal final : public Journal {
 public:
  SqliteJournal(std::string path, std::unique_ptr<Statements> statements, Seq last,
                std::int64_t generation)
      : path_(std::move(path)), sql_(std::move(statements)), last_(last), generation_(generation) {}
  ~SqliteJournal() override = default;
  SqliteJournal(const SqliteJournal&) = delete;
  SqliteJournal& operator=(const SqliteJournal&) = delete;

  // ---- Journal ----
  Result<Epoch> acquire_leadership(Epoch beyond) override;
  Status append(const std::vector<EventBatchRef>& batches, const JournalClock& clock) override;
  Result<std::optional<JournalClock>> clock() override;
  Seq last() const override { return last_; }
  Status follow(Seq after, const std::function<Status(const EventBatch&)>& visit) override;
  Result<std::optional<BatchMark>> mark(Seq seq) override;
  Result<CheckpointSeal> read_checkpoint(const std::function<Status(records::Slice)>& visit,
                                         Seq newest) override;
  Result<std::string> read_blob(BlobId id) override;
  Result<std::vector<BlobId>> damaged_blobs() override;
  Status record_damaged(BlobId id) override;
  Result<std::vector<BlobId>> recorded_damaged() override;
  Status begin_checkpoint() override;
  Status add_slice(const std::string& record) override;
  Status finish_checkpoint(const CheckpointSeal& seal) override;
  Result<bool> truncate(Seq slowest, std::uint32_t rows_max) override;
  /// Moves the write-ahead log into the file.
  Status tidy() override;
  std::function<Status()> tidy_beside() override;

 private:
  std::string path_;
  std::unique_ptr<Statements> sql_;
  Seq last_;
  std::int64_t generation_;  ///< of the newest slices
  Epoch epoch_;
  std::int64_t slices_ = 0;
};

/// 0: a new file.
int format_of(soci::session& sql) {
  int format = 0;
  int has_meta = 0;
  sql << "SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'", soci::into(has_meta);
  if (has_meta != 0) sql << "SELECT value FROM meta WHERE name = 'format'", soci::into(format);
  return format;
}

void make_writable(soci::session& sql, int format) {
  std::string mode;
  sql << "PRAGMA journal_mode=WAL", soci::into(mode);
  // In WAL mode FULL syncs at each commit; NORMAL may lose the last ones with the power. Source:
  // sqlite.org/pragma.html, synchronous.
  sql << "PRAGMA synchronous=FULL";
  // SQLite would move the log into the file in the midst of an append; tidy() does it when there is
  // time.
  sql << "PRAGMA wal_autocheckpoint=0";
  long long limit = 0;
  // Beyond that the log is cut back after it has been moved.
  sql << "PRAGMA journal_size_limit=" << kLogBytesKept, soci::into(limit);
  WriteTransaction transaction(sql);
  if (format == 1) {
    for (const char* statement : kFromFormat1) sql << statement;
  }
  if (format == 1 || format == 2) {
    for (const char* statement : kFromFormat2) sql << statement;
  }
  for (const char* statement : kSchema) sql << statement;
  transaction.commit();
}

Result<Epoch> SqliteJournal::acquire_leadership(Epoch beyond) {
  long long epoch = 0;
  TRY(sql_guard([&] {
    const long long least = stored(beyond.value());
    WriteTransaction transaction(sql_->session);
    // Beyond what nodes have met, too: an older copy must not lead under an epoch that was used.
    sql_->session << "UPDATE meta SET value = MAX(value, :least) + 1 WHERE name = 'epoch'",
        soci::use(least);
    sql_->session << "SELECT value FROM meta WHERE name = 'epoch'", soci::into(epoch);
    transaction.commit();
  }));
  epoch_ = Epoch(static_cast<std::uint64_t>(epoch));
  return epoch_;
}

Status SqliteJournal::append(const std::vector<EventBatchRef>& batches, const JournalClock& clock) {
  long long epoch = 0;
  Seq last = last_;
  TRY(sql_guard([&] {
    WriteTransaction transaction(sql_->session);
    // Looked at under the write lock: a newer leader may have taken over since the last append, and
    // nothing of ours may come after its first batch.
    sql_->session << "SELECT value FROM meta WHERE name = 'epoch'", soci::into(epoch);
    if (static_cast<std::uint64_t>(epoch) != epoch_.value()) return;
    for (const EventBatchRef& batch : batches) {
      // A gap would make the rest of the journal unreadable: better no batch than that.
      CHECK(batch->seq.value() == last.value() + 1, "batch {} after {}", batch->seq.value(),
            last.value());
      last = batch->seq;
      const std::string record = records::encode_batch(*batch);
      put_bytes(sql_->bytes, record);
      sql_->digest = stored(digest_of(batch->seq.value(), record));
      sql_->run(sql_->insert_batch, batch->seq.value());
      for (const BlobWrite& blob : batch->blobs) {
        put_bytes(sql_->bytes, *blob.bytes);
        sql_->digest = stored(digest_of(blob.id.value(), *blob.bytes));
        sql_->run(sql_->insert_blob, blob.id.value());
      }
      // Bytes that nobody names any more go with the batch that released them.
      for (const BlobId id : batch->dead_blobs) sql_->run(sql_->delete_blob, id.value());
    }
    // In the same transaction, so that clock and last event belong together.
    if (clock.boot != 0) {
      sql_->set("clock_boot", clock.boot);
      sql_->set("clock_steady", bits_of(clock.steady.microseconds()));
      sql_->set("clock_event", bits_of(clock.event_time.microseconds()));
    }
    transaction.commit();
  }));
  if (static_cast<std::uint64_t>(epoch) != epoch_.value()) {
    return fail(ErrorCode::kConflict, "another controller leads",
                "epoch " + std::to_string(epoch) + " is newer than ours");
  }
  // Only what was committed counts.
  last_ = last;
  return {};
}

Result<std::optional<JournalClock>> SqliteJournal::clock() {
  long long boot = 0;
  long long steady = 0;
  long long event = 0;
  int count = 0;
  TRY(sql_guard([&] {
    sql_->session
        << "SELECT COUNT(*), COALESCE(SUM(CASE name WHEN 'clock_boot' THEN value END), 0), "
           "COALESCE(SUM(CASE name WHEN 'clock_steady' THEN value END), 0), "
           "COALESCE(SUM(CASE name WHEN 'clock_event' THEN value END), 0) FROM meta WHERE name "
           "LIKE 'clock_%'",
        soci::into(count), soci::into(boot), soci::into(steady), soci::into(event);
  }));
  // A file from before the clock was recorded.
  if (count != 3) return std::optional<JournalClock>();
  return std::optional(JournalClock{bits_of(boot), Duration::microseconds(steady),
                                    TimePoint::from_microseconds(event)});
}

Result<CheckpointSeal> SqliteJournal::read_checkpoint(
    const std::function<Status(records::Slice)>& visit, Seq newest) {
  long long generation = 0;
  long long seq = 0;
  long long slices = 0;
  long long hash_format = 0;
  long long state_hash = 0;
  bool is_found = false;
  struct Row {
    std::string record;
    std::optional<std::uint64_t> digest;
  };
  std::vector<Row> rows;
  // All slices are read before any is used: the statement must not stay open while `visit` works.
  TRY(sql_guard([&] {
    const long long bound = newest.value() > INT64_MAX ? INT64_MAX : stored(newest.value());
    long long first_batch = 0;
    sql_->session << "SELECT COALESCE(MIN(seq), 0) FROM batches", soci::into(first_batch);
    const auto find = [&](const char* which) {
      sql_->session << fmt::format(
          "SELECT generation, seq, slices, hash_format, state_hash FROM checkpoints {} LIMIT 1",
          which),
          soci::use(bound), soci::into(generation), soci::into(seq), soci::into(slices),
          soci::into(hash_format), soci::into(state_hash);
      is_found = sql_->session.got_data();
    };
    // The newest that is not beyond what history has.
    find("WHERE seq <= :bound ORDER BY generation DESC");
    // Without one, and with the first batch gone: the oldest there is, and history lacks what ended
    // before.
    if (!is_found && first_batch != 1) find("WHERE seq > :bound ORDER BY generation");
    if (!is_found) return;
    soci::blob record(sql_->session);
    long long digest = 0;
    soci::indicator has_digest = soci::i_null;
    soci::statement select =
        (sql_->session.prepare
             << "SELECT record, digest FROM slices WHERE generation = :g ORDER BY position",
         soci::use(generation), soci::into(record), soci::into(digest, has_digest));
    select.execute();
    while (select.fetch()) {
      rows.push_back({get_bytes(record),
                      has_digest == soci::i_ok ? std::optional(bits_of(digest)) : std::nullopt});
    }
  }));
  // No checkpoint: the state begins empty, and all batches are there.
  if (!is_found) return CheckpointSeal();
  if (rows.size() != static_cast<std::size_t>(slices)) {
    return fail(ErrorCode::kCorruption, "checkpoint has lost slices",
                std::to_string(rows.size()) + " of " + std::to_string(slices) + " are there");
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TRY(check_digest(i, rows[i].record, rows[i].digest, "checkpoint slice"));
    records::Slice slice = TRY(records::decode_slice(rows[i].record));
    TRY(visit(std::move(slice)));
  }
  return CheckpointSeal{Seq(bits_of(seq)), static_cast<std::uint32_t>(hash_format),
                        bits_of(state_hash)};
}

Status SqliteJournal::follow(Seq after, const std::function<Status(const EventBatch&)>& visit) {
  Status outcome;
  Seq last = after;
  TRY(
      sql_guard([&] {
        long long first = static_cast<long long>(after.value());
        soci::blob record(sql_->session);
        long long place = 0;
        long long digest = 0;
        soci::indicator has_digest = soci::i_null;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT seq, record, digest FROM batches WHERE seq > :seq ORDER BY seq",
             soci::use(first), soci::into(place), soci::into(record),
             soci::into(digest, has_digest));
        select.execute();
        while (outcome.has_value() && select.fetch()) {
          const std::string bytes = get_bytes(record);
          outcome = check_digest(
              bits_of(place), bytes,
              has_digest == soci::i_ok ? std::optional(bits_of(digest)) : std::nullopt, "batch");
          // The first that is damaged ends the replay: what follows cannot be understood without
          // it.
          if (!outcome.has_value()) break;
          const auto batch = records::decode_batch(bytes);
          if (!batch.has_value()) {
            outcome = fail(batch.error());
          } else if (batch->seq.value() != last.value() + 1) {
            outcome = fail(ErrorCode::kCorruption, "journal has a gap",
                           "batch " + std::to_string(batch->seq.value()) + " follows " +
                               std::to_string(last.value()));
          } else {
            last = batch->seq;
            outcome = visit(*batch);
          }
        }
      }));
  return outcome;
}

Result<std::optional<BatchMark>> SqliteJournal::mark(Seq seq) {
  std::string batch;
  std::string slice;  // the first of a checkpoint: it says how far the cluster was
  TRY(sql_guard([&] {
    const long long number = stored(seq.value());
    soci::blob record(sql_->session);
    sql_->session << "SELECT record FROM batches WHERE seq = :s", soci::use(number),
        soci::into(record);
    if (sql_->session.got_data()) batch = get_bytes(record);
    sql_->session << "SELECT record FROM slices WHERE position = 0 AND generation IN (SELECT "
                     "generation FROM checkpoints WHERE seq = :s) LIMIT 1",
        soci::use(number), soci::into(record);
    if (sql_->session.got_data()) slice = get_bytes(record);
  }));
  // A batch that was truncated is known by the checkpoint at it.
  if (!batch.empty()) return mark_of(TRY(records::decode_batch(batch)));
  if (slice.empty()) return std::nullopt;
  const records::Slice first = TRY(records::decode_slice(slice));
  if (!first.cluster) return std::nullopt;
  return BatchMark{seq, first.cluster->epoch, first.cluster->time};
}

Result<std::string> SqliteJournal::read_blob(BlobId id) {
  std::string bytes;
  bool is_found = false;
  long long digest = 0;
  soci::indicator has_digest = soci::i_null;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    const long long key = static_cast<long long>(id.value());
    sql_->session << "SELECT bytes, digest FROM blobs WHERE id = :id", soci::use(key),
        soci::into(record), soci::into(digest, has_digest);
    is_found = sql_->session.got_data();
    if (is_found) bytes = get_bytes(record);
  }));
  if (!is_found) return fail(ErrorCode::kNotFound, "no blob " + std::to_string(id.value()));
  TRY(check_digest(id.value(), bytes,
                   has_digest == soci::i_ok ? std::optional(bits_of(digest)) : std::nullopt,
                   "blob"));
  return bytes;
}

Result<std::vector<BlobId>> SqliteJournal::damaged_blobs() {
  std::vector<long long> ids;
  TRY(sql_guard([&] {
    long long id = 0;
    soci::statement select =
        (sql_->session.prepare << "SELECT id FROM blobs ORDER BY id", soci::into(id));
    select.execute();
    while (select.fetch()) ids.push_back(id);
  }));
  // One by one, with the memory of one.
  std::vector<BlobId> damaged;
  for (const long long id : ids) {
    const auto bytes = read_blob(BlobId(bits_of(id)));
    if (bytes.has_value()) continue;
    if (bytes.error().code != ErrorCode::kCorruption) return fail(bytes.error());
    damaged.push_back(BlobId(bits_of(id)));
  }
  return damaged;
}

Status SqliteJournal::record_damaged(BlobId id) {
  return sql_guard([&] {
    const auto number = static_cast<long long>(id.value());
    sql_->session << fmt::format("INSERT OR IGNORE INTO meta VALUES ('damaged blob {}', :id)",
                                 id.value()),
        soci::use(number);
  });
}

Result<std::vector<BlobId>> SqliteJournal::recorded_damaged() {
  std::vector<BlobId> noted;
  TRY(
      sql_guard([&] {
        long long id = 0;
        soci::statement select =
            (sql_->session.prepare
                 << "SELECT value FROM meta WHERE name LIKE 'damaged blob %' ORDER BY value",
             soci::into(id));
        select.execute();
        while (select.fetch()) noted.push_back(BlobId(bits_of(id)));
      }));
  return noted;
}

Status SqliteJournal::begin_checkpoint() {
  // A fresh generation: slices of one that was cut off are never mixed with these.
  ++generation_;
  slices_ = 0;
  return {};
}

Status SqliteJournal::add_slice(const std::string& record) {
  TRY(sql_guard([&] {
    const long long digest = stored(digest_of(bits_of(slices_), record));
    put_bytes(sql_->bytes, record);
    sql_->session << "INSERT INTO slices VALUES (:g, :p, :r, :d)", soci::use(generation_),
        soci::use(slices_), soci::use(sql_->bytes), soci::use(digest);
  }));
  ++slices_;
  return {};
}

Status SqliteJournal::finish_checkpoint(const CheckpointSeal& seal) {
  // The manifest comes last. Slices without one were cut off by a crash: nobody reads them, and
  // truncate() takes them away.
  return sql_guard([&] {
    const long long seq = stored(seal.seq.value());
    const long long format = seal.hash_format;
    const long long hash = stored(seal.state_hash);
    sql_->session << "INSERT INTO checkpoints VALUES (:g, :s, :n, :f, :h)", soci::use(generation_),
        soci::use(seq), soci::use(slices_), soci::use(format), soci::use(hash);
  });
}

Result<bool> SqliteJournal::truncate(Seq history, std::uint32_t rows_max) {
  bool is_done = false;
  TRY(sql_guard([&] {
    const long long passed = stored(history.value());
    const long long limit = rows_max;
    long long kept = 0;
    long long newest = 0;
    // What history lacks must be there to be replayed: only what the newest checkpoint covers that
    // history has passed may go.
    sql_->session << "SELECT COALESCE(MAX(seq), 0) FROM checkpoints WHERE seq <= :h",
        soci::use(passed), soci::into(kept);
    sql_->session << "SELECT COALESCE(MAX(generation), 0) FROM checkpoints", soci::into(newest);
    sql_->session << "DELETE FROM checkpoints WHERE seq < :k", soci::use(kept);
    // Of several checkpoints at one batch the newest counts.
    sql_->session << "DELETE FROM checkpoints WHERE generation NOT IN (SELECT MAX(generation) FROM "
                     "checkpoints GROUP BY seq)";
    // At most rows_max of each kind in one transaction, so that an append does not wait for long.
    soci::statement batches =
        (sql_->session.prepare << "DELETE FROM batches WHERE seq IN "
                                  "(SELECT seq FROM batches WHERE seq <= :k ORDER BY seq LIMIT :n)",
         soci::use(kept), soci::use(limit));
    batches.execute(true);
    // Slices above the newest manifest may belong to a checkpoint that is being written.
    soci::statement slices =
        (sql_->session.prepare
             << "DELETE FROM slices WHERE rowid IN "
                "(SELECT rowid FROM slices WHERE generation < :g AND generation NOT IN "
                "(SELECT generation FROM checkpoints) LIMIT :n)",
         soci::use(newest), soci::use(limit));
    slices.execute(true);
    is_done = batches.get_affected_rows() == 0 && slices.get_affected_rows() == 0;
  }));
  return is_done;
}

Status SqliteJournal::tidy() {
  // PASSIVE waits for no reader and keeps no writer out. Source:
  // sqlite.org/c3ref/wal_checkpoint_v2.html.
  return sql_guard([&] { sql_->session << "PRAGMA wal_checkpoint(PASSIVE)"; });
}

std::function<Status()> SqliteJournal::tidy_beside() {
  return [path = path_] {
    return sql_guard([&] {
      // A connection of its own: it runs on another thread.
      soci::session session(soci::sqlite3, "dbname=\"" + path + "\" timeout=10");
      session << "PRAGMA wal_autocheckpoint=0";
      session << "PRAGMA wal_checkpoint(PASSIVE)";
    });
  };
}

}  // namespace

Result<std::unique_ptr<Journal>> open_sqlite_journal(const SqliteJournalOptions& options) {
  std::unique_ptr<Journal> journal;
  int format = 0;
  // The log may hold pages that a failed sync dropped and the kernel calls clean (sqlite_log.h).
  if (!options.is_read_only) TRY(rewrite_log(options.path));
  TRY(sql_guard([&] {
    const char* const mode = options.is_read_only ? " readonly=true" : "";
    auto statements =
        std::make_unique<Statements>("dbname=\"" + options.path + "\" timeout=10" + mode);
    soci::session& sql = statements->session;
    if (options.is_read_only)
      sql << "BEGIN";  // until the file is closed: all that is read is of one moment
    format = format_of(sql);
    const bool is_readable = options.is_read_only ? format == kFormat : format <= kFormat;
    if (!is_readable) return;  // a newer version's file is left as it is
    if (!options.is_read_only) make_writable(sql, format);
    long long last = 0;
    long long generation = 0;
    // A journal that was truncated may end with its checkpoint.
    sql << "SELECT COALESCE(MAX(seq), 0) FROM (SELECT seq FROM batches UNION ALL SELECT seq FROM "
           "checkpoints)",
        soci::into(last);
    // By slices, not manifests: a checkpoint that was cut off has used its number.
    sql << "SELECT COALESCE(MAX(generation), 0) FROM slices", soci::into(generation);
    if (!options.is_read_only) statements->prepare();
    journal = std::make_unique<SqliteJournal>(options.path, std::move(statements),
                                              Seq(static_cast<std::uint64_t>(last)), generation);
  }));
  if (format > kFormat) {
    return fail(ErrorCode::kFailedPrecondition, "journal has format " + std::to_string(format),
                "this version reads up to " + std::to_string(kFormat) +
                    "; start the version that wrote it");
  }
  if (journal == nullptr) {
    return fail(ErrorCode::kFailedPrecondition, "journal has format " + std::to_string(format),
                "this version only looks at format " + std::to_string(kFormat) +
                    "; start its controller once");
  }
  return journal;
}

}  // namespace muster
