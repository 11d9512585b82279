// An append writes one record into the log and is durable with that one sync. Lines get into chunks
// later, a bounded part with each append (seal_some), and the log is cut where nothing waits any
// more (trim_log). All that lies in memory follows from the file: after a refused write it is
// thrown away and read anew (needs_reload_).
#include "store/logs/log_store.h"

#include <algorithm>

#include "store/files/sql_file.h"
#include "store/logs/log_record.h"
#include "store/logs/store_state.h"

namespace muster {

using logs::LogTables;
using logs::OwnerLog;
using logs::StreamKey;

namespace {

constexpr std::size_t kFragmentBytesMax = std::size_t{16} << 20;
/// What one append compresses at least, when so much waits.
constexpr std::size_t kSliceBytesMin = std::size_t{1} << 20;
/// Owners that trim() looks at in one call.
constexpr int kTrimmedMax = 64;

/// Whether a fragment may change anything. What is all known changes nothing but for its end, which
/// is taken again at no harm.
bool is_known(const OwnerLog* log, const LogFragment& fragment) {
  if (log == nullptr || fragment.is_end) return false;
  // An end is taken even when all its bytes are known: the stream has to be closed.
  const std::uint64_t next =
      log->next_offset({fragment.run, fragment.rank, fragment.stream, fragment.source});
  return fragment.offset + fragment.bytes.size() <= next;
}

}  // namespace

// ---- what lies in memory ----

OwnerLog* SqliteLogStore::State::insert(std::unique_ptr<OwnerLog> log) {
  const LogOwner owner = log->row().owner;
  uses.push_front(owner);
  Entry& entry = owners[owner];
  entry.log = std::move(log);
  entry.use = uses.begin();
  return entry.log.get();
}

Result<OwnerLog*> SqliteLogStore::State::find(LogOwner owner) {
  if (const auto known = owners.find(owner); known != owners.end()) {
    // In the order of their last use, for trim().
    uses.splice(uses.begin(), uses, known->second.use);
    return known->second.log.get();
  }
  const std::optional<logs::OwnerRow> row = TRY(tables->find_owner(owner));
  if (!row) return nullptr;
  auto log = TRY(OwnerLog::load(*tables, *row));
  return insert(std::move(log));
}

Result<OwnerLog*> SqliteLogStore::State::find_or_add(LogOwner owner) {
  OwnerLog* known = TRY(find(owner));
  if (known != nullptr) return known;
  logs::OwnerRow row;
  row.owner = owner;
  row.number = TRY(tables->add_owner(owner));
  auto log = TRY(OwnerLog::load(*tables, row));
  return insert(std::move(log));
}

void SqliteLogStore::State::accept(OwnerLog& log, std::uint64_t record,
                                   const LogFragment& fragment) {
  const std::size_t before = log.open_bytes();
  log.accept(record, fragment);
  // Only the difference: the owner may have waited with more already.
  waiting_bytes += log.open_bytes() - before;
  waiting.emplace(log.waiting_since(), log.row().owner);
  // A full chunk is sealed before the log asks for it.
  if (log.open().text().size() >= logs::kChunkBytes)
    full.emplace(log.waiting_since(), log.row().owner);
}

Status SqliteLogStore::State::seal(OwnerLog& log) {
  waiting.erase({log.waiting_since(), log.row().owner});
  full.erase({log.waiting_since(), log.row().owner});
  waiting_bytes -= log.open_bytes();
  // The newest record has been accepted whole: this owner lacks nothing up to it.
  return log.seal(*tables, next_record - 1);
}

Status SqliteLogStore::State::trim_log() {
  // Before records go: their numbers must not be given again.
  TRY(tables->put_next_record(next_record));
  // The oldest record that somebody waits in; all before it can go.
  const std::uint64_t oldest = waiting.empty() ? next_record : waiting.begin()->first;
  if (!records.empty() && records.front().number < oldest) TRY(tables->trim_log(oldest));
  for (; !records.empty() && records.front().number < oldest; records.pop_front())
    log_bytes -= records.front().bytes;
  // A tombstone guards against records up to its own alone.
  if (has_tombstones)
    TRY(tables->drop_tombstones(records.empty() ? next_record : records.front().number));
  return {};
}

void SqliteLogStore::State::forget(LogOwner owner) {
  const auto known = owners.find(owner);
  if (known == owners.end()) return;
  const OwnerLog& log = *known->second.log;
  waiting.erase({log.waiting_since(), owner});
  full.erase({log.waiting_since(), owner});
  waiting_bytes -= log.open_bytes();
  uses.erase(known->second.use);
  owners.erase(known);
}

void SqliteLogStore::State::trim(std::size_t owners_max) {
  // A bounded look: with very many that wait nothing would be forgotten, and each call would pass
  // them all.
  for (int looked_at = 0; owners.size() > owners_max && looked_at < kTrimmedMax; ++looked_at) {
    const LogOwner oldest = uses.back();
    const Entry& entry = owners.at(oldest);
    if (entry.log->waiting_since() == 0) {
      forget(oldest);
    } else {
      // To the front: it is not looked at again at once.
      uses.splice(uses.begin(), uses, entry.use);
    }
  }
}

// ---- opening ----

SqliteLogStore::SqliteLogStore(SqliteLogOptions options) : options_(std::move(options)) {}
SqliteLogStore::~SqliteLogStore() = default;

Result<std::unique_ptr<LogStore>> open_sqlite_logs(const SqliteLogOptions& options) {
  auto store = std::make_unique<SqliteLogStore>(options);
  TRY(store->ready());
  return store;
}

Status SqliteLogStore::ready() {
  if (!needs_reload_) {
    // Nothing refers to owners between two calls.
    state_->trim(options_.cached_owners_max);
    return {};
  }
  state_ = nullptr;
  auto tables = TRY(LogTables::open(options_.path));
  state_ = std::make_unique<State>(std::move(tables));
  Status replayed = replay();
  // A damaged file is tried again with the next call, and refused again.
  if (!replayed.has_value()) state_ = nullptr;
  needs_reload_ = !replayed.has_value();
  return replayed;
}

Status SqliteLogStore::replay() {
  State& state = *state_;
  state.next_record = TRY(state.tables->next_record());
  std::map<LogOwner, std::uint64_t> deleted;
  const std::vector<logs::LogTombstone> tombstones = TRY(state.tables->tombstones());
  for (const logs::LogTombstone& one : tombstones) {
    deleted[one.owner] = one.last_record;
    // Numbers of records rise over tombstones, too.
    state.next_record = std::max(state.next_record, one.last_record + 1);
  }
  state.has_tombstones = !deleted.empty();
  return state.tables->each_log([&](std::uint64_t record, const std::string& bytes) -> Status {
    const std::vector<LogFragment> fragments = TRY(logs::decode_fragments(bytes));
    for (const LogFragment& fragment : fragments) {
      const auto grave = deleted.find(fragment.owner);
      // From before its deletion.
      if (grave != deleted.end() && record <= grave->second) continue;
      OwnerLog* log = TRY(state.find(fragment.owner));
      if (log == nullptr)
        return fail(ErrorCode::kCorruption, "output of a task belongs to no owner");
      // Older records brought it what is sealed already; other owners still need them.
      if (record > log->row().sealed_record) state.accept(*log, record, fragment);
    }
    state.records.push_back({record, bytes.size()});
    state.log_bytes += bytes.size();
    return {};
  });
}

// ---- writing ----

Result<std::vector<std::uint64_t>> SqliteLogStore::append(
    const std::vector<LogFragment>& fragments) {
  // Checked before anything is touched.
  for (const LogFragment& fragment : fragments) {
    if (fragment.bytes.size() > kFragmentBytesMax) {
      return fail(ErrorCode::kInvalidArgument, "a piece of output is too long",
                  "at most 16 MiB at once");
    }
  }
  TRY(ready());
  needs_reload_ = true;  // whatever is refused from here on may have left half of itself in memory
  State& state = *state_;
  SqlTransaction transaction(state.tables->session());
  TRY(transaction.begin());
  // All fragments of the call are in one record.
  const std::uint64_t record = state.next_record;
  std::vector<const LogFragment*> taken;
  std::vector<std::uint64_t> offsets;
  std::size_t bytes = 0;
  for (const LogFragment& fragment : fragments) {
    // Unknown owners are made with their first new byte, not for a repeat.
    OwnerLog* log = TRY(state.find(fragment.owner));
    if (!is_known(log, fragment)) {
      log = TRY(state.find_or_add(fragment.owner));
      state.accept(*log, record, fragment);
      taken.push_back(&fragment);
      bytes += fragment.bytes.size();
    }
    // Also for what was known: the sender may lag behind.
    offsets.push_back(
        log->next_offset({fragment.run, fragment.rank, fragment.stream, fragment.source}));
  }
  // Nothing new: no record, no sync.
  if (!taken.empty()) {
    const std::string encoded = logs::encode_fragments(taken);
    TRY(state.tables->add_log(record, encoded));
    ++state.next_record;
    state.records.push_back({record, encoded.size()});
    state.log_bytes += encoded.size();
    // At least twice of what came in: what waits shrinks even when nothing but appends comes.
    TRY(seal_some(std::max(kSliceBytesMin, 2 * bytes)));
    TRY(transaction.commit());
  }
  needs_reload_ = false;
  return offsets;
}

/// Full owners first; beyond the bounds those that have waited longest, since they hold back the
/// log.
Status SqliteLogStore::seal_some(std::size_t bytes_least) {
  State& state = *state_;
  const auto is_over = [&] {
    return state.waiting_bytes > options_.open_bytes_max ||
           state.log_bytes > options_.log_bytes_max;
  };
  std::size_t sealed = 0;
  while (sealed < bytes_least && (!state.full.empty() || (!state.waiting.empty() && is_over()))) {
    const LogOwner owner = (state.full.empty() ? state.waiting : state.full).begin()->second;
    OwnerLog& log = *state.owners.at(owner).log;
    const bool was_oldest = state.waiting.begin()->second == owner;
    sealed += log.open_bytes();
    TRY(state.seal(log));
    // Only the oldest one's seal can free records.
    if (was_oldest) TRY(state.trim_log());
  }
  // In the same transaction as what was sealed.
  if (sealed > 0) TRY(state.tables->put_next_record(state.next_record));
  return {};
}

Status SqliteLogStore::delete_owner(LogOwner owner) {
  TRY(ready());
  State& state = *state_;
  const OwnerLog* log = TRY(state.find(owner));
  if (log == nullptr) return {};
  needs_reload_ = true;
  // Up to the last record that exists: what it says of this owner is void.
  TRY(state.tables->bury(log->row().number, owner, state.next_record - 1));
  needs_reload_ = false;
  state.has_tombstones = true;
  // After the transaction: refused, it would still be there.
  state.forget(owner);
  return {};
}

Result<bool> SqliteLogStore::delete_before(TimePoint time, std::uint32_t chunks_max) {
  TRY(ready());
  needs_reload_ = true;
  State& state = *state_;
  SqlTransaction transaction(state.tables->session());
  TRY(transaction.begin());
  std::vector<LogOwner> idle;  // what they wrote last is old and was never enough for a chunk
  for (const auto& [since, owner] : state.waiting) {
    if (idle.size() < chunks_max &&
        state.owners.at(owner).log->last_time_us() < time.microseconds())
      idle.push_back(owner);
  }
  for (const LogOwner& owner : idle) TRY(state.seal(*state.owners.at(owner).log));
  if (!idle.empty()) TRY(state.trim_log());
  const auto chunks = TRY(state.tables->chunks_before(time, chunks_max));
  // The directory is by time; what lies in no chunk was sealed above.
  for (const auto& [number, chunk] : chunks) {
    TRY(state.tables->drop_chunk(number, chunk));
    // Few owners lie in memory.
    for (auto& [owner, entry] : state.owners) {
      if (entry.log->row().number == number) entry.log->forget_chunk(chunk);
    }
  }
  TRY(transaction.commit());
  needs_reload_ = false;
  // Fewer than the bound of either kind: nothing is left.
  return chunks.size() < chunks_max && idle.size() < chunks_max;
}

Result<bool> SqliteLogStore::sweep(std::uint32_t chunks_max) {
  TRY(ready());
  return state_->tables->sweep(chunks_max);
}

Result<bool> SqliteLogStore::compact(std::size_t bytes) {
  TRY(ready());
  needs_reload_ = true;
  State& state = *state_;
  SqlTransaction transaction(state.tables->session());
  TRY(transaction.begin());
  for (std::size_t sealed = 0; sealed < bytes && !state.waiting.empty();) {
    OwnerLog& log = *state.owners.at(state.waiting.begin()->second).log;
    // At least one each round, so that it ends.
    sealed += log.open_bytes() + 1;
    TRY(state.seal(log));
  }
  TRY(state.trim_log());
  TRY(transaction.commit());
  needs_reload_ = false;
  return state.waiting.empty();
}

std::size_t SqliteLogStore::waiting_bytes() const {
  return state_ == nullptr ? 0 : state_->waiting_bytes;
}

}  // namespace muster
