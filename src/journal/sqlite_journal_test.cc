#include "journal/sqlite_journal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "journal/testing.h"
#include "records/batch_codec.h"

namespace muster {
namespace {

using testing::Fault;
using testing::FaultyDisk;

constexpr const char* kPath = "journal.db";

std::unique_ptr<Journal> opened() {
  auto journal = open_sqlite_journal({kPath});
  EXPECT_TRUE(journal.has_value()) << journal.error().text();
  return journal.has_value() ? std::move(journal).value() : nullptr;
}

std::string random_bytes(Rng& rng, std::size_t size_max) {
  std::string bytes(1 + rng.below(size_max), '\0');
  for (char& c : bytes) c = static_cast<char>(rng.below(256));
  return bytes;
}

EventBatchRef batch_of(Seq seq, const std::string& text) {
  auto batch = std::make_shared<EventBatch>();
  batch->seq = seq;
  NodeChanged change;
  change.comment = text;
  batch->events.push_back(
      Event{TimePoint::from_seconds(static_cast<std::int64_t>(seq.value())), change});
  return batch;
}

std::string slice_of(const std::string& text) {
  records::SliceToWrite slice;
  slice.blobs.push_back({BlobId(1), text, 0, 1});
  return records::encode_slice(slice);
}

Status write_checkpoint(Journal& journal, Seq seq, const std::vector<std::string>& slices) {
  TRY(journal.begin_checkpoint());
  for (const std::string& slice : slices) TRY(journal.add_slice(slice_of(slice)));
  return journal.finish_checkpoint({seq, 0, 0});
}

struct Checkpoint {
  Seq seq;
  std::vector<std::string> slices;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

Checkpoint stored_checkpoint(Journal& journal) {
  Checkpoint found;
  const auto seq = journal.read_checkpoint([&](records::Slice slice) {
    found.slices.push_back(slice.blobs.at(0).digest);
    return Status();
  });
  EXPECT_TRUE(seq.has_value()) << seq.error().text();
  if (seq.has_value()) found.seq = seq->seq;
  return found;
}

/// Every stored batch above `after`, as bytes.
std::vector<std::string> stored_batches(Journal& journal, Seq after) {
  std::vector<std::string> found;
  const Status replayed = journal.follow(after, [&](const EventBatch& batch) {
    found.push_back(records::encode_batch(batch));
    return Status();
  });
  EXPECT_TRUE(replayed.has_value()) << replayed.error().text();
  return found;
}

// ---- single cases ----

/// Past the journal's own code: SQLite's result.
int execute(const char* sql) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(kPath, &raw);
  const int done = opened == SQLITE_OK ? sqlite3_exec(raw, sql, nullptr, nullptr, nullptr) : opened;
  sqlite3_close(raw);
  return done;
}

TEST(SqliteJournal, KeepsBatchesBlobsAndCheckpointsOverAReopening) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  auto first = std::make_shared<EventBatch>(*batch_of(Seq(1), "one"));
  first->blobs.push_back(
      BlobWrite{BlobId(4), "d", 4, std::make_shared<const std::string>("ab\0c", 4)});
  ASSERT_TRUE(journal->append({first, batch_of(Seq(2), "two")}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(1), {"x", "y"}).has_value());
  journal = nullptr;
  journal = opened();
  EXPECT_EQ(journal->last(), Seq(2));
  EXPECT_EQ(stored_batches(*journal, Seq(0)),
            (std::vector{records::encode_batch(*first),
                         records::encode_batch(*batch_of(Seq(2), "two"))}));
  EXPECT_EQ(journal->read_blob(BlobId(4)).value(), std::string("ab\0c", 4));
  EXPECT_EQ(journal->read_blob(BlobId(5)).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(stored_checkpoint(*journal), (Checkpoint{Seq(1), {"x", "y"}}));
}

TEST(SqliteJournal, ABlobGoesWithTheBatchThatNamesItLast) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  auto first = std::make_shared<EventBatch>(*batch_of(Seq(1), ""));
  first->blobs.push_back(BlobWrite{BlobId(1), "d", 1, std::make_shared<const std::string>("s")});
  auto second = std::make_shared<EventBatch>(*batch_of(Seq(2), ""));
  second->dead_blobs = {BlobId(1)};
  ASSERT_TRUE(journal->append({first}).has_value());
  ASSERT_TRUE(journal->append({second}).has_value());
  EXPECT_EQ(journal->read_blob(BlobId(1)).error().code, ErrorCode::kNotFound);
}

TEST(SqliteJournal, ADamagedBlobIsNotHandedOut) {
  FaultyDisk disk(1);
  {
    auto journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    auto first = std::make_shared<EventBatch>(*batch_of(Seq(1), ""));
    for (const std::uint64_t id : {1, 2, 3})
      first->blobs.push_back(
          BlobWrite{BlobId(id), "d", 1, std::make_shared<const std::string>("rm -r dir-A")});
    ASSERT_TRUE(journal->append({first}).has_value());
    EXPECT_TRUE(journal->damaged_blobs().value().empty());
  }
  ASSERT_EQ(execute("UPDATE blobs SET bytes = 'rm -r dir-C' WHERE id = 2"), SQLITE_OK);
  auto journal = opened();
  EXPECT_EQ(journal->read_blob(BlobId(1)).value(), "rm -r dir-A");
  EXPECT_EQ(journal->read_blob(BlobId(2)).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(journal->damaged_blobs().value(), std::vector{BlobId(2)});
  EXPECT_TRUE(journal->recorded_damaged().value().empty());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(journal->record_damaged(BlobId(2)).has_value());
  journal = opened();
  EXPECT_EQ(journal->recorded_damaged().value(), std::vector{BlobId(2)});
}

TEST(SqliteJournal, TruncatesUpToTheCheckpointInPieces) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  for (std::uint64_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(journal->append({batch_of(Seq(i), "b")}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(6), {"x"}).has_value());
  EXPECT_FALSE(journal->truncate(Seq(9), 4).value());
  EXPECT_FALSE(journal->truncate(Seq(9), 4).value());
  EXPECT_TRUE(journal->truncate(Seq(9), 4).value());
  EXPECT_EQ(stored_batches(*journal, Seq(6)).size(), 4U);
  const Status gap = journal->follow(Seq(0), [](const EventBatch&) { return Status(); });
  EXPECT_EQ(gap.error().message, "journal has a gap");
}

TEST(SqliteJournal, AFencedControllerStoresNothingMore) {
  FaultyDisk disk(1);
  auto old_leader = opened();
  ASSERT_TRUE(old_leader->acquire_leadership().has_value());
  ASSERT_TRUE(old_leader->append({batch_of(Seq(1), "mine")}).has_value());
  auto new_leader = opened();
  EXPECT_GT(new_leader->acquire_leadership().value(), Epoch(1));
  EXPECT_EQ(old_leader->append({batch_of(Seq(2), "late")}).error().code, ErrorCode::kConflict);
  EXPECT_TRUE(new_leader->append({batch_of(Seq(2), "theirs")}).has_value());
  EXPECT_EQ(stored_batches(*new_leader, Seq(1)),
            std::vector{records::encode_batch(*batch_of(Seq(2), "theirs"))});
}

TEST(SqliteJournal, AnUnfinishedCheckpointLeavesThePreviousOne) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(journal->append({batch_of(Seq(1), "a"), batch_of(Seq(2), "b")}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(1), {"x", "y"}).has_value());
  ASSERT_TRUE(journal->begin_checkpoint().has_value());
  ASSERT_TRUE(journal->add_slice(slice_of("torn")).has_value());
  ASSERT_TRUE(journal->truncate(Seq(2), 100).has_value());
  disk.arm(Fault::kPowerLoss, 1);
  EXPECT_EQ(journal->finish_checkpoint({Seq(2), 0, 0}).error().code, ErrorCode::kUnavailable);
  journal = nullptr;
  disk.lose_power();
  journal = opened();
  EXPECT_EQ(stored_checkpoint(*journal), (Checkpoint{Seq(1), {"x", "y"}}));
  EXPECT_EQ(stored_batches(*journal, Seq(1)).size(), 1U);
  ASSERT_TRUE(write_checkpoint(*journal, Seq(2), {"z"}).has_value());
  EXPECT_EQ(stored_checkpoint(*journal), (Checkpoint{Seq(2), {"z"}}));
}

/// The kernel shows a log of which the disk has lost a part, and syncs what is appended to it
/// without a word.
TEST(SqliteJournal, WhatASyncDidNotKeepIsWrittenAnewByTheNextRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    FaultyDisk disk(seed);
    auto journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    ASSERT_TRUE(journal->append({batch_of(Seq(1), "a")}).has_value());
    disk.arm(Fault::kSyncError, 1);
    ASSERT_FALSE(journal->append({batch_of(Seq(2), "b")}).has_value());
    disk.kill_process();
    journal = nullptr;
    disk.start_process();
    journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    const Seq next(journal->last().value() + 1);
    ASSERT_TRUE(journal->append({batch_of(next, "c")}).has_value());
    disk.kill_process();
    journal = nullptr;
    disk.lose_power();
    journal = opened();
    ASSERT_EQ(journal->last(), next) << "what was acknowledged is gone";
    EXPECT_EQ(stored_batches(*journal, Seq(0)).size(), next.value());
  }
}

TEST(SqliteJournal, RefusesWorkOnAFullDiskAndGoesOnWhenThereIsRoom) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(journal->append({batch_of(Seq(1), "before")}).has_value());
  disk.arm(Fault::kFull, 1, true);
  for (int i = 0; i < 3; ++i) {
    const Status refused = journal->append({batch_of(Seq(2), "no room")});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(refused.error().text().find("full"), std::string::npos) << refused.error().text();
    EXPECT_EQ(journal->last(), Seq(1));
  }
  disk.heal();
  ASSERT_TRUE(journal->append({batch_of(Seq(2), "room")}).has_value());
  EXPECT_EQ(stored_batches(*journal, Seq(1)),
            std::vector{records::encode_batch(*batch_of(Seq(2), "room"))});
}

/// On a real disk: the pretended one has no need to keep files small.
TEST(SqliteJournal, ItsLogShrinksAgain) {
  char folder[] = "/tmp/muster-journal-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/journal.db";
  std::function<Status()> tidy_beside;
  {
    auto journal = open_sqlite_journal({path});
    ASSERT_TRUE(journal.has_value()) << journal.error().text();
    ASSERT_TRUE((*journal)->acquire_leadership().has_value());
    const auto append = [&](std::uint64_t seq, std::size_t size) {
      const Status stored =
          (*journal)->append({batch_of(Seq(seq), std::string(size, 'x'))}, JournalClock());
      ASSERT_TRUE(stored.has_value()) << stored.error().text();
    };
    const auto log_size = [&] { return std::filesystem::file_size(path + "-wal"); };
    for (std::uint64_t seq = 1; seq <= 5; ++seq) append(seq, std::size_t{8} << 20);
    ASSERT_GT(log_size(), std::size_t{40} << 20);
    ASSERT_TRUE((*journal)->tidy().has_value());
    append(6, 10);
    EXPECT_LE(log_size(), std::size_t{16} << 20);
    // Most of it can be moved beside an open one; what was appended meanwhile is left for it.
    for (std::uint64_t seq = 7; seq <= 11; ++seq) append(seq, std::size_t{8} << 20);
    const auto file_size = std::filesystem::file_size(path);
    tidy_beside = (*journal)->tidy_beside();
    ASSERT_TRUE(tidy_beside().has_value());
    EXPECT_GT(std::filesystem::file_size(path), file_size + (std::size_t{30} << 20));
    append(12, 10);
    ASSERT_TRUE((*journal)->tidy().has_value());
    append(13, 10);
    EXPECT_LE(log_size(), std::size_t{16} << 20);
    std::size_t count = 0;
    ASSERT_TRUE((*journal)
                    ->follow(Seq(),
                             [&](const EventBatch&) {
                               ++count;
                               return Status();
                             })
                    .has_value());
    EXPECT_EQ(count, 13U);
  }
  std::filesystem::remove_all(folder);
  EXPECT_FALSE(tidy_beside().has_value());
}

TEST(SqliteJournal, NamesANewerFormatAndStops) {
  FaultyDisk disk(1);
  opened() = nullptr;
  const char* change = "UPDATE meta SET value = 4 WHERE name = 'format'; DROP TABLE slices";
  ASSERT_EQ(execute(change), SQLITE_OK);
  const auto newer = open_sqlite_journal({kPath});
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(newer.error().message, "journal has format 4");
  EXPECT_NE(newer.error().detail.find("reads up to 3"), std::string::npos) << newer.error().detail;
  // A version that does not understand the file has not touched it.
  EXPECT_NE(execute("SELECT * FROM slices"), SQLITE_OK);
}

TEST(SqliteJournal, AFileOfFormat1IsBroughtToThisOne) {
  FaultyDisk disk(1);
  const char* old =
      "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL);"
      "CREATE TABLE batches (seq INTEGER PRIMARY KEY, record BLOB NOT NULL);"
      "CREATE TABLE blobs (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);"
      "CREATE TABLE slices (generation INTEGER, position INTEGER, record BLOB NOT NULL, PRIMARY "
      "KEY (generation, position));"
      "CREATE TABLE checkpoints (generation INTEGER PRIMARY KEY, seq INTEGER NOT NULL, slices "
      "INTEGER NOT NULL);"
      "INSERT INTO blobs VALUES (3, 'script');"
      "INSERT INTO meta VALUES ('format', 1), ('epoch', 7), ('probe', 0);";
  ASSERT_EQ(execute(old), SQLITE_OK);
  EXPECT_FALSE(open_sqlite_journal({kPath, true}).has_value()) << "a reader changes nothing";
  auto journal = opened();
  EXPECT_EQ(journal->acquire_leadership().value(), Epoch(8));
  EXPECT_FALSE(journal->clock().value().has_value());
  ASSERT_TRUE(
      journal
          ->append({batch_of(Seq(1), "b")}, {5, Duration::seconds(9), TimePoint::from_seconds(1)})
          .has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(1), {"x"}).has_value());
  journal = opened();
  EXPECT_EQ(stored_batches(*journal, Seq(0)).size(), 1U);
  EXPECT_EQ(stored_checkpoint(*journal), (Checkpoint{Seq(1), {"x"}}));
  EXPECT_EQ(journal->read_blob(BlobId(3)).value(), "script") << "it has no digest";
  const auto clock = journal->clock().value();
  ASSERT_TRUE(clock.has_value());
  EXPECT_EQ(clock->boot, 5U);
  EXPECT_EQ(clock->steady, Duration::seconds(9));
  EXPECT_EQ(clock->event_time, TimePoint::from_seconds(1));
}

TEST(SqliteJournal, AFileOfFormat2IsBroughtToThisOne) {
  FaultyDisk disk(1);
  opened() = nullptr;
  const char* old =
      "ALTER TABLE blobs DROP COLUMN digest; UPDATE meta SET value = 2 WHERE name = 'format'; "
      "INSERT INTO blobs VALUES (3, 'script')";
  ASSERT_EQ(execute(old), SQLITE_OK);
  EXPECT_EQ(opened()->read_blob(BlobId(3)).value(), "script");
  EXPECT_EQ(opened()->read_blob(BlobId(3)).value(), "script") << "once is enough";
}

TEST(SqliteJournal, TheLeadIsTakenBeyondWhatANodeHasMet) {
  FaultyDisk disk(1);
  auto journal = opened();
  EXPECT_EQ(journal->acquire_leadership(Epoch(50)).value(), Epoch(51));
  EXPECT_EQ(journal->acquire_leadership(Epoch(3)).value(), Epoch(52));
}

TEST(SqliteJournal, AReaderBesideItDisturbsNobody) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(journal->append({batch_of(Seq(1), "a")}).has_value());
  auto reader = open_sqlite_journal({kPath, true});
  ASSERT_TRUE(reader.has_value()) << reader.error().text();
  std::size_t seen = 0;
  const Status read = (*reader)->follow(Seq(0), [&](const EventBatch& batch) {
    ++seen;
    // While the reader is in the middle of its reading.
    return journal->append({batch_of(Seq(batch.seq.value() + 1), "b")});
  });
  EXPECT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(seen, 1U) << "a reader sees what was there when it began";
  EXPECT_EQ(journal->last(), Seq(2));
}

TEST(SqliteJournal, AReaderSeesOneStateWhateverIsTruncatedMeanwhile) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  for (std::uint64_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(journal->append({batch_of(Seq(i), "b")}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(4), {"old"}).has_value());
  auto reader = open_sqlite_journal({kPath, true});
  ASSERT_TRUE(reader.has_value()) << reader.error().text();
  EXPECT_EQ(stored_checkpoint(**reader), (Checkpoint{Seq(4), {"old"}}));
  ASSERT_TRUE(write_checkpoint(*journal, Seq(8), {"new"}).has_value());
  while (!journal->truncate(Seq(10), 3).value()) {
  }
  EXPECT_EQ(stored_batches(**reader, Seq(4)).size(), 6U)
      << "every batch after the checkpoint that it began with";
}

TEST(SqliteJournal, AnOlderCheckpointStaysUntilHistoryHasPassedTheNewer) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  for (std::uint64_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(journal->append({batch_of(Seq(i), "b")}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(4), {"old"}).has_value());
  ASSERT_TRUE(write_checkpoint(*journal, Seq(8), {"new"}).has_value());
  while (!journal->truncate(Seq(6), 3).value()) {
  }
  const auto nothing = [](records::Slice) { return Status(); };
  EXPECT_EQ(journal->read_checkpoint(nothing, Seq(6))->seq, Seq(4));
  EXPECT_EQ(journal->read_checkpoint(nothing)->seq, Seq(8));
  EXPECT_EQ(stored_batches(*journal, Seq(4)).size(), 6U);
  while (!journal->truncate(Seq(8), 3).value()) {
  }
  EXPECT_EQ(stored_batches(*journal, Seq(8)).size(), 2U);
  EXPECT_EQ(journal->read_checkpoint(nothing, Seq(6))->seq, Seq(8)) << "the oldest that is left";
}

TEST(SqliteJournal, DamageIsCorruptionAndNothingElse) {
  FaultyDisk disk(1);
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(journal->append({batch_of(Seq(1), std::string(20'000, 'x'))}).has_value());
  journal = nullptr;
  disk.rot(kPath, 0, std::string(100, '\xee'));
  const auto damaged = open_sqlite_journal({kPath});
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorruption);
}

// ---- a property: what was acknowledged is there ----

/// Drives a journal over a disk that fails at random, and knows what it must hold.
class Story {
 public:
  explicit Story(std::uint64_t seed) : rng_(seed), disk_(seed ^ 0xd15c) {}

  void run() {
    for (int session = 0; session < 6; ++session) {
      maybe_arm();
      if (open()) {
        disk_.heal();
        ASSERT_NO_FATAL_FAILURE(check());
        maybe_arm();
        if (lead()) work();
      }
      journal_ = nullptr;
      disk_.heal();
      if (disk_.is_gone() || rng_.chance(0.3)) disk_.lose_power();
    }
    disk_.heal();
    ASSERT_TRUE(open());
    ASSERT_NO_FATAL_FAILURE(check());
  }
  std::uint64_t acknowledged() const { return acknowledged_; }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t ended_late() const { return ended_late_; }

 private:
  void maybe_arm() {
    if (!rng_.chance(0.7)) return;
    constexpr Fault kFaults[] = {Fault::kWriteError, Fault::kFull, Fault::kSyncError,
                                 Fault::kAnyError, Fault::kPowerLoss};
    disk_.arm(kFaults[rng_.below(5)], 1 + rng_.below(rng_.chance(0.5) ? 10 : 60), rng_.chance(0.3));
  }
  /// A refusal is a refusal: never damage, and never without a fault that struck.
  bool is_done(const Status& status) {
    if (status.has_value()) {
      EXPECT_FALSE(disk_.is_gone()) << "acknowledged after the power was gone";
      return true;
    }
    ++refused_;
    EXPECT_TRUE(disk_.has_struck()) << status.error().text();
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable) << status.error().text();
    return false;
  }
  bool open() {
    auto opened = open_sqlite_journal({kPath});
    if (!opened.has_value()) return is_done(fail(opened.error()));
    journal_ = std::move(opened).value();
    return is_done({});
  }
  bool lead() {
    const auto epoch = journal_->acquire_leadership();
    if (!is_done(epoch.has_value() ? Status() : Status(fail(epoch.error())))) return false;
    EXPECT_GT(*epoch, epoch_);
    epoch_ = *epoch;
    return true;
  }
  void work() {
    for (std::uint64_t steps = 1 + rng_.below(14); steps > 0 && !disk_.is_gone(); --steps) {
      switch (rng_.below(7)) {
        case 0: checkpoint(); break;
        case 1: truncate(); break;
        case 2: static_cast<void>(is_done(journal_->tidy())); break;
        default: append(); break;
      }
      if (uncertain_.has_value() && rng_.chance(0.5))
        return;  // as the controller does: start again
      if (rng_.chance(0.2)) maybe_arm();
    }
  }

  void append() {
    std::vector<EventBatchRef> group;
    std::map<std::uint64_t, std::optional<std::string>> blobs;
    const std::size_t known = batches_.size() + 1;
    for (std::uint64_t i = 0, count = 1 + rng_.below(4); i < count; ++i) {
      auto batch = std::make_shared<EventBatch>(
          *batch_of(Seq(known + i), random_bytes(rng_, rng_.chance(0.1) ? 30'000 : 300)));
      if (rng_.chance(0.5)) {
        const std::uint64_t id = known * 10 + i;
        const auto bytes = std::make_shared<const std::string>(random_bytes(rng_, 2'000));
        batch->blobs.push_back(BlobWrite{BlobId(id), "d", bytes->size(), bytes});
        blobs[id] = *bytes;
      }
      if (!blobs_.empty() && i == 0 && rng_.chance(0.3)) {
        batch->dead_blobs.push_back(BlobId(blobs_.begin()->first));
        blobs[blobs_.begin()->first] = std::nullopt;
      }
      group.push_back(std::move(batch));
    }
    const bool is_stored = is_done(journal_->append(group));
    std::vector<std::string> bytes;
    for (const EventBatchRef& batch : group) bytes.push_back(records::encode_batch(*batch));
    if (is_stored) {
      ++acknowledged_;
      apply(bytes, blobs);
      uncertain_.reset();
    } else {
      uncertain_ = {std::move(bytes), std::move(blobs)};
    }
    EXPECT_EQ(journal_->last(), Seq(batches_.size()));
  }
  void apply(const std::vector<std::string>& bytes,
             const std::map<std::uint64_t, std::optional<std::string>>& blobs) {
    batches_.insert(batches_.end(), bytes.begin(), bytes.end());
    for (const auto& [id, content] : blobs) {
      if (content) blobs_[id] = *content;
      if (!content) blobs_.erase(id);
    }
  }
  void checkpoint() {
    if (batches_.empty() || uncertain_) return;
    Checkpoint made{
        Seq(checkpoint_.seq.value() + rng_.below(batches_.size() - checkpoint_.seq.value() + 1)),
        {}};
    for (std::uint64_t i = 1 + rng_.below(4); i > 0; --i)
      made.slices.push_back(random_bytes(rng_, 3'000));
    if (made.seq.value() == 0) return;
    if (is_done(write_checkpoint(*journal_, made.seq, made.slices))) {
      checkpoint_ = made;
    } else {
      open_checkpoint_ = made;
    }
  }
  void truncate() {
    const auto outcome = journal_->truncate(Seq(rng_.below(batches_.size() + 1)),
                                            1 + static_cast<std::uint32_t>(rng_.below(6)));
    static_cast<void>(is_done(outcome.has_value() ? Status() : Status(fail(outcome.error()))));
  }

  /// What the reopened journal holds is what was acknowledged; of a refused append all or nothing.
  void check() {
    const Checkpoint found = stored_checkpoint(*journal_);
    if (found != checkpoint_) {
      ASSERT_TRUE(open_checkpoint_ && found == *open_checkpoint_)
          << "checkpoint " << found.seq.value();
      checkpoint_ = found;
    }
    open_checkpoint_.reset();
    const Seq last = journal_->last();
    if (last.value() > batches_.size()) {
      ASSERT_TRUE(uncertain_.has_value())
          << last.value() << " batches, " << batches_.size() << " acknowledged";
      ++ended_late_;
      apply(uncertain_->first, uncertain_->second);
    }
    uncertain_.reset();
    ASSERT_EQ(last.value(), batches_.size());
    const auto first = batches_.begin() + static_cast<std::ptrdiff_t>(checkpoint_.seq.value());
    ASSERT_TRUE(stored_batches(*journal_, checkpoint_.seq) ==
                std::vector<std::string>(first, batches_.end()));
    for (const auto& [id, bytes] : blobs_)
      ASSERT_EQ(journal_->read_blob(BlobId(id)).value_or("gone"), bytes) << id;
  }

  Rng rng_;
  FaultyDisk disk_;
  std::unique_ptr<Journal> journal_;
  Epoch epoch_;
  std::vector<std::string> batches_;  ///< acknowledged
  std::map<std::uint64_t, std::string> blobs_;
  Checkpoint checkpoint_;
  std::optional<
      std::pair<std::vector<std::string>, std::map<std::uint64_t, std::optional<std::string>>>>
      uncertain_;
  std::optional<Checkpoint> open_checkpoint_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t ended_late_ = 0;
};

TEST(SqliteJournalProperty, NothingAcknowledgedIsLostWhateverTheDiskDoes) {
  std::uint64_t acknowledged = 0;
  std::uint64_t refused = 0;
  std::uint64_t ended_late = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Story story(seed);
    story.run();
    if (HasFailure()) return;
    acknowledged += story.acknowledged();
    refused += story.refused();
    ended_late += story.ended_late();
  }
  // The faults reach the places that they are meant for.
  EXPECT_GT(acknowledged, 1'000U);
  EXPECT_GT(refused, 400U);
  EXPECT_GT(ended_late, 1U);
}

}  // namespace
}  // namespace muster
