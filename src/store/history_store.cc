#include "store/history_store.h"

#include <fmt/format.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>
#include <unistd.h>

#include <optional>

#include "records/page_codec.h"
#include "env/sql_guard.h"

namespace muster {
namespace {

constexpr const char* kSchema[] = {
    "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS jobs (job INTEGER, attempt INTEGER, array_job INTEGER, uid INTEGER, name TEXT, "
    "start_time INTEGER, submit_time INTEGER, end_time INTEGER, record BLOB NOT NULL, PRIMARY KEY (job, attempt))",
    "CREATE TABLE IF NOT EXISTS steps (job INTEGER, attempt INTEGER, step INTEGER, record BLOB NOT NULL, "
    "PRIMARY KEY (job, attempt, step))",
    "CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs (end_time)",
    "CREATE INDEX IF NOT EXISTS jobs_by_array ON jobs (array_job)",
    "CREATE INDEX IF NOT EXISTS jobs_by_user ON jobs (uid, end_time)",
    "CREATE INDEX IF NOT EXISTS jobs_by_name ON jobs (name, end_time)",
    "INSERT OR IGNORE INTO meta VALUES ('format', 1)",
    "INSERT OR IGNORE INTO meta VALUES ('watermark', 0)",
};

/// The condition of a query as SQL over `jobs`. Names are bound as text, quoted by doubling.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string condition(const Query& query) {
  std::string where = "1";
  if (!query.filter.jobs.empty()) {
    std::string ids;
    for (const JobSelector& selector : query.filter.jobs) ids += (ids.empty() ? "" : ",") + std::to_string(selector.job.value());
    where += fmt::format(" AND (job IN ({0}) OR array_job IN ({0}))", ids);
  }
  if (query.since.is_set()) where += fmt::format(" AND end_time >= {}", query.since.microseconds());
  if (query.until.is_set() && !query.until.is_never()) where += fmt::format(" AND submit_time <= {}", query.until.microseconds());
  if (!query.filter.uids.empty()) where += fmt::format(" AND uid IN ({})", fmt::join(query.filter.uids, ","));
  if (!query.filter.names.empty()) {
    std::string names;
    for (const std::string& name : query.filter.names) names += (names.empty() ? "" : ",") + quoted(name);
    where += fmt::format(" AND name IN ({})", names);
  }
  return where;
}

}  // namespace

struct HistoryStore::Statements {
  explicit Statements(const std::string& connect) : session(soci::sqlite3, connect), bytes(session) {}
  void prepare() {
    insert_job.emplace((session.prepare << "INSERT OR REPLACE INTO jobs VALUES (:j, :a, :aj, :u, :n, :st, :su, :e, :r)",
                        soci::use(job), soci::use(attempt), soci::use(array_job), soci::use(uid), soci::use(name),
                        soci::use(start_time), soci::use(submit_time), soci::use(end_time), soci::use(bytes)));
    insert_step.emplace((session.prepare << "INSERT OR REPLACE INTO steps VALUES (:j, :a, :s, :r)", soci::use(job),
                         soci::use(attempt), soci::use(step), soci::use(bytes)));
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
    put_bytes(bytes, records::encode_job(view));
    insert_job->execute(true);
  }
  void put(const StepView& view) {
    job = view.id.job.value();
    attempt = view.id.attempt;
    step = view.id.step;
    put_bytes(bytes, records::encode_step(view));
    insert_step->execute(true);
  }

  soci::session session;
  soci::blob bytes;
  long long job = 0, attempt = 0, array_job = 0, uid = 0, step = 0, start_time = 0, submit_time = 0, end_time = 0;
  std::string name;
  std::optional<soci::statement> insert_job;
  std::optional<soci::statement> insert_step;
};

HistoryStore::HistoryStore(std::unique_ptr<Statements> statements) : sql_(std::move(statements)) {}
HistoryStore::~HistoryStore() = default;

Result<std::unique_ptr<HistoryStore>> HistoryStore::open(const std::string& path) {
  std::unique_ptr<HistoryStore> store;
  TRY(sql_guard([&] {
    auto statements = std::make_unique<Statements>("dbname=\"" + path + "\" timeout=10");
    std::string mode;
    statements->session << "PRAGMA journal_mode=WAL", soci::into(mode);
    statements->session << "PRAGMA synchronous=NORMAL";  // the journal keeps what a power cut would take from here
    for (const char* statement : kSchema) statements->session << statement;
    long long watermark = 0;
    statements->session << "SELECT value FROM meta WHERE name = 'watermark'", soci::into(watermark);
    statements->prepare();
    store.reset(new HistoryStore(std::move(statements)));
    store->watermark_ = Seq(static_cast<std::uint64_t>(watermark));
  }));
  return store;
}

Result<std::unique_ptr<HistoryStore>> HistoryStore::open_to_read(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return fail(ErrorCode::kNotFound, "there is no history in " + path);
  std::unique_ptr<HistoryStore> store;
  TRY(sql_guard([&] {
    auto statements = std::make_unique<Statements>("dbname=\"" + path + "\" timeout=10 readonly=true");
    long long watermark = 0;
    statements->session << "SELECT value FROM meta WHERE name = 'watermark'", soci::into(watermark);
    store.reset(new HistoryStore(std::move(statements)));
    store->watermark_ = Seq(static_cast<std::uint64_t>(watermark));
  }));
  return store;
}

Result<bool> HistoryStore::has(JobId job, std::uint32_t attempt) {
  long long count = 0;
  TRY(sql_guard([&] {
    const long long id = job.value();
    const long long number = attempt;
    sql_->session << "SELECT COUNT(*) FROM jobs WHERE job = :j AND attempt = :a", soci::use(id), soci::use(number), soci::into(count);
  }));
  return count != 0;
}

Result<bool> HistoryStore::has(const StepId& step) {
  long long count = 0;
  TRY(sql_guard([&] {
    const long long id = step.job.value();
    const long long attempt = step.attempt;
    const long long number = step.step;
    sql_->session << "SELECT COUNT(*) FROM steps WHERE job = :j AND attempt = :a AND step = :s", soci::use(id), soci::use(attempt),
        soci::use(number), soci::into(count);
  }));
  return count != 0;
}

Status HistoryStore::append(const std::vector<HistoryObject>& objects, Seq watermark) {
  TRY(sql_guard([&] {
    soci::transaction transaction(sql_->session);
    for (const HistoryObject& object : objects) {
      std::visit([&](const auto& view) { sql_->put(view); }, object);
    }
    const long long seq = static_cast<long long>(watermark.value());
    sql_->session << "UPDATE meta SET value = :w WHERE name = 'watermark'", soci::use(seq);
    transaction.commit();
  }));
  watermark_ = watermark;
  return {};
}

Status HistoryStore::make_durable() {
  long long busy = 0;
  TRY(sql_guard([&] {
    // With synchronous=NORMAL a WAL is synced when it is copied into the database file, and only then.
    long long pages = 0;
    long long copied = 0;
    sql_->session << "PRAGMA wal_checkpoint(FULL)", soci::into(busy), soci::into(pages), soci::into(copied);
    busy = busy != 0 || pages != copied ? 1 : 0;
  }));
  if (busy != 0) return fail(ErrorCode::kUnavailable, "history is being read");
  return {};
}

Status HistoryStore::select(const Query& query, const std::function<void(JobView, std::vector<StepView>)>& visit) {
  std::vector<std::string> rows;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    soci::statement select = (sql_->session.prepare << "SELECT record FROM jobs WHERE " + condition(query) +
                              " ORDER BY job, attempt", soci::into(record));
    select.execute();
    while (select.fetch()) rows.push_back(take_bytes(record));
  }));
  for (const std::string& row : rows) {
    JobView job = TRY(records::decode_job(row));
    std::vector<StepView> steps;
    if (query.is_steps) steps = TRY(steps_of(job.id, job.attempt));
    visit(std::move(job), std::move(steps));
  }
  return {};
}

Result<std::vector<StepView>> HistoryStore::steps_of(JobId job, std::uint32_t attempt) {
  std::vector<std::string> rows;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    const long long id = job.value();
    const long long number = attempt;
    soci::statement select = (sql_->session.prepare << "SELECT record FROM steps WHERE job = :j AND attempt = :a "
                              "ORDER BY step", soci::use(id), soci::use(number), soci::into(record));
    select.execute();
    while (select.fetch()) rows.push_back(take_bytes(record));
  }));
  std::vector<StepView> steps;
  for (const std::string& row : rows) steps.push_back(TRY(records::decode_step(row)));
  return steps;
}

Result<std::optional<JobView>> HistoryStore::find(JobId job) {
  std::string row;
  bool is_found = false;
  TRY(sql_guard([&] {
    soci::blob record(sql_->session);
    const long long id = job.value();
    sql_->session << "SELECT record FROM jobs WHERE job = :j ORDER BY attempt DESC LIMIT 1", soci::use(id), soci::into(record);
    is_found = sql_->session.got_data();
    if (is_found) row = take_bytes(record);
  }));
  if (!is_found) return std::optional<JobView>();
  return std::optional<JobView>(TRY(records::decode_job(row)));
}

}  // namespace muster
