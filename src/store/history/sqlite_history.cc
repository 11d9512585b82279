// Two tables of records with the columns by which lists choose, and what is asked most often in
// indexes. A record is a message of its own (records/), with a digest over its key and bytes. Lists
// by id, user or name look their keys up in an index first; those by time alone go through the jobs
// block by block and pass over blocks outside the time.
#include "store/history/sqlite_history.h"

#include <fmt/format.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/hash.h"
#include "env/sql_guard.h"
#include "env/sqlite_log.h"
#include "records/page_codec.h"

namespace muster {
namespace {

constexpr const char* kSchema[] = {
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS jobs (job INTEGER, attempt INTEGER, array_job INTEGER, uid "
    "INTEGER, name TEXT, "
    "start_time INTEGER, submit_time INTEGER, end_time INTEGER, record BLOB NOT NULL, PRIMARY KEY "
    "(job, attempt))",
    "CREATE TABLE IF NOT EXISTS steps (job INTEGER, attempt INTEGER, step INTEGER, record BLOB NOT "
    "NULL, "
    "PRIMARY KEY (job, attempt, step))",
    "CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs (end_time)",
    "CREATE INDEX IF NOT EXISTS jobs_by_array ON jobs (array_job)",
    "CREATE INDEX IF NOT EXISTS jobs_by_user ON jobs (uid, end_time)",
    "CREATE INDEX IF NOT EXISTS jobs_by_name ON jobs (name, end_time)",
    "INSERT OR IGNORE INTO meta VALUES ('format', 1)",
    "INSERT OR IGNORE INTO meta VALUES ('watermark', 0)",
    // For each kBlockJobs jobs, between which times any of them was in the system: who asks for a
    // day reads past the other blocks.
    "CREATE TABLE IF NOT EXISTS blocks (block INTEGER PRIMARY KEY, first_submit INTEGER NOT NULL, "
    "last_end INTEGER NOT NULL)",
    "INSERT OR IGNORE INTO meta VALUES ('blocks', -1)",  // up to which batch they are right
};

/// The format that this version writes.
constexpr int kFormat = 1;

/// 0: a new file.
int format_of(soci::session& sql) {
  // A file of another make has no table of that name.
  int format = 0;
  int has_meta = 0;
  sql << "SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'", soci::into(has_meta);
  if (has_meta != 0)
    sql << "SELECT IFNULL((SELECT value FROM meta WHERE name = 'format'), 0)", soci::into(format);
  return format;
}

Error newer_format(int format) {
  return Error{
      ErrorCode::kFailedPrecondition, "history has format " + std::to_string(format),
      "this version reads up to " + std::to_string(kFormat) + "; start the version that wrote it"};
}

/// Without them the file is of a time before digests.
constexpr const char* kDigestColumns[] = {"ALTER TABLE jobs ADD COLUMN digest INTEGER",
                                          "ALTER TABLE steps ADD COLUMN digest INTEGER"};

constexpr std::size_t kDamageLinesMax = 20;

constexpr std::uint32_t kBlockJobs = 1024;
/// Blocks looked through by one read.
constexpr int kBlocksMax = 4;
/// Attempts that match are named one by one when an index finds no more than these.
constexpr std::size_t kKeysMax = 8192;

/// The condition of a query as SQL over `jobs`. Names are bound as text, quoted by doubling.
// Doubling is all that SQL asks of a text in single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

/// Further than any attempt of that job.
HistoryKey last_of(std::uint32_t job) { return {JobId(job), UINT32_MAX}; }

/// `step`: 0 of an attempt. It names the row, so that one that has got another's record is found,
/// too.
long long digest_of(const HistoryKey& key, std::uint32_t step, std::string_view record) {
  return static_cast<long long>(
      Hasher().add(key.job.value()).add(key.attempt).add(step).add(record).digest());
}

/// Whether an index may find the few attempts that match. One of the time alone is no better than
/// the blocks.
bool is_selective(const JobFilter& filter) {
  return !filter.jobs.empty() || !filter.uids.empty() || !filter.names.empty();
}

std::string condition(const Query& query) {
  std::string where = "1";
  if (!query.filter.jobs.empty()) {
    std::string ids;
    for (const JobSelector& selector : query.filter.jobs)
      ids += (ids.empty() ? "" : ",") + std::to_string(selector.job.value());
    // Of an array the record or any element, as a number names them.
    where += fmt::format(" AND (job IN ({0}) OR array_job IN ({0}))", ids);
  }
  // In the system between the two times: ended after the one, submitted before the other. Source:
  // sacct(1), --starttime and --endtime.
  if (query.since.is_set()) where += fmt::format(" AND end_time >= {}", query.since.microseconds());
  if (query.until.is_set() && !query.until.is_never())
    where += fmt::format(" AND submit_time <= {}", query.until.microseconds());
  if (!query.filter.uids.empty())
    where += fmt::format(" AND uid IN ({})", fmt::join(query.filter.uids, ","));
  if (!query.filter.names.empty()) {
    std::string names;
    for (const std::string& name : query.filter.names)
      names += (names.empty() ? "" : ",") + quoted(name);
    where += fmt::format(" AND name IN ({})", names);
  }
  return where;
}

struct Statements {
  explicit Statements(const std::string& connect)
      : session(soci::sqlite3, connect), bytes(session) {}
  void look_for_digests() {
    int count = 0;
    session << "SELECT COUNT(*) FROM pragma_table_info('steps') WHERE name = 'digest'",
        soci::into(count);
    has_digests = count > 0;
  }
  void add_digests() {
    look_for_digests();
    if (has_digests) return;
    soci::transaction transaction(session);
    for (const char* statement : kDigestColumns) session << statement;
    transaction.commit();
    has_digests = true;
  }
  /// What to select of a row beside its record.
  const char* digest_column() const { return has_digests ? "digest" : "NULL"; }
  // Prepared once: an append executes them for each object.
  void prepare() {
    insert_job.emplace(
        (session.prepare
             << "INSERT OR REPLACE INTO jobs (job, attempt, array_job, uid, name, start_time, "
                "submit_time, "
                "end_time, record, digest) VALUES (:j, :a, :aj, :u, :n, :st, :su, :e, :r, :d)",
         soci::use(job), soci::use(attempt), soci::use(array_job), soci::use(uid), soci::use(name),
         soci::use(start_time), soci::use(submit_time), soci::use(end_time), soci::use(bytes),
         soci::use(digest)));
    widen_block.emplace(
        (session.prepare
             << "INSERT INTO blocks VALUES (:b, :s, :e) ON CONFLICT (block) DO UPDATE SET "
                "first_submit = MIN(first_submit, excluded.first_submit), last_end = MAX(last_end, "
                "excluded.last_end)",
         soci::use(block), soci::use(submit_time), soci::use(end_time)));
    insert_step.emplace((session.prepare << "INSERT OR REPLACE INTO steps (job, attempt, step, "
                                            "record, digest) VALUES (:j, :a, :s, :r, :d)",
                         soci::use(job), soci::use(attempt), soci::use(step), soci::use(bytes),
                         soci::use(digest)));
  }
  /// A program that knew no blocks may have written last.
  void make_blocks(long long watermark) {
    long long right_until = 0;
    // Their bounds are only ever widened by later appends: they are right when they are right for
    // all rows at one batch.
    session << "SELECT value FROM meta WHERE name = 'blocks'", soci::into(right_until);
    if (right_until == watermark) return;
    soci::transaction transaction(session);
    session << "DELETE FROM blocks";
    session << fmt::format(
        "INSERT INTO blocks SELECT job / {}, MIN(submit_time), MAX(end_time) FROM jobs GROUP BY 1",
        kBlockJobs);
    session << "UPDATE meta SET value = :w WHERE name = 'blocks'", soci::use(watermark);
    transaction.commit();
  }
  void put_record(std::uint32_t number, const std::string& record) {
    put_bytes(bytes, record);
    digest =
        digest_of({JobId(static_cast<std::uint32_t>(job)), static_cast<std::uint32_t>(attempt)},
                  number, record);
  }
  void retain_log_at_close() {
    auto* backend = static_cast<soci::sqlite3_session_backend*>(session.get_backend());
    sqlite_api::sqlite3_db_config(backend->conn_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  void put(const JobView& view) {
    job = view.id.value();
    attempt = view.attempt;
    array_job = view.array_job.value();
    uid = view.spec->user.value();
    name = std::string(view.spec->name());
    start_time = view.start_time.microseconds();
    submit_time = view.submit_time.microseconds();
    end_time = view.end_time.microseconds();
    put_record(0, records::encode_job(view));
    insert_job->execute(true);
    // In the same transaction as the job, so that no block is ever too narrow.
    block = job / kBlockJobs;
    widen_block->execute(true);
  }
  void put(const StepView& view) {
    job = view.id.job.value();
    attempt = view.id.attempt;
    step = view.id.step;
    put_record(view.id.step, records::encode_step(view));
    insert_step->execute(true);
  }

  soci::session session;
  soci::blob bytes;
  long long job = 0, attempt = 0, array_job = 0, uid = 0, step = 0, start_time = 0, submit_time = 0,
            end_time = 0, block = 0, digest = 0;
  bool has_digests = false;
  std::string name;
  std::optional<soci::statement> insert_job;
  std::optional<soci::statement> widen_block;
  std::optional<soci::statement> insert_step;
};

/// One open file.
class SqliteHistory final : public HistoryStore {
 public:
  SqliteHistory(std::string path, std::unique_ptr<Statements> statements, Seq watermark)
      : sql_(std::move(statements)), path_(std::move(path)), watermark_(watermark) {}
  ~SqliteHistory() override;
  SqliteHistory(const SqliteHistory&) = delete;
  SqliteHistory& operator=(const SqliteHistory&) = delete;

  Seq watermark() const override { return watermark_; }
  Result<HistoryMark> mark() override;
  Status acquire(Epoch epoch) override;
  Status append(const std::vector<HistoryObject>& objects, const BatchMark& until) override;
  Status make_durable() override;
  Result<HistoryPage> read(const Query& query, HistoryCursor& cursor, JobId until) override;
  Result<HistorySteps> steps_of(const HistoryKey& attempt, std::optional<std::uint32_t> after,
                                std::size_t count_max) override;
  Result<bool> has(JobId job, std::uint32_t attempt) override;
  Result<bool> has(const StepId& step) override;
  Result<std::optional<JobView>> find(JobId job) override;
  Result<std::vector<std::string>> damage() override;

 private:
  struct Records;
  struct Row;
  struct RowReader;
  struct Look;
  Status look_up_keys(const Query& query, HistoryCursor& cursor, JobId until);
  Result<Records> read_listed(HistoryCursor& cursor);
  Result<Records> read_blocks(const Query& query, HistoryCursor& cursor, JobId until);
  std::unique_ptr<Statements> sql_;
  std::string path_;
  bool is_log_doubted_ = false;  ///< a sync of it has failed since it was written anew
  Seq watermark_;
};

SqliteHistory::~SqliteHistory() {
  // Closing the last connection copies the log into the file.
  // What is copied at the end would be copied from a log that may not be on the disk.
  if (is_log_doubted_) sql_->retain_log_at_close();
}

Result<HistoryMark> SqliteHistory::mark() {
  long long epoch = 0;
  long long highest = 0;
  long long batch_epoch = 0;
  long long batch_time = 0;
  TRY(sql_guard([&] {
    // Absent in files of earlier versions: 0 means unknown.
    const auto number = [&](const char* name, long long& value) {
      sql_->session << fmt::format("SELECT IFNULL((SELECT value FROM meta WHERE name = '{}'), 0)",
                                   name),
          soci::into(value);
    };
    number("epoch", epoch);
    number("watermark_epoch", batch_epoch);
    number("watermark_time", batch_time);
    sql_->session << "SELECT IFNULL((SELECT MAX(job) FROM jobs), 0)", soci::into(highest);
  }));
  const BatchMark until{watermark_, Epoch(static_cast<std::uint64_t>(batch_epoch)),
                        TimePoint::from_microseconds(batch_time)};
  return HistoryMark{until, Epoch(static_cast<std::uint64_t>(epoch)),
                     JobId(static_cast<std::uint32_t>(highest))};
}

Status SqliteHistory::acquire(Epoch epoch) {
  return sql_guard([&] {
    const auto value = static_cast<long long>(epoch.value());
    sql_->session << "INSERT OR REPLACE INTO meta VALUES ('epoch', :e)", soci::use(value);
  });
}

Result<bool> SqliteHistory::has(JobId job, std::uint32_t attempt) {
  long long count = 0;
  TRY(sql_guard([&] {
    const long long id = job.value();
    const long long number = attempt;
    sql_->session << "SELECT COUNT(*) FROM jobs WHERE job = :j AND attempt = :a", soci::use(id),
        soci::use(number), soci::into(count);
  }));
  return count != 0;
}

Result<bool> SqliteHistory::has(const StepId& step) {
  long long count = 0;
  TRY(sql_guard([&] {
    const long long id = step.job.value();
    const long long attempt = step.attempt;
    const long long number = step.step;
    sql_->session << "SELECT COUNT(*) FROM steps WHERE job = :j AND attempt = :a AND step = :s",
        soci::use(id), soci::use(attempt), soci::use(number), soci::into(count);
  }));
  return count != 0;
}

Status SqliteHistory::append(const std::vector<HistoryObject>& objects, const BatchMark& until) {
  // Objects and watermark together: after a crash history has all of a batch or none of it.
  TRY(sql_guard([&] {
    soci::transaction transaction(sql_->session);
    for (const HistoryObject& object : objects) {
      std::visit([&](const auto& view) { sql_->put(view); }, object);
    }
    const long long seq = static_cast<long long>(until.seq.value());
    const auto epoch = static_cast<long long>(until.epoch.value());
    const long long time = until.time.microseconds();
    // The blocks are right up to here, too.
    sql_->session << "UPDATE meta SET value = :w WHERE name IN ('watermark', 'blocks')",
        soci::use(seq);
    sql_->session
        << "INSERT OR REPLACE INTO meta VALUES ('watermark_epoch', :e), ('watermark_time', :t)",
        soci::use(epoch), soci::use(time);
    transaction.commit();
  }));
  // Only now: a refused commit leaves the old one.
  watermark_ = until.seq;
  return {};
}

Status SqliteHistory::make_durable() {
  // After a sync that failed the log on the disk may have a hole that no later sync tells of. The
  // file must not go ahead of it: a power cut would bring back what stands before the hole.
  if (is_log_doubted_) TRY(rewrite_log(path_));
  long long busy = 0;
  const Status copied_all = sql_guard([&] {
    // With synchronous=NORMAL a WAL is synced when it is copied into the database file, and only
    // then.
    long long pages = 0;
    long long copied = 0;
    // FULL waits for no reader; what a reader still needs stays in the log.
    sql_->session << "PRAGMA wal_checkpoint(FULL)", soci::into(busy), soci::into(pages),
        soci::into(copied);
    busy = busy != 0 || pages != copied ? 1 : 0;
  });
  is_log_doubted_ = !copied_all.has_value();
  TRY(copied_all);
  // To be tried again: some pages have not been copied.
  if (busy != 0) return fail(ErrorCode::kUnavailable, "history is being read");
  return {};
}

/// As it is stored.
struct SqliteHistory::Row {
  HistoryKey key;
  std::uint32_t step = 0;  ///< 0 in a job's row
  std::string record;
  std::optional<long long> digest;

  Result<JobView> job() const {
    // Digest and key are asked before the record is believed; files of before digests have the key
    // alone.
    TRY(check());
    JobView view = TRY(records::decode_job(record));
    if (view.id != key.job || view.attempt != key.attempt) return fail(damaged());
    return view;
  }
  Result<StepView> step_view() const {
    TRY(check());
    StepView view = TRY(records::decode_step(record));
    if (view.id != StepId{key.job, key.attempt, step}) return fail(damaged());
    return view;
  }
  Error damaged() const {
    return Error{ErrorCode::kCorruption,
                 fmt::format("the record of job {} (attempt {}) in history is damaged",
                             key.job.value(), key.attempt),
                 ""};
  }

 private:
  Status check() const {
    if (digest && *digest != digest_of(key, step, record)) return fail(damaged());
    return {};
  }
};

/// They are decoded when the file is not at work any more.
struct SqliteHistory::Records {
  std::vector<Row> rows;
  std::size_t bytes = 0;
  bool is_end = false;
  // Bounds of one read, in rows and in bytes.
  bool is_full() const { return rows.size() >= kRowsMax || bytes >= kBytesMax; }
  void add(Row row) {
    bytes += row.record.size();
    rows.push_back(std::move(row));
  }
};

/// Where a statement puts what it reads.
struct SqliteHistory::RowReader {
  explicit RowReader(soci::session& session) : record(session) {}
  Row extract(const HistoryKey& key, std::uint32_t step) {
    return {key, step, get_bytes(record),
            has_digest == soci::i_ok ? std::optional(digest) : std::nullopt};
  }
  soci::blob record;
  long long digest = 0;
  soci::indicator has_digest = soci::i_null;
};

Result<HistoryPage> SqliteHistory::read(const Query& query, HistoryCursor& cursor, JobId until) {
  HistoryPage page;
  // Also when the cursor has passed `until`.
  if (until.value() == 0 || cursor.after >= last_of(until.value() - 1)) {
    page.is_end = true;
    return page;
  }
  // Another stretch: what an index finds is looked up for it anew.
  if (cursor.until != until) {
    cursor.is_listed = false;
    if (is_selective(query.filter)) TRY(look_up_keys(query, cursor, until));
    cursor.until = until;
  }
  const Records records =
      TRY(cursor.is_listed ? read_listed(cursor) : read_blocks(query, cursor, until));
  // Decoded after the statement: a reader must not hold the file while it works.
  for (const Row& row : records.rows) {
    if (auto job = row.job(); job.has_value()) {
      page.jobs.push_back(std::move(job).value());
    } else {
      page.damaged.push_back(row.key);
    }
  }
  page.is_end = records.is_end;
  if (page.is_end) cursor.after = last_of(until.value() - 1);
  return page;
}

/// The unary plus keeps the numbers' own index out of it, which would lead through everybody's
/// jobs.
Status SqliteHistory::look_up_keys(const Query& query, HistoryCursor& cursor, JobId until) {
  cursor.keys.clear();
  TRY(sql_guard([&] {
    long long job = 0;
    long long attempt = 0;
    soci::statement select =
        (sql_->session.prepare << fmt::format(
             "SELECT job, attempt FROM jobs WHERE {} AND +job >= {} AND +job < {} LIMIT {}",
             // One more than the bound shows that there are too many.
             condition(query), cursor.after.job.value(), until.value(), kKeysMax + 1),
         soci::into(job), soci::into(attempt));
    select.execute();
    while (select.fetch())
      cursor.keys.push_back(
          {JobId(static_cast<std::uint32_t>(job)), static_cast<std::uint32_t>(attempt)});
  }));
  // Too many to name: the blocks are read instead.
  cursor.is_listed = cursor.keys.size() <= kKeysMax;
  if (!cursor.is_listed) cursor.keys = {};
  std::erase_if(cursor.keys, [&](const HistoryKey& key) { return key <= cursor.after; });
  // Falling, because they are taken from the back.
  std::ranges::sort(cursor.keys, std::greater<>());
  return {};
}

Result<SqliteHistory::Records> SqliteHistory::read_listed(HistoryCursor& cursor) {
  Records records;
  TRY(sql_guard([&] {
    RowReader row(sql_->session);
    long long job = 0;
    long long attempt = 0;
    soci::statement select =
        (sql_->session.prepare << fmt::format(
             "SELECT record, {} FROM jobs WHERE job = :j AND attempt = :a", sql_->digest_column()),
         soci::into(row.record), soci::into(row.digest, row.has_digest), soci::use(job),
         soci::use(attempt));
    while (!cursor.keys.empty() && !records.is_full()) {
      // Moved on before the row is read: a damaged one is passed over, not met again.
      cursor.after = cursor.keys.back();
      cursor.keys.pop_back();
      job = cursor.after.job.value();
      attempt = cursor.after.attempt;
      if (select.execute(true)) records.add(row.extract(cursor.after, 0));
    }
  }));
  records.is_end = cursor.keys.empty();
  return records;
}

Result<SqliteHistory::Records> SqliteHistory::read_blocks(const Query& query, HistoryCursor& cursor,
                                                          JobId until) {
  Records records;
  std::string is_in_time = "1";
  if (query.since.is_set())
    is_in_time += fmt::format(" AND last_end >= {}", query.since.microseconds());
  if (query.until.is_set() && !query.until.is_never())
    is_in_time += fmt::format(" AND first_submit <= {}", query.until.microseconds());
  TRY(sql_guard([&] {
    for (int i = 0; i < kBlocksMax && !records.is_full(); ++i) {
      const HistoryKey after = cursor.after;
      // Behind the last attempt of that job, or at its next attempt.
      const std::uint32_t first =
          after.attempt == UINT32_MAX ? after.job.value() + 1 : after.job.value();
      long long block = 0;
      sql_->session << fmt::format(
          "SELECT block FROM blocks WHERE block >= {} AND block <= {} AND {} ORDER BY block LIMIT "
          "1",
          first / kBlockJobs, (until.value() - 1) / kBlockJobs, is_in_time),
          soci::into(block);
      // No further block reaches into the time.
      records.is_end = !sql_->session.got_data();
      if (records.is_end) return;
      const long long end = std::min<long long>((block + 1) * kBlockJobs, until.value());
      RowReader row(sql_->session);
      long long job = 0;
      long long attempt = 0;
      soci::statement select = (sql_->session.prepare << fmt::format(
                                    // The index by key, so that rows come in order and the
                                    // statement ends with the block.
                                    "SELECT job, attempt, record, {} FROM jobs INDEXED BY "
                                    "sqlite_autoindex_jobs_1 WHERE job >= {} AND job < {} "
                                    "AND (job, attempt) > ({}, {}) AND {} ORDER BY job, attempt",
                                    sql_->digest_column(), block * kBlockJobs, end,
                                    after.job.value(), after.attempt, condition(query)),
                                soci::into(job), soci::into(attempt), soci::into(row.record),
                                soci::into(row.digest, row.has_digest));
      select.execute();
      bool is_more = select.fetch();
      for (; is_more; is_more = select.fetch()) {
        cursor.after = {JobId(static_cast<std::uint32_t>(job)),
                        static_cast<std::uint32_t>(attempt)};
        records.add(row.extract(cursor.after, 0));
        if (records.is_full()) break;
      }
      // The block is done, whatever of it matched.
      if (!is_more) cursor.after = last_of(static_cast<std::uint32_t>(end - 1));
      records.is_end = cursor.after >= last_of(until.value() - 1);
      if (records.is_end) return;
    }
  }));
  return records;
}

Result<HistorySteps> SqliteHistory::steps_of(const HistoryKey& attempt,
                                             std::optional<std::uint32_t> after,
                                             std::size_t count_max) {
  std::vector<Row> rows;
  TRY(sql_guard([&] {
    RowReader row(sql_->session);
    const long long id = attempt.job.value();
    const long long number = attempt.attempt;
    const long long last = after ? static_cast<long long>(*after) : -1;
    const auto limit = static_cast<long long>(count_max);
    // Without the last that was shown: from the beginning.
    long long step = 0;
    soci::statement select =
        (sql_->session.prepare << fmt::format(
             "SELECT step, record, {} FROM steps WHERE job = :j AND attempt = :a "
             "AND step > :s ORDER BY step LIMIT :n",
             sql_->digest_column()),
         soci::use(id), soci::use(number), soci::use(last), soci::use(limit), soci::into(step),
         soci::into(row.record), soci::into(row.digest, row.has_digest));
    select.execute();
    while (select.fetch()) rows.push_back(row.extract(attempt, static_cast<std::uint32_t>(step)));
  }));
  HistorySteps found;
  for (const Row& row : rows) {
    found.last = row.step;
    if (auto step = row.step_view(); step.has_value()) {
      found.steps.push_back(std::move(step).value());
    } else {
      ++found.damaged_count;
    }
  }
  return found;
}

Result<std::optional<JobView>> SqliteHistory::find(JobId job) {
  std::optional<Row> newest;
  TRY(sql_guard([&] {
    RowReader row(sql_->session);
    const long long id = job.value();
    long long attempt = 0;
    sql_->session << fmt::format(
        // The newest attempt is what a number means.
        "SELECT attempt, record, {} FROM jobs WHERE job = :j ORDER BY attempt DESC LIMIT 1",
        sql_->digest_column()),
        soci::use(id), soci::into(attempt), soci::into(row.record),
        soci::into(row.digest, row.has_digest);
    if (sql_->session.got_data())
      newest = row.extract({job, static_cast<std::uint32_t>(attempt)}, 0);
  }));
  if (!newest) return std::optional<JobView>();
  return std::optional<JobView>(TRY(newest->job()));
}

/// Looks for damage; each kind by itself, because a damaged page ends the statement that meets it.
struct SqliteHistory::Look {
  void at_pages() const;
  void at_jobs() const;
  void at_steps() const;

  soci::session& session;
  const char* digest;  ///< the column's name
  std::function<void(std::string)> add;
};

void SqliteHistory::Look::at_pages() const {
  std::string line;
  soci::statement look = (session.prepare << "PRAGMA integrity_check", soci::into(line));
  look.execute();
  while (look.fetch()) {
    if (line != "ok") add("history: " + line);
  }
}

void SqliteHistory::Look::at_jobs() const {
  RowReader row(session);
  long long job = 0, attempt = 0, array_job = 0, uid = 0, start_time = 0, submit_time = 0,
            end_time = 0;
  std::string name;
  soci::statement jobs =
      (session.prepare << fmt::format(
           "SELECT job, attempt, array_job, uid, name, start_time, submit_time, end_time, "
           "record, {} FROM jobs",
           digest),
       soci::into(job), soci::into(attempt), soci::into(array_job), soci::into(uid),
       soci::into(name), soci::into(start_time), soci::into(submit_time), soci::into(end_time),
       soci::into(row.record), soci::into(row.digest, row.has_digest));
  jobs.execute();
  while (jobs.fetch()) {
    const Row stored = row.extract(
        HistoryKey{JobId(static_cast<std::uint32_t>(job)), static_cast<std::uint32_t>(attempt)}, 0);
    const auto view = stored.job();
    // Lists choose by the columns, and show what the record says.
    const bool is_found_as_it_is = view.has_value() && view->array_job.value() == array_job &&
                                   view->spec->user.value() == uid && view->spec->name() == name &&
                                   view->start_time.microseconds() == start_time &&
                                   view->submit_time.microseconds() == submit_time &&
                                   view->end_time.microseconds() == end_time;
    if (!is_found_as_it_is) add(stored.damaged().message);
  }
}

void SqliteHistory::Look::at_steps() const {
  RowReader row(session);
  long long job = 0, attempt = 0, step = 0;
  soci::statement steps =
      (session.prepare << fmt::format("SELECT job, attempt, step, record, {} FROM steps", digest),
       soci::into(job), soci::into(attempt), soci::into(step), soci::into(row.record),
       soci::into(row.digest, row.has_digest));
  steps.execute();
  while (steps.fetch()) {
    const Row stored = row.extract(
        HistoryKey{JobId(static_cast<std::uint32_t>(job)), static_cast<std::uint32_t>(attempt)},
        static_cast<std::uint32_t>(step));
    if (!stored.step_view().has_value())
      add(fmt::format("the record of step {}.{} (attempt {}) in history is damaged", job, step,
                      attempt));
  }
}

Result<std::vector<std::string>> SqliteHistory::damage() {
  std::vector<std::string> lines;
  std::size_t count = 0;
  const Look look{sql_->session, sql_->digest_column(), [&](std::string line) {
                    if (++count <= kDamageLinesMax) lines.push_back(std::move(line));
                  }};
  // The order of cost; the first needs no record to be decoded.
  const std::pair<const char*, void (Look::*)() const> looks[] = {
      {"its pages", &Look::at_pages},
      {"all of its jobs", &Look::at_jobs},
      {"all of its steps", &Look::at_steps}};
  for (const auto& [what, at] : looks) {
    const Status looked = sql_guard([&look, at = at] { (look.*at)(); });
    // What can be read has been reported; a damaged file ends this look alone.
    if (looked.has_value()) continue;
    if (looked.error().code != ErrorCode::kCorruption) return fail(looked.error());
    look.add(fmt::format("history: {} cannot be read: {}", what, looked.error().detail));
  }
  if (count > lines.size())
    lines.push_back(fmt::format("and {} more in history", count - lines.size()));
  return lines;
}

}  // namespace

Result<std::unique_ptr<HistoryStore>> open_sqlite_history(const std::string& path) {
  std::unique_ptr<HistoryStore> store;
  int format = 0;
  // Before anything is read from the file: a log of which a sync had failed is written anew.
  TRY(rewrite_log(path));
  TRY(sql_guard([&] {
    auto statements = std::make_unique<Statements>("dbname=\"" + path + "\" timeout=10");
    format = format_of(statements->session);
    if (format > kFormat) return;  // a newer version's file is left as it is
    std::string mode;
    statements->session << "PRAGMA journal_mode=WAL", soci::into(mode);
    statements->session
        << "PRAGMA synchronous=NORMAL";  // the journal keeps what a power cut would take from here
    statements->session
        << "PRAGMA wal_autocheckpoint=0";  // its failure would go unheard; make_durable() does it
    // What is missing of tables and indexes in a file of an earlier version.
    for (const char* statement : kSchema) statements->session << statement;
    // Before prepare(), whose statements name the columns.
    statements->add_digests();
    long long watermark = 0;
    statements->session << "SELECT value FROM meta WHERE name = 'watermark'", soci::into(watermark);
    statements->make_blocks(watermark);
    statements->prepare();
    store = std::make_unique<SqliteHistory>(path, std::move(statements),
                                            Seq(static_cast<std::uint64_t>(watermark)));
  }));
  if (store == nullptr) return fail(newer_format(format));
  return store;
}

Result<std::unique_ptr<HistoryStore>> open_sqlite_history_to_read(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0)
    return fail(ErrorCode::kNotFound, "there is no history in " + path);
  std::unique_ptr<HistoryStore> store;
  int format = 0;
  // Without WAL settings or schema: nothing is written, also where the controller has the file
  // open.
  TRY(sql_guard([&] {
    auto statements =
        std::make_unique<Statements>("dbname=\"" + path + "\" timeout=10 readonly=true");
    format = format_of(statements->session);
    if (format > kFormat) return;
    statements->look_for_digests();
    long long watermark = 0;
    statements->session << "SELECT value FROM meta WHERE name = 'watermark'", soci::into(watermark);
    store = std::make_unique<SqliteHistory>(path, std::move(statements),
                                            Seq(static_cast<std::uint64_t>(watermark)));
  }));
  if (store == nullptr) return fail(newer_format(format));
  return store;
}

}  // namespace muster
