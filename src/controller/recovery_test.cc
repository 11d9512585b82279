#include "controller/recovery.h"

#include <gtest/gtest.h>

#include "journal/testing.h"
#include "state/testing.h"

namespace muster {
namespace {

using testing::Fault;
using testing::FaultyDisk;
using testing::Log;

/// A log and, for each number of batches, the hash of the state that they make. All logs are alike.
struct History {
  History() {
    for (int i = 0; i < 3; ++i) testing::add_everything(log);
    ClusterState state;
    hashes.push_back(state.hash());
    for (const EventBatchRef& batch : log.batches()) {
      state.apply(*batch);
      hashes.push_back(state.hash());
    }
  }
  Log log;
  std::vector<std::uint64_t> hashes;
};

std::unique_ptr<SqliteJournal> opened() {
  auto journal = SqliteJournal::open({"journal.db"});
  return journal.has_value() ? std::move(journal).value() : nullptr;
}

/// A leader's first batch begins a new epoch; here the log's own epoch is the first that is taken.
Status append(SqliteJournal& journal, const History& history, std::size_t from, std::size_t to) {
  const auto first = history.log.batches().begin();
  return journal.append({first + static_cast<std::ptrdiff_t>(from), first + static_cast<std::ptrdiff_t>(to)});
}

Status write_checkpoint_at(SqliteJournal& journal, const History& history, std::size_t count) {
  ClusterState state;
  for (std::size_t i = 0; i < count; ++i) state.apply(*history.log.batches()[i]);
  TRY(journal.begin_checkpoint());
  TRY(write_checkpoint(state, [&](std::string record) { return journal.add_slice(record); }));
  return journal.finish_checkpoint(state.seq());
}

void expect_recovers(SqliteJournal& journal, const History& history, std::size_t least, std::size_t most) {
  ClusterState state;
  const Status recovered = recover(journal, state, nullptr);
  ASSERT_TRUE(recovered.has_value()) << recovered.error().text();
  ASSERT_EQ(state.seq(), journal.last());
  ASSERT_GE(state.seq().value(), least);
  ASSERT_LE(state.seq().value(), most);
  EXPECT_EQ(state.hash(), history.hashes[state.seq().value()]) << "after batch " << state.seq().value();
}

TEST(Recovery, FromBatchesFromACheckpointAndFromBoth) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_TRUE(journal->take_lead().has_value());
  ASSERT_TRUE(append(*journal, history, 0, all).has_value());
  expect_recovers(*journal, history, all, all);
  for (std::size_t at = 1; at <= all; ++at) {
    SCOPED_TRACE(::testing::Message() << "checkpoint at batch " << at);
    ASSERT_TRUE(write_checkpoint_at(*journal, history, at).has_value());
    while (!journal->truncate(Seq(all), 3).value()) {
    }
    expect_recovers(*journal, history, all, all);
  }
}

TEST(Recovery, StopsAtTheBatchThatIsAskedFor) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->take_lead().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  ClusterState state;
  ASSERT_TRUE(recover(*journal, state, nullptr, Seq(5)).has_value());
  EXPECT_EQ(state.hash(), history.hashes[5]);
}

TEST(Recovery, ALostSliceIsDamageAndNotAnEmptyState) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->take_lead().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  ASSERT_TRUE(write_checkpoint_at(*journal, history, 5).has_value());
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open("journal.db", &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "DELETE FROM slices WHERE position = 1", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(raw);
  ClusterState state;
  EXPECT_EQ(recover(*journal, state, nullptr).error().code, ErrorCode::kCorruption);
}

TEST(RecoveryProperty, TheStateIsTheOneThatWasAcknowledged) {
  const History history;
  const std::size_t all = history.log.batches().size();
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    FaultyDisk disk(seed);
    auto journal = opened();
    ASSERT_TRUE(journal->take_lead().has_value());
    std::size_t acknowledged = 0;
    std::size_t tried = 0;
    disk.arm(rng.chance(0.5) ? Fault::kPowerLoss : Fault::kAnyError, 1 + rng.below(150), rng.chance(0.5));
    while (acknowledged < all && tried == acknowledged) {
      tried = std::min(all, acknowledged + 1 + rng.below(5));
      if (append(*journal, history, acknowledged, tried).has_value()) acknowledged = tried;
      if (rng.chance(0.4)) static_cast<void>(write_checkpoint_at(*journal, history, acknowledged).has_value());
      if (rng.chance(0.3)) static_cast<void>(journal->truncate(Seq(acknowledged), 5).has_value());
      if (rng.chance(0.2)) static_cast<void>(journal->checkpoint_log().has_value());
    }
    journal = nullptr;
    disk.heal();
    disk.lose_power();
    journal = opened();
    ASSERT_NE(journal, nullptr);
    expect_recovers(*journal, history, acknowledged, tried);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster
