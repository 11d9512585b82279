#include "engine/journal/checkpoint_role.h"

#include <gtest/gtest.h>

#include "journal/testing.h"
#include "state/testing.h"

namespace muster {
namespace {

/// A checkpoint that was sent goes into a journal, and the state comes out of it.
TEST(CheckpointRole, WritesOneOfTheStateWhenItIsDue) {
  testing::Log log(2);
  testing::add_everything(log);
  const ClusterState& state = log.state();
  CheckpointRole role({.batches = 1, .events = UINT64_MAX}, RecoveryReport());
  testing::MemoryJournal journal;
  std::size_t slices = 0;
  const auto send = [&](ToJournal message) {
    if (std::holds_alternative<BeginCheckpoint>(message)) {
      ASSERT_TRUE(journal.begin_checkpoint().has_value());
    } else if (const auto* slice = std::get_if<CheckpointSlice>(&message)) {
      ++slices;
      ASSERT_TRUE(journal.add_slice(slice->record).has_value());
    } else {
      ASSERT_TRUE(journal.finish_checkpoint(std::get<FinishCheckpoint>(message).seal).has_value());
    }
  };
  role.write_if_due(state, send);
  EXPECT_GT(slices, 0U);
  ClusterState restored;
  const auto report = recover(journal, restored, nullptr);
  ASSERT_TRUE(report.has_value()) << report.error().text();
  EXPECT_EQ(report->checkpoint, state.seq());
  EXPECT_EQ(restored.hash(), state.hash());
  slices = 0;
  role.write_if_due(state, send);
  EXPECT_EQ(slices, 0U) << "nothing has happened since";
}

TEST(CheckpointRole, CountsWhatARecoveryWouldReplay) {
  testing::Log log(1);
  RecoveryReport recovered;
  recovered.checkpoint = log.state().seq();
  recovered.replayed_events = 9;
  CheckpointRole role({.batches = UINT64_MAX, .events = 10}, recovered);
  bool is_written = false;
  const auto send = [&](ToJournal) { is_written = true; };
  role.write_if_due(log.state(), send);
  EXPECT_FALSE(is_written);
  EventBatch batch;
  batch.events.emplace_back();
  role.applied(batch);
  role.write_if_due(log.state(), send);
  EXPECT_TRUE(is_written);
}

}  // namespace
}  // namespace muster
