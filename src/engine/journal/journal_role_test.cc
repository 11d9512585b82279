#include "engine/journal/journal_role.h"

#include <gtest/gtest.h>

#include <memory>

#include "journal/testing.h"
#include "records/checkpoint_codec.h"

namespace muster {
namespace {

struct FakeReserve : ReserveFile {
  std::uint64_t size() const override { return bytes; }
  std::uint64_t free_bytes() const override { return free; }
  bool lay_down(std::uint64_t wanted) override {
    if (!has_room) return false;
    bytes = wanted;
    return true;
  }
  void remove() override { bytes = 0; }
  std::uint64_t bytes = 0;
  std::uint64_t free = UINT64_MAX;
  bool has_room = true;
};

/// The role over a journal in memory, with all that it says.
struct Desk : JournalRolePort {
  explicit Desk(bool can_tidy_beside = false, const JournalRole::Bounds& bounds = {})
      : journal(can_tidy_beside), role(journal, reserve, *this, 1, bounds) {
    EXPECT_TRUE(journal.acquire_leadership(Epoch(0)).has_value());
  }
  void on_durable(Seq seq) override { durable.push_back(seq); }
  void on_failure(const Error& error) override { failures.push_back(error); }
  void on_blob(const FetchBlob& asked, Result<std::string> bytes) override {
    blobs.emplace_back(asked.token, std::move(bytes));
  }
  void on_slice() override { ++slices; }
  void on_room(const std::optional<Error>& refusal) override { rooms.push_back(refusal); }
  void tidy_beside() override { ++tidies_beside; }

  void turn(std::vector<ToJournal> messages = {}) {
    now = now + Duration::seconds(1);
    role.turn(std::move(messages), now);
  }

  testing::MemoryJournal journal;
  FakeReserve file;
  DiskReserve reserve{file};
  std::vector<Seq> durable;
  std::vector<Error> failures;
  std::vector<std::pair<std::uint64_t, Result<std::string>>> blobs;
  std::vector<std::optional<Error>> rooms;
  int slices = 0;
  int tidies_beside = 0;
  Duration now;
  JournalRole role;
};

EventBatchRef batch_of(std::uint64_t seq, BlobId blob = {}) {
  EventBatch batch;
  batch.seq = Seq(seq);
  batch.epoch = Epoch(1);
  batch.events.push_back({TimePoint::from_seconds(static_cast<std::int64_t>(seq)),
                          JobIdsReserved{JobId(static_cast<std::uint32_t>(seq))}});
  if (blob.value() != 0) {
    auto bytes = std::make_shared<const std::string>("#!/bin/sh\n");
    batch.blobs.push_back({blob, std::string(32, 'd'), bytes->size(), bytes});
  }
  return std::make_shared<const EventBatch>(std::move(batch));
}

/// The messages of a checkpoint at batch `seq`, of one slice.
std::vector<ToJournal> checkpoint_of(std::uint64_t seq) {
  const records::SliceToWrite slice;
  CheckpointSeal seal;
  seal.seq = Seq(seq);
  return {BeginCheckpoint{}, CheckpointSlice{records::encode_slice(slice)}, FinishCheckpoint{seal}};
}

TEST(JournalRole, WhatHasGatheredIsOneAppend) {
  Desk desk;
  desk.turn({batch_of(1), FetchBlob{BlobId(9), 4}, batch_of(2)});
  EXPECT_EQ(desk.durable, std::vector{Seq(2)});
  EXPECT_EQ(desk.journal.batch_count(), 2U);
  const auto clock = desk.journal.clock();
  ASSERT_TRUE(clock.has_value() && *clock);
  EXPECT_EQ((*clock)->boot, 1U);
  EXPECT_EQ((*clock)->steady, desk.now);
  EXPECT_EQ((*clock)->event_time, TimePoint::from_seconds(2)) << "of the last event";
}

TEST(JournalRole, ABlobOfTheSameTurnIsThere) {
  Desk desk;
  desk.turn({FetchBlob{BlobId(3), 7}, batch_of(1, BlobId(3))});
  ASSERT_EQ(desk.blobs.size(), 1U);
  EXPECT_EQ(desk.blobs[0].first, 7U);
  EXPECT_EQ(*desk.blobs[0].second, "#!/bin/sh\n");
}

TEST(JournalRole, ADamagedBlobIsRememberedForTheNextStart) {
  Desk desk;
  desk.turn({batch_of(1, BlobId(3))});
  desk.journal.damage(BlobId(3));
  desk.turn({FetchBlob{BlobId(3), 0}, FetchBlob{BlobId(4), 0}});
  ASSERT_EQ(desk.blobs.size(), 2U);
  EXPECT_EQ(desk.blobs[0].second.error().code, ErrorCode::kCorruption);
  EXPECT_EQ(desk.blobs[1].second.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(*desk.journal.recorded_damaged(), std::vector{BlobId(3)});
}

TEST(JournalRole, AfterARefusalNothingIsStoredAndTheReserveIsGivenUp) {
  Desk desk;
  desk.turn();
  EXPECT_EQ(desk.file.bytes, DiskReserve::kBytes);
  desk.journal.refuse_next({ErrorCode::kUnavailable, "the disk is full", ""});
  desk.turn({batch_of(1)});
  ASSERT_EQ(desk.failures.size(), 1U);
  EXPECT_EQ(desk.failures[0].code, ErrorCode::kUnavailable);
  EXPECT_EQ(desk.file.bytes, 0U) << "its room is for the ends of jobs";
  desk.turn({batch_of(1)});
  EXPECT_TRUE(desk.durable.empty());
  EXPECT_EQ(desk.journal.batch_count(), 0U);
  EXPECT_EQ(desk.failures.size(), 1U) << "said once";
}

TEST(JournalRole, NewWorkIsRefusedWhileThereIsNoReserve) {
  Desk desk;
  desk.file.free = DiskReserve::kBytes + DiskReserve::kRoomBeside - 1;
  desk.role.start();
  ASSERT_EQ(desk.rooms.size(), 1U);
  ASSERT_TRUE(desk.rooms[0].has_value());
  EXPECT_EQ(desk.rooms[0]->code, ErrorCode::kResourceExhausted);
  EXPECT_NE(desk.rooms[0]->detail.find("StateSaveLocation"), std::string::npos);
  desk.turn();
  EXPECT_EQ(desk.rooms.size(), 1U) << "nothing has changed";
  desk.file.free = DiskReserve::kBytes + DiskReserve::kRoomBeside;
  desk.turn();
  ASSERT_EQ(desk.rooms.size(), 2U);
  EXPECT_FALSE(desk.rooms[1].has_value()) << "it is taken again";
  EXPECT_EQ(desk.file.bytes, DiskReserve::kBytes);
}

TEST(JournalRole, BatchesGoBeforeTheSlicesOfACheckpoint) {
  Desk desk;
  desk.turn({batch_of(1)});
  desk.turn(checkpoint_of(1));
  EXPECT_EQ(desk.slices, 0) << "one message a turn";
  EXPECT_EQ(desk.role.timeout(), Duration());
  desk.turn({batch_of(2)});
  EXPECT_EQ(desk.durable.back(), Seq(2));
  EXPECT_EQ(desk.slices, 1);
  desk.turn();
  EXPECT_EQ(desk.journal.read_checkpoint([](records::Slice) { return Status(); }, Seq(9))->seq,
            Seq(1));
}

TEST(JournalRole, ACheckpointWithoutItsBeginningDoesNotCount) {
  Desk desk;
  desk.turn({batch_of(1)});
  std::vector<ToJournal> rest = checkpoint_of(1);
  rest.erase(rest.begin());  // it was told to the run before
  desk.turn(std::move(rest));
  desk.turn();
  EXPECT_EQ(desk.slices, 1) << "its sender goes on all the same";
  EXPECT_EQ(desk.journal.read_checkpoint([](records::Slice) { return Status(); }, Seq(9))->seq,
            Seq());
}

TEST(JournalRole, TruncatesUpToTheCheckpointThatHistoryHasPassed) {
  Desk desk(false, {.truncated_rows = 3});
  std::vector<ToJournal> batches;
  for (std::uint64_t i = 1; i <= 10; ++i) batches.push_back(batch_of(i));
  desk.turn(std::move(batches));
  for (int i = 0; i < 3; ++i) desk.turn(i == 0 ? checkpoint_of(8) : std::vector<ToJournal>());
  for (int i = 0; i < 6; ++i) desk.turn();
  EXPECT_EQ(desk.journal.batch_count(), 10U) << "history has none of them";
  desk.turn({HistoryStored{Seq(7)}});
  for (int i = 0; i < 6; ++i) desk.turn();
  EXPECT_EQ(desk.journal.batch_count(), 10U) << "the checkpoint is newer than history";
  desk.turn({HistoryStored{Seq(8)}});
  EXPECT_EQ(desk.journal.batch_count(), 7U) << "a piece at a time";
  EXPECT_LT(desk.role.timeout(), Duration::seconds(1));
  for (int i = 0; i < 6; ++i) desk.turn();
  EXPECT_EQ(desk.journal.batch_count(), 2U);
  EXPECT_EQ(desk.role.timeout(), Duration::seconds(1)) << "nothing is left to delete";
}

TEST(JournalRole, ATruncationPausesBetweenBatches) {
  Desk desk(false, {.truncated_rows = 1, .truncation_pause = Duration::seconds(100)});
  std::vector<ToJournal> batches;
  for (std::uint64_t i = 1; i <= 10; ++i) batches.push_back(batch_of(i));
  desk.turn(std::move(batches));
  for (int i = 0; i < 3; ++i) desk.turn(i == 0 ? checkpoint_of(10) : std::vector<ToJournal>());
  desk.turn({HistoryStored{Seq(10)}});
  const std::size_t left = desk.journal.batch_count();
  for (std::uint64_t i = 11; i <= 20; ++i) desk.turn({batch_of(i)});
  EXPECT_EQ(desk.journal.batch_count(), left + 10) << "replies wait for batches";
  desk.now = desk.now + Duration::seconds(100);
  desk.turn({batch_of(21)});
  EXPECT_EQ(desk.journal.batch_count(), left + 10) << "one came, one went";
}

TEST(JournalRole, TidiesWhenIdleAndWhenMuchWasWritten) {
  Desk desk(false, {.tidy_batches = 2});
  desk.turn({batch_of(1)});
  EXPECT_EQ(desk.journal.tidy_count(), 0U);
  desk.turn();
  EXPECT_EQ(desk.journal.tidy_count(), 1U);
  desk.turn();
  EXPECT_EQ(desk.journal.tidy_count(), 1U) << "nothing was written";
  desk.turn({batch_of(2), batch_of(3), batch_of(4)});
  EXPECT_EQ(desk.journal.tidy_count(), 2U);
}

TEST(JournalRole, MostOfTidyingIsDoneBesideIt) {
  Desk desk(true, {.tidy_batches = 0});
  desk.turn({batch_of(1)});
  desk.turn({batch_of(2)});
  EXPECT_EQ(desk.tidies_beside, 1) << "asked once until it is over";
  EXPECT_EQ(desk.journal.tidy_count(), 0U);
  desk.turn({TidiedBeside{}});
  EXPECT_EQ(desk.journal.tidy_count(), 1U) << "what came meanwhile is left for it";
  desk.turn({batch_of(3)});
  EXPECT_EQ(desk.tidies_beside, 2);
}

TEST(DiskReserve, IsNotLaidDownWhereTheNextBatchWouldBeRefused) {
  FakeReserve file;
  DiskReserve reserve(file);
  file.free = DiskReserve::kBytes + DiskReserve::kRoomBeside - 1;
  EXPECT_FALSE(reserve.ensure());
  file.free += 1;
  file.has_room = false;  // somebody was faster
  EXPECT_FALSE(reserve.ensure());
  file.has_room = true;
  EXPECT_TRUE(reserve.ensure());
  file.free = 0;
  EXPECT_TRUE(reserve.ensure()) << "it is there";
  file.bytes = 5;
  EXPECT_FALSE(reserve.ensure()) << "one that was cut off is none";
  reserve.give_up();
  EXPECT_EQ(file.bytes, 0U);
}

}  // namespace
}  // namespace muster
