#include "state/cluster_state.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::add_everything;
using testing::at;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

TEST(ClusterState, ReplayGivesTheSameHashAfterEveryBatch) {
  Log log;
  add_everything(log);
  ClusterState replayed;
  for (const EventBatchRef& batch : log.batches()) replayed.apply(*batch);
  EXPECT_EQ(replayed.hash(), log.state().hash());
  EXPECT_EQ(replayed.seq(), log.state().seq());
  EXPECT_EQ(replayed.time(), log.state().time());
}

TEST(ClusterState, CopyIsEqualAndGoesOnEqually) {
  Log log;
  add_everything(log);
  ClusterState copy;
  copy.copy_from(log.state());
  EXPECT_EQ(copy.hash(), log.state().hash());
  log.submit(spec_of("later"));
  copy.apply(*log.batches().back());
  EXPECT_EQ(copy.hash(), log.state().hash());
}

TEST(ClusterState, EveryChangeShowsInTheHash) {
  Log log;
  std::set<std::uint64_t> seen = {log.state().jobs().hash()};
  const JobId job = log.submit(spec_of());
  EXPECT_TRUE(seen.insert(log.state().jobs().hash()).second);
  log.start(job, {grant_of(0, 0, 1)});
  EXPECT_TRUE(seen.insert(log.state().jobs().hash()).second);
  log.step(job, kBatchStep, {grant_of(0, 0, 1)});
  EXPECT_TRUE(seen.insert(log.state().jobs().hash()).second);
  log.end(job, JobState::kFailed, true);
  EXPECT_TRUE(seen.insert(log.state().jobs().hash()).second);
}

TEST(ClusterState, ArraySplitsAndItsLastElementKeepsTheId) {
  Log log;
  const JobId array = log.submit(spec_of("a"), ArraySpec{Bitmap::range(4, 3), 2});
  EXPECT_EQ(log.job(array).array->range.index_min, 4U);
  EXPECT_EQ(log.job(array).array->range.index_max, 6U);
  for (const std::uint32_t index : {4U, 6U})
    log.add({ArraySplit{array, index, log.state().next_job()}});
  EXPECT_EQ(log.job(JobId(array.value() + 1)).array_index, 4U);
  log.start(array, {grant_of(0, 0, 1)});
  EXPECT_EQ(log.job(array).array_index, 5U);
  EXPECT_EQ(log.job(array).array->active_elements, 1U);
  EXPECT_EQ(log.state().jobs().elements(array)->size(), 3U);
  log.end(array, JobState::kCompleted, true);
  EXPECT_EQ(log.job(array).array->active_elements, 0U);
  EXPECT_EQ(log.state().active_jobs(), 2U);
}

TEST(ClusterState, RequeueGoesBackOneAttemptFurther) {
  Log log;
  const JobId job = log.submit(spec_of());
  NodeGrant grant = grant_of(0, 0, 4);
  grant.gres.push_back({"gpu", "", Bitmap::range(0, 2)});
  log.start(job, {grant});
  const Node& node = log.state().nodes().at(NodeIndex(0));
  ASSERT_EQ(node.used_gres.at("gpu"), Bitmap::range(0, 2));
  log.end(job, JobState::kFailed, true, true);
  EXPECT_FALSE(log.job(job).is_over());
  log.add({JobRequeued{job, at(900), job_flag::kRequeueHeld}});
  EXPECT_TRUE(log.job(job).is_pending());
  EXPECT_TRUE(log.job(job).is_held());
  EXPECT_EQ(log.job(job).attempt, 1U);
  EXPECT_EQ(log.job(job).run, nullptr);
  EXPECT_EQ(log.state().active_jobs(), 1U);
  EXPECT_TRUE(node.used_cpus.empty());
  EXPECT_TRUE(node.used_gres.at("gpu").empty());
}

TEST(ClusterState, NodesAreGivenBackOneByOne) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 4), grant_of(1, 1, 2)});
  log.end(job, JobState::kCancelled, false);
  EXPECT_TRUE(log.job(job).is_completing());
  log.add({NodeReleased{job, NodeIndex(0)}});
  EXPECT_TRUE(log.job(job).is_completing());
  EXPECT_TRUE(log.state().nodes().at(NodeIndex(0)).jobs.empty());
  EXPECT_EQ(log.state().nodes().at(NodeIndex(1)).used_memory_mib, 100U);
  log.add({NodeReleased{job, NodeIndex(1)}});
  EXPECT_TRUE(log.job(job).is_over());
}

TEST(ClusterState, AReleasedNodesPartOfAStepIsKept) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1), grant_of(1, 0, 1)});
  log.step(job, 0, {grant_of(0, 0, 1), grant_of(1, 0, 1)});
  log.end(job, JobState::kTimeout, false);
  const std::uint64_t before = log.state().jobs().hash();
  log.add({NodeReleased{
      job, NodeIndex(0), {StepPart{0, ExitStatus::exited(3), Usage{1, 2, 30}, "why"}}}});
  EXPECT_NE(log.state().jobs().hash(), before);
  const StepState& step = log.job(job).run->steps.at(0);
  EXPECT_TRUE(step.is_running());
  EXPECT_EQ(step.exit, ExitStatus::exited(3));
  EXPECT_EQ(step.usage, (Usage{1, 2, 30}));
  EXPECT_EQ(step.detail, "why");
}

TEST(ClusterState, SuspensionMovesTheEnd) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  const TimePoint end = log.job(job).end_time;
  log.add({JobSuspended{job}});
  log.add({JobResumed{job}});
  EXPECT_EQ(log.job(job).end_time, end + Duration::seconds(1));
  EXPECT_EQ(log.job(job).run->suspended_before, Duration::seconds(1));
}

TEST(ClusterState, BlobsLiveAsLongAsAJobNamesThem) {
  Log log;
  auto spec = spec_of();
  spec->script = BlobId(1);
  JobSubmitted event;
  event.job = log.state().next_job();
  event.spec = spec;
  event.partitions = {PartitionIndex(0)};
  log.add({event}, {BlobWrite{BlobId(1), std::string(32, 'x'), 1,
                              std::make_shared<const std::string>("s")}});
  EXPECT_EQ(log.state().blobs().record(BlobId(1))->references, 1U);
  log.end(event.job, JobState::kCancelled, false);
  log.add({JobsEvicted{{event.job}}});
  EXPECT_FALSE(log.state().blobs().record(BlobId(1)).has_value());
  EXPECT_EQ(log.batches().back()->dead_blobs, std::vector<BlobId>{BlobId(1)});
}

TEST(ClusterState, AnswersAreKeptForTenMinutes) {
  Log log;
  log.add({RequestAnswered{RequestId{7, 7}, UserId(1), {Reply{}}}});
  EXPECT_TRUE(log.state().answers().find(RequestId{7, 7}).has_value());
  ClusterState copy;
  copy.copy_from(log.state());
  copy.apply(Event{at(10'000), JobsEvicted{{}}});
  EXPECT_FALSE(copy.answers().find(RequestId{7, 7}).has_value());
}

/// 3,000 requests/s are recognised for all of the ten minutes.
TEST(Answers, AreKeptAtTheHighestRateForTenMinutes) {
  constexpr std::uint64_t kAll = 3000 * 600;
  AnswerTable table;
  for (std::uint64_t i = 0; i < kAll; ++i) {
    const TimePoint time = at(1000) + Duration::microseconds(static_cast<std::int64_t>(i) * 333);
    table.expire(time);
    table.add(RequestId{1, i}, Answer{UserId(1), time, {}});
  }
  EXPECT_EQ(table.size(), kAll);
}

TEST(Answers, HaveABound) {
  AnswerTable table;
  for (std::uint64_t i = 0; i < AnswerTable::kMaxAnswers + 10; ++i)
    table.add(RequestId{1, i}, Answer{UserId(1), at(1000), {}});
  EXPECT_EQ(table.size(), AnswerTable::kMaxAnswers);
}

TEST(ClusterStateDeathTest, StopsBeforeACpuIsGivenTwice) {
  Log log;
  const JobId a = log.submit(spec_of());
  const JobId b = log.submit(spec_of());
  log.start(a, {grant_of(0, 0, 2)});
  EXPECT_DEATH(log.start(b, {grant_of(0, 1, 1)}), "given twice");
  EXPECT_DEATH(log.start(a, {grant_of(0, 2, 1)}), "starts twice");
  EXPECT_DEATH(log.add({JobRequeued{a, at(0), 0}}), "requeued while it holds nodes");
  EXPECT_DEATH(log.add({JobsEvicted{{b}}}), "evicted before its end");
  EXPECT_DEATH(log.add({StepEnded{StepId{a, 0, 3}, JobState::kCompleted, {}, {}, ""}}),
               "ends twice");
  log.end(a, JobState::kFailed, true);
  EXPECT_DEATH(log.end(a, JobState::kFailed, true), "ends twice");
}

TEST(ClusterStateDeathTest, RefusesTimeAndNumbersThatGoBack) {
  Log log;
  log.submit(spec_of());
  EventBatch batch;
  batch.seq = Seq(9);
  ClusterState copy;
  copy.copy_from(log.state());
  EXPECT_DEATH(copy.apply(batch), "batch 9 after 2");
  EXPECT_DEATH(copy.apply(Event{at(-5), JobsEvicted{{}}}), "time goes back");
}

TEST(EventRules, WhatEarlierJournalsImpliedIsAnEventToday) {
  const auto ended_after = [](std::uint32_t rules) {
    Log log;
    log.add({EpochStarted{Epoch(2), "", rules}});
    auto spec = std::make_shared<ExperimentSpec>();
    spec->job = spec_of("e");
    ExperimentCreated created;
    created.experiment = ExperimentId(1);
    created.spec = spec;
    log.add({created});
    const bool is_asked = !log.state().experiments().find(ExperimentId(1))->inputs.empty();
    ExperimentChanged killed;
    killed.experiment = ExperimentId(1);
    killed.state = ExperimentState::kStoppingKilled;
    log.add({killed});
    const Experiment& experiment = *log.state().experiments().find(ExperimentId(1));
    return std::pair(is_asked, experiment.state);
  };
  EXPECT_EQ(ended_after(0), std::pair(true, ExperimentState::kCanceled));
  EXPECT_EQ(ended_after(1), std::pair(false, ExperimentState::kStoppingKilled));
}

}  // namespace
}  // namespace muster
