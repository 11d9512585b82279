#include "engine/recovery.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "journal/sqlite_journal.h"
#include "journal/testing.h"
#include "records/batch_codec.h"
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

std::unique_ptr<Journal> opened() {
  auto journal = open_sqlite_journal({"journal.db"});
  return journal.has_value() ? std::move(journal).value() : nullptr;
}

/// A leader's first batch begins a new epoch; here the log's own epoch is the first that is taken.
Status append(Journal& journal, const History& history, std::size_t from, std::size_t to) {
  const auto first = history.log.batches().begin();
  return journal.append(
      {first + static_cast<std::ptrdiff_t>(from), first + static_cast<std::ptrdiff_t>(to)});
}

Status write_checkpoint_at(Journal& journal, const History& history, std::size_t count) {
  ClusterState state;
  for (std::size_t i = 0; i < count; ++i) state.apply(*history.log.batches()[i]);
  TRY(journal.begin_checkpoint());
  TRY(write_checkpoint(state, [&](std::string record) { return journal.add_slice(record); }));
  return journal.finish_checkpoint(seal_of(state));
}

void expect_recovers(Journal& journal, const History& history, std::size_t least,
                     std::size_t most) {
  ClusterState state;
  const auto recovered = recover(journal, state, nullptr);
  ASSERT_TRUE(recovered.has_value()) << recovered.error().text();
  ASSERT_EQ(state.seq(), journal.last());
  ASSERT_GE(state.seq().value(), least);
  ASSERT_LE(state.seq().value(), most);
  EXPECT_EQ(state.hash(), history.hashes[state.seq().value()])
      << "after batch " << state.seq().value();
}

TEST(Recovery, FromBatchesFromACheckpointAndFromBoth) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
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

TEST(Recovery, JobsThatAskForTheSameHaveOneRequest) {
  const auto spec_of = [](std::uint32_t cpus) {
    auto spec = testing::spec_of();
    spec->request.edit()->cpus_per_task = cpus;
    return spec;
  };
  FaultyDisk disk(1);
  History history;
  const std::size_t begin = history.log.batches().size();
  const JobId first = history.log.submit(spec_of(7));
  const JobId equal = history.log.submit(spec_of(7));
  const JobId other = history.log.submit(spec_of(8));
  const std::size_t all = history.log.batches().size();
  ASSERT_GT(all, begin + 1);
  for (const std::size_t checkpoint : {begin, all}) {
    auto journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    if (checkpoint == begin) {
      ASSERT_TRUE(append(*journal, history, 0, all).has_value());
    }
    ASSERT_TRUE(write_checkpoint_at(*journal, history, checkpoint).has_value());
    ClusterState state;
    ASSERT_TRUE(recover(*journal, state, nullptr).has_value());
    const auto request_of = [&](JobId job) { return state.jobs().find(job)->spec->request; };
    EXPECT_TRUE(request_of(equal).is_one_with(request_of(first)));
    EXPECT_FALSE(request_of(other).is_one_with(request_of(first)));
  }
}

/// What ends while batches are replayed.
struct Ends final : ApplyObserver {
  explicit Ends(const ClusterState& of) : state(of) {}
  void attempt_ended(const Job& job, TimePoint) override {
    seen.emplace_back(state.seq().value() + 1, job.id.value());
  }
  void step_ended(const Job&, const StepState&, TimePoint) override {}
  const ClusterState& state;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> seen;
};

/// The ends after batch `after`, as a replay of the whole log shows them.
std::vector<std::pair<std::uint64_t, std::uint32_t>> ends_after(const History& history,
                                                                std::uint64_t after) {
  ClusterState state;
  Ends ends(state);
  for (const EventBatchRef& batch : history.log.batches()) state.apply(*batch, &ends);
  std::erase_if(ends.seen, [&](const auto& end) { return end.first <= after; });
  return ends.seen;
}

TEST(Recovery, ACheckpointThatOvertookHistoryHidesNoEnd) {
  const History history;
  const std::size_t all = history.log.batches().size();
  for (std::size_t watermark = 0; watermark <= all; ++watermark) {
    SCOPED_TRACE(::testing::Message()
                 << "history has " << watermark << " of " << all << " batches");
    FaultyDisk disk(1);
    auto journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    ASSERT_TRUE(append(*journal, history, 0, all).has_value());
    for (const std::size_t at : {all / 4, all / 2, all - 1})
      ASSERT_TRUE(write_checkpoint_at(*journal, history, at).has_value());
    while (!journal->truncate(Seq(watermark), 3).value()) {
    }
    ClusterState state;
    Ends ends(state);
    const auto recovered = recover(*journal, state, &ends, {.history = Seq(watermark)});
    ASSERT_TRUE(recovered.has_value()) << recovered.error().text();
    EXPECT_LE(recovered->checkpoint.value(), watermark);
    EXPECT_EQ(state.hash(), history.hashes[all]);
    std::erase_if(ends.seen, [&](const auto& end) { return end.first <= watermark; });
    EXPECT_EQ(ends.seen, ends_after(history, watermark));
  }
}

TEST(Recovery, AHistoryThatWasLostIsTold) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, all).has_value());
  ASSERT_TRUE(write_checkpoint_at(*journal, history, all / 2).has_value());
  while (!journal->truncate(Seq(all), 100).value()) {
  }
  ClusterState state;
  const auto recovered = recover(*journal, state, nullptr, {.history = Seq(0)});
  ASSERT_TRUE(recovered.has_value()) << recovered.error().text();
  EXPECT_EQ(recovered->checkpoint, Seq(all / 2))
      << "above history's watermark: something is missing from it";
  EXPECT_EQ(state.hash(), history.hashes[all]);
}

/// Runs SQL on the journal's file, as damage would.
void damage(const std::string& sql) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open("journal.db", &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(raw);
}

TEST(Recovery, EveryFlippedBitOfABatchIsFound) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 6).has_value());
  const std::string record = records::encode_batch(*history.log.batches()[4]);
  for (std::size_t bit = 0; bit < record.size() * 8; bit += 7) {
    std::string flipped = record;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    std::string hex;
    for (const char c : flipped) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    ASSERT_NO_FATAL_FAILURE(damage("UPDATE batches SET record = x'" + hex + "' WHERE seq = 5"));
    ClusterState state;
    const auto recovered = recover(*journal, state, nullptr);
    ASSERT_FALSE(recovered.has_value()) << "bit " << bit;
    EXPECT_EQ(recovered.error().code, ErrorCode::kCorruption);
    EXPECT_NE(recovered.error().text().find("batch 5"), std::string::npos)
        << recovered.error().text();
  }
}

TEST(Recovery, ADamagedSliceAndAWrongStateAreFound) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  ASSERT_TRUE(write_checkpoint_at(*journal, history, 5).has_value());
  ASSERT_NO_FATAL_FAILURE(damage("UPDATE checkpoints SET state_hash = state_hash + 1"));
  ClusterState state;
  EXPECT_EQ(recover(*journal, state, nullptr).error().code, ErrorCode::kCorruption);
  ASSERT_NO_FATAL_FAILURE(damage("UPDATE checkpoints SET state_hash = state_hash - 1"));
  ASSERT_NO_FATAL_FAILURE(
      damage("UPDATE slices SET record = CAST(record || x'00' AS BLOB) WHERE position = 1"));
  ClusterState other;
  const auto damaged = recover(*journal, other, nullptr);
  ASSERT_FALSE(damaged.has_value());
  EXPECT_NE(damaged.error().text().find("slice 1 is damaged"), std::string::npos)
      << damaged.error().text();
}

TEST(Recovery, StopsAtTheBatchThatIsAskedFor) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  ClusterState state;
  ASSERT_TRUE(recover(*journal, state, nullptr, {.until = Seq(5)}).has_value());
  EXPECT_EQ(state.hash(), history.hashes[5]);
}

TEST(Recovery, ALostSliceIsDamageAndNotAnEmptyState) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  ASSERT_TRUE(write_checkpoint_at(*journal, history, 5).has_value());
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open("journal.db", &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(raw, "DELETE FROM slices WHERE position = 1", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(raw);
  ClusterState state;
  EXPECT_EQ(recover(*journal, state, nullptr).error().code, ErrorCode::kCorruption);
}

TEST(Recovery, AnEventOfANewerVersionStopsTheStartByName) {
  FaultyDisk disk(1);
  const History history;
  auto journal = opened();
  ASSERT_TRUE(journal->acquire_leadership().has_value());
  ASSERT_TRUE(append(*journal, history, 0, 9).has_value());
  const auto bytes_of = [](EventBody body) {
    EventBatch batch;
    batch.seq = Seq(10);
    batch.events.push_back(Event{testing::at(900), std::move(body)});
    return records::encode_batch(batch);
  };
  // The two differ in their kind alone.
  std::string bytes = bytes_of(JobSuspended{JobId(1)});
  const std::string other = bytes_of(JobResumed{JobId(1)});
  *std::ranges::mismatch(bytes, other).in1 = static_cast<char>(200);
  sqlite3* raw = nullptr;
  sqlite3_stmt* insert = nullptr;
  ASSERT_EQ(sqlite3_open("journal.db", &raw), SQLITE_OK);
  ASSERT_EQ(sqlite3_prepare_v2(raw, "INSERT INTO batches (seq, record) VALUES (10, ?)", -1, &insert,
                               nullptr),
            SQLITE_OK);
  sqlite3_bind_blob(insert, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  ASSERT_EQ(sqlite3_step(insert), SQLITE_DONE);
  sqlite3_finalize(insert);
  sqlite3_close(raw);
  ClusterState state;
  const auto recovered = recover(*journal, state, nullptr);
  ASSERT_FALSE(recovered.has_value());
  EXPECT_EQ(recovered.error().code, ErrorCode::kCorruption);
  EXPECT_NE(recovered.error().text().find("unknown kind: written by a newer version"),
            std::string::npos)
      << recovered.error().text();
}

TEST(RecoveryProperty, TheStateIsTheOneThatWasAcknowledged) {
  const History history;
  const std::size_t all = history.log.batches().size();
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Rng rng(seed);
    FaultyDisk disk(seed);
    auto journal = opened();
    ASSERT_TRUE(journal->acquire_leadership().has_value());
    std::size_t acknowledged = 0;
    std::size_t tried = 0;
    disk.arm(rng.chance(0.5) ? Fault::kPowerLoss : Fault::kAnyError, 1 + rng.below(150),
             rng.chance(0.5));
    while (acknowledged < all && tried == acknowledged) {
      tried = std::min(all, acknowledged + 1 + rng.below(5));
      if (append(*journal, history, acknowledged, tried).has_value()) acknowledged = tried;
      if (rng.chance(0.4))
        static_cast<void>(write_checkpoint_at(*journal, history, acknowledged).has_value());
      if (rng.chance(0.3)) static_cast<void>(journal->truncate(Seq(acknowledged), 5).has_value());
      if (rng.chance(0.2)) static_cast<void>(journal->tidy().has_value());
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

// ---- a history that does not go with the journal ----

TEST(JudgeHistory, OneThatGoesWithTheJournalChangesNothing) {
  ClusterState state;
  Log log;
  testing::add_everything(log);
  for (const EventBatchRef& batch : log.batches()) state.apply(*batch);
  const JobId last_job(state.next_job().value() - 1);
  for (const Seq watermark : {Seq(0), Seq(3), state.seq()}) {
    const HistoryVerdict verdict = judge_history({{watermark, {}, {}}, Epoch(1), last_job}, true,
                                                 state.seq(), RecoveryReport{}, state);
    EXPECT_EQ(verdict.job_floor, JobId());
    EXPECT_EQ(verdict.warning, "");
  }
}

TEST(JudgeHistory, OneThatIsAheadOfAnOlderJournalSaysWhichIdsWereGiven) {
  ClusterState state;
  Log log;
  testing::add_everything(log);
  for (const EventBatchRef& batch : log.batches()) state.apply(*batch);
  const JobId beyond(state.next_job().value() + 40);
  const HistoryVerdict verdict =
      judge_history({{Seq(state.seq().value() + 1), {}, {}}, Epoch(1), beyond}, true, state.seq(),
                    RecoveryReport{}, state);
  EXPECT_EQ(verdict.job_floor, beyond);
  EXPECT_NE(verdict.warning.find(fmt::format("Job ids go on after {}", beyond.value())),
            std::string::npos)
      << verdict.warning;
  // Nothing new has ended since the copy, and what has happened is lost all the same.
  const HistoryVerdict same_jobs =
      judge_history({{Seq(state.seq().value() + 1), {}, {}}, Epoch(1), JobId(1)}, true, state.seq(),
                    RecoveryReport{}, state);
  EXPECT_EQ(same_jobs.job_floor, JobId());
  EXPECT_NE(same_jobs.warning, "");
}

TEST(JudgeHistory, OneThatEndsBeforeTheJournalBeginsIsMissed) {
  const HistoryVerdict verdict = judge_history({{Seq(3), {}, {}}, Epoch(1), JobId()}, true, Seq(20),
                                               RecoveryReport{Seq(10)}, ClusterState());
  EXPECT_NE(verdict.warning.find("missing from sacct"), std::string::npos) << verdict.warning;
}

/// Ends that a history without anything must be told of.
std::set<std::pair<JobId, std::uint32_t>> ends_in(const std::vector<HistoryRecord>& records) {
  std::set<std::pair<JobId, std::uint32_t>> ends;
  for (const HistoryRecord& record : records) {
    if (const auto* job = std::get_if<JobView>(&record.object)) ends.emplace(job->id, job->attempt);
  }
  return ends;
}

StartRecovery started(Journal& journal, const BatchMark& history) {
  ClusterState state;
  auto start = recover_beside_history(journal, state, {history, Epoch(1), JobId()});
  EXPECT_TRUE(start.has_value());
  return std::move(start).value();
}

TEST(RecoverBesideHistory, OneOfAnotherPastIsToldAllThatIsKnown) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_NE(journal, nullptr);
  ASSERT_TRUE(append(*journal, history, 0, all).has_value());
  const auto whole = ends_in(started(*journal, {}).unprojected);
  ASSERT_GE(whole.size(), 3U);
  const std::size_t middle = all / 2;
  const BatchMark here = mark_of(*history.log.batches()[middle - 1]);
  const auto rest = ends_in(started(*journal, here).unprojected);
  ASSERT_LT(rest.size(), whole.size());
  EXPECT_EQ(started(*journal, here).verdict.warning, "");
  // The same number, but of a batch that another leader wrote, or the same one at another time.
  for (const BatchMark& other :
       {BatchMark{here.seq, Epoch(here.epoch.value() + 7), here.time},
        BatchMark{here.seq, here.epoch, here.time + Duration::seconds(1)}}) {
    const StartRecovery start = started(*journal, other);
    EXPECT_EQ(ends_in(start.unprojected), whole);
    EXPECT_NE(start.verdict.warning.find("another batch"), std::string::npos)
        << start.verdict.warning;
  }
  // What was written before this was recorded is believed.
  EXPECT_EQ(ends_in(started(*journal, {here.seq, {}, {}}).unprojected), rest);
}

TEST(RecoverBesideHistory, OneThatIsAheadMayBeOfAnotherPast) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_NE(journal, nullptr);
  ASSERT_TRUE(append(*journal, history, 0, all).has_value());
  const auto whole = ends_in(started(*journal, {}).unprojected);
  const BatchMark last = mark_of(*history.log.batches().back());
  const StartRecovery start =
      started(*journal, {Seq(last.seq.value() + 5), last.epoch, last.time + Duration::hours(1)});
  EXPECT_EQ(ends_in(start.unprojected), whole);
  EXPECT_NE(start.verdict.warning.find("ahead of the journal"), std::string::npos);
}

TEST(RecoverBesideHistory, WhatACheckpointHasInMemoryIsToldAsWell) {
  FaultyDisk disk(1);
  const History history;
  const std::size_t all = history.log.batches().size();
  auto journal = opened();
  ASSERT_NE(journal, nullptr);
  ASSERT_TRUE(append(*journal, history, 0, all).has_value());
  ASSERT_TRUE(write_checkpoint_at(*journal, history, all).has_value());
  std::set<std::pair<JobId, std::uint32_t>> in_memory;
  ClusterState state;
  for (const EventBatchRef& batch : history.log.batches()) state.apply(*batch);
  state.jobs().for_each([&](const Job& job) {
    if (job.is_over()) in_memory.emplace(job.id, job.attempt);
  });
  ASSERT_FALSE(in_memory.empty());
  const auto is_later = [](const auto& run) { return run.second > 0; };
  ASSERT_TRUE(std::ranges::any_of(in_memory, is_later)) << "a job that ended in a later attempt";
  // The checkpoint alone still says which batch the last one was.
  while (!journal->truncate(Seq(all), 100).value()) {
  }
  const auto mark = journal->mark(Seq(all));
  ASSERT_TRUE(mark.has_value() && mark->has_value());
  EXPECT_EQ(**mark, mark_of(state));
  EXPECT_EQ(ends_in(started(*journal, **mark).unprojected), decltype(in_memory)());
  EXPECT_EQ(ends_in(started(*journal, {Seq(all), Epoch(99), {}}).unprojected), in_memory);
  EXPECT_EQ(ends_in(started(*journal, {}).unprojected), in_memory)
      << "a new history beside an old journal";
}

}  // namespace
}  // namespace muster
