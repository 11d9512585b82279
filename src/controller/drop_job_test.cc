#include "platform/maintenance/drop_job.h"

#include <gtest/gtest.h>

#include <memory>

#include "controller/testing.h"

namespace muster {
namespace {

using testing::Rig;
using testing::spec_of;
using testing::submit_of;

/// The state that these batches make.
std::unique_ptr<ClusterState> replayed(const std::vector<EventBatchRef>& batches) {
  auto state = std::make_unique<ClusterState>();
  for (const EventBatchRef& batch : batches) state->apply(*batch);
  return state;
}

TEST(DropJob, ARunningJobEndsWithItsStepsAndItsNodeHasRoomAgain) {
  Rig rig;
  rig.connect_all();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.plan();
  ASSERT_EQ(rig.core.state().jobs().find(job)->state, JobState::kRunning);
  auto held = spec_of();
  held->is_held = true;
  const JobId waiting = rig.done(submit_of(held)).job;
  std::vector<EventBatchRef> stored = rig.stored();
  const auto made = replayed(stored);
  ClusterState& state = *made;
  const auto batch = drop_job(state, job, Epoch(2), state.time());
  ASSERT_TRUE(batch.has_value()) << batch.error().text();
  const Job& dropped = *state.jobs().find(job);
  EXPECT_TRUE(dropped.is_over());
  EXPECT_EQ(dropped.state, JobState::kCancelled);
  EXPECT_FALSE(dropped.run->steps.at(0).is_running());
  EXPECT_TRUE(state.nodes().at(dropped.run->allocation->nodes.at(0).node).used_cpus.empty());
  EXPECT_FALSE(state.jobs().find(waiting)->is_over());
  // What is journalled makes the same state, and a controller comes up from it.
  stored.push_back(std::make_shared<const EventBatch>(*batch));
  EXPECT_EQ(replayed(stored)->hash(), state.hash());
  Rig next(testing::config_of(2), stored);
  EXPECT_TRUE(next.core.state().jobs().find(job)->is_over());
}

TEST(DropJob, WhoHasANodeDownIsNotForgotten) {
  auto config = testing::config_of(2);
  config->settings.return_to_service = 1;
  Rig rig(config);
  rig.connect_all();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.done(UpdateObject{UpdateKind::kNode, "n1", {{"State", "down"}, {"Reason", "Not responding"}}},
           testing::kRoot);
  std::vector<EventBatchRef> stored = rig.stored();
  const auto made = replayed(stored);
  const auto batch = drop_job(*made, job, Epoch(2), made->time());
  ASSERT_TRUE(batch.has_value()) << batch.error().text();
  stored.push_back(std::make_shared<const EventBatch>(*batch));
  Rig next(config, stored);
  next.connect_all();
  EXPECT_NE(next.core.state().nodes().at(NodeIndex(1)).status.conditions & node_condition::kDown,
            0);
}

TEST(DropJob, AWaitingJobEnds) {
  Rig rig;
  const JobId job = rig.done(submit_of(spec_of())).job;
  const auto made = replayed(rig.stored());
  ClusterState& state = *made;
  ASSERT_TRUE(drop_job(state, job, Epoch(2), state.time()).has_value());
  EXPECT_TRUE(state.jobs().find(job)->is_over());
  EXPECT_EQ(drop_job(state, job, Epoch(3), state.time()).error().code,
            ErrorCode::kFailedPrecondition);
  EXPECT_EQ(drop_job(state, JobId(99), Epoch(3), state.time()).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster
