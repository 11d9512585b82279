#include "journal/sqlite_journal.h"

#include <soci/sqlite3/soci-sqlite3.h>

#include <optional>

#include "base/check.h"
#include "env/sql_guard.h"
#include "records/batch_codec.h"

namespace muster {
namespace {

constexpr int kFormat = 1;

constexpr const char* kSchema[] = {
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS batches (seq INTEGER PRIMARY KEY, record BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS blobs (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS slices (generation INTEGER, position INTEGER, record BLOB NOT NULL, "
    "PRIMARY KEY (generation, position))",
    "CREATE TABLE IF NOT EXISTS checkpoints (generation INTEGER PRIMARY KEY, seq INTEGER NOT NULL, "
    "slices INTEGER NOT NULL)",
    "INSERT OR IGNORE INTO meta VALUES ('format', 1)",
    "INSERT OR IGNORE INTO meta VALUES ('epoch', 0)",
    "INSERT OR IGNORE INTO meta VALUES ('probe', 0)",
};

}  // namespace

/// The connection and its prepared statements with the variables that they are bound to.
struct SqliteJournal::Statements {
  explicit Statements(const std::string& connect) : session(soci::sqlite3, connect), bytes(session) {}

  void prepare() {
    insert_batch.emplace((session.prepare << "INSERT INTO batches VALUES (:seq, :record)", soci::use(number),
                          soci::use(bytes)));
    insert_blob.emplace((session.prepare << "INSERT INTO blobs VALUES (:id, :bytes)", soci::use(number),
                         soci::use(bytes)));
    delete_blob.emplace((session.prepare << "DELETE FROM blobs WHERE id = :id", soci::use(number)));
  }
  void run(std::optional<soci::statement>& statement, std::uint64_t key) {
    number = static_cast<long long>(key);
    statement->execute(true);
  }

  soci::session session;
  soci::blob bytes;
  long long number = 0;
  std::optional<soci::statement> insert_batch;
  std::optional<soci::statement> insert_blob;
  std::optional<soci::statement> delete_blob;
};

SqliteJournal::SqliteJournal(std::unique_ptr<Statements> statements) : sql_(std::move(statements)) {}
SqliteJournal::~SqliteJournal() = default;

Result<std::unique_ptr<SqliteJournal>> SqliteJournal::open(const Options& options) {
  std::unique_ptr<SqliteJournal> journal;
  int format = 0;
  TRY(sql_guard([&] {
    auto statements = std::make_unique<Statements>("dbname=\"" + options.path + "\" timeout=10");
    soci::session& sql = statements->session;
    std::string mode;
    sql << "PRAGMA journal_mode=WAL", soci::into(mode);
    sql << "PRAGMA synchronous=FULL";
    sql << "PRAGMA wal_autocheckpoint=0";
    int has_meta = 0;
    sql << "SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'", soci::into(has_meta);
    if (has_meta != 0) sql << "SELECT value FROM meta WHERE name = 'format'", soci::into(format);
    if (format > kFormat) return;  // a newer version's file is left as it is
    for (const char* statement : kSchema) sql << statement;
    long long last = 0;
    long long generation = 0;
    sql << "SELECT COALESCE(MAX(seq), 0) FROM (SELECT seq FROM batches UNION ALL SELECT seq FROM checkpoints)",
        soci::into(last);
    sql << "SELECT COALESCE(MAX(generation), 0) FROM slices", soci::into(generation);
    statements->prepare();
    journal.reset(new SqliteJournal(std::move(statements)));
    journal->last_ = Seq(static_cast<std::uint64_t>(last));
    journal->generation_ = generation;
  }));
  if (format > kFormat) {
    return fail(ErrorCode::kFailedPrecondition, "journal has format " + std::to_string(format),
                "this version reads up to " + std::to_string(kFormat) + "; start the version that wrote it");
  }
  return journal;
}

Result<Epoch> SqliteJournal::take_lead() {
  long long epoch = 0;
  TRY(sql_guard([&] {
    soci::transaction transaction(sql_->session);
    sql_->session << "UPDATE meta SET value = value + 1 WHERE name = 'epoch'";
    sql_->session << "SELECT value FROM meta WHERE name = 'epoch'", soci::into(epoch);
    transaction.commit();
  }));
  epoch_ = Epoch(static_cast<std::uint64_t>(epoch));
  return epoch_;
}

Status SqliteJournal::append(const std::vector<EventBatchRef>& batches) {
  long long epoch = 0;
  Seq last = last_;
  TRY(sql_guard([&] {
    soci::transaction transaction(sql_->session);
    sql_->session << "SELECT value FROM meta WHERE name = 'epoch'", soci::into(epoch);
    if (static_cast<std::uint64_t>(epoch) != epoch_.value()) return;
    for (const EventBatchRef& batch : batches) {
      CHECK(batch->seq.value() == last.value() + 1, "batch {} after {}", batch->seq.value(), last.value());
      last = batch->seq;
      put_bytes(sql_->bytes, records::encode_batch(*batch));
      sql_->run(sql_->insert_batch, batch->seq.value());
      for (const BlobWrite& blob : batch->blobs) {
        put_bytes(sql_->bytes, *blob.bytes);
        sql_->run(sql_->insert_blob, blob.id.value());
      }
      for (const BlobId id : batch->dead_blobs) sql_->run(sql_->delete_blob, id.value());
    }
    transaction.commit();
  }));
  if (static_cast<std::uint64_t>(epoch) != epoch_.value()) {
    return fail(ErrorCode::kConflict, "another controller leads", "epoch " + std::to_string(epoch) + " is newer than ours");
  }
  last_ = last;
  return {};
}

Result<Seq> SqliteJournal::read_checkpoint(const std::function<Status(records::Slice)>& visit) {
  long long generation = 0;
  long long seq = 0;
  long long slices = 0;
  bool is_found = false;
  std::vector<std::string> rows;
  TRY(sql_guard([&] {
    sql_->session << "SELECT generation, seq, slices FROM checkpoints ORDER BY generation DESC LIMIT 1",
        soci::into(generation), soci::into(seq), soci::into(slices);
    is_found = sql_->session.got_data();
    if (!is_found) return;
    soci::blob record(sql_->session);
    soci::statement select =
        (sql_->session.prepare << "SELECT record FROM slices WHERE generation = :g ORDER BY position",
         soci::use(generation), soci::into(record));
    select.execute();
    while (select.fetch()) rows.push_back(take_bytes(record));
  }));
  if (!is_found) return Seq(0);
  if (rows.size() != static_cast<std::size_t>(slices)) {
    return fail(ErrorCode::kCorruption, "checkpoint has lost slices",
                std::to_string(rows.size()) + " of " + std::to_string(slices) + " are there");
  }
  for (const std::string& row : rows) {
    records::Slice slice = TRY(records::decode_slice(row));
    TRY(visit(std::move(slice)));
  }
  return Seq(static_cast<std::uint64_t>(seq));
}

Status SqliteJournal::replay(Seq after, const std::function<Status(const EventBatch&)>& visit) {
  Status outcome;
  Seq last = after;
  TRY(sql_guard([&] {
    long long first = static_cast<long long>(after.value());
    soci::blob record(sql_->session);
    soci::statement select = (sql_->session.prepare << "SELECT record FROM batches WHERE seq > :seq ORDER BY seq",
                              soci::use(first), soci::into(record));
    select.execute();
    while (outcome.has_value() && select.fetch()) {
      const auto batch = records::decode_batch(take_bytes(record));
      if (!batch.has_value()) {
        outcome = fail(batch.error());
      } else if (batch->seq.value() != last.value() + 1) {
        outcome = fail(ErrorCode::kCorruption, "journal has a gap",
                       "batch " + std::to_string(batch->seq.value()) + " follows " + std::to_string(last.value()));
      } else {
        last = batch->seq;
        outcome = visit(*batch);
      }
    }
  }));
  return outcome;
}

Result<std::string> SqliteJournal::read_blob(BlobId id) {
  std::string bytes;
  bool is_found = false;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    const long long key = static_cast<long long>(id.value());
    sql_->session << "SELECT bytes FROM blobs WHERE id = :id", soci::use(key), soci::into(record);
    is_found = sql_->session.got_data();
    if (is_found) bytes = take_bytes(record);
  }));
  if (!is_found) return fail(ErrorCode::kNotFound, "no blob " + std::to_string(id.value()));
  return bytes;
}

Status SqliteJournal::begin_checkpoint() {
  ++generation_;
  slices_ = 0;
  return {};
}

Status SqliteJournal::add_slice(const std::string& record) {
  TRY(sql_guard([&] {
    put_bytes(sql_->bytes, record);
    sql_->session << "INSERT INTO slices VALUES (:g, :p, :r)", soci::use(generation_), soci::use(slices_),
        soci::use(sql_->bytes);
  }));
  ++slices_;
  return {};
}

Status SqliteJournal::finish_checkpoint(Seq seq) {
  return sql_guard([&] {
    const long long number = static_cast<long long>(seq.value());
    soci::transaction transaction(sql_->session);
    sql_->session << "INSERT INTO checkpoints VALUES (:g, :s, :n)", soci::use(generation_), soci::use(number),
        soci::use(slices_);
    sql_->session << "DELETE FROM checkpoints WHERE generation < :g", soci::use(generation_);
    transaction.commit();
  });
}

Result<bool> SqliteJournal::truncate(Seq seq, std::uint32_t rows_max) {
  bool is_done = false;
  TRY(sql_guard([&] {
    const long long upto = static_cast<long long>(seq.value());
    const long long limit = rows_max;
    long long checkpoint = 0;
    long long generation = 0;
    sql_->session << "SELECT COALESCE(MAX(seq), 0), COALESCE(MAX(generation), 0) FROM checkpoints",
        soci::into(checkpoint), soci::into(generation);
    const long long bound = upto < checkpoint ? upto : checkpoint;
    soci::statement batches = (sql_->session.prepare << "DELETE FROM batches WHERE seq IN "
                               "(SELECT seq FROM batches WHERE seq <= :b ORDER BY seq LIMIT :n)",
                               soci::use(bound), soci::use(limit));
    batches.execute(true);
    soci::statement slices = (sql_->session.prepare << "DELETE FROM slices WHERE rowid IN "
                              "(SELECT rowid FROM slices WHERE generation < :g LIMIT :n)",
                              soci::use(generation), soci::use(limit));
    slices.execute(true);
    is_done = batches.get_affected_rows() == 0 && slices.get_affected_rows() == 0;
  }));
  return is_done;
}

Status SqliteJournal::checkpoint_log() {
  return sql_guard([&] { sql_->session << "PRAGMA wal_checkpoint(PASSIVE)"; });
}

Status SqliteJournal::probe() {
  return sql_guard([&] { sql_->session << "UPDATE meta SET value = value + 1 WHERE name = 'probe'"; });
}

}  // namespace muster
