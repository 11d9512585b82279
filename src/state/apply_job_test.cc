// What each event of a job does to the job, to its array, to its nodes and to its blobs, and which
// events stop the process because they are impossible.
#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

JobChanged change_of(JobId job) {
  JobChanged change;
  change.job = job;
  return change;
}

JobSubmitted submission_of(const Log& log, std::shared_ptr<JobSpec> spec) {
  JobSubmitted event;
  event.job = log.state().next_job();
  event.spec = std::move(spec);
  event.partitions = {PartitionIndex(1), PartitionIndex(0)};
  event.time_limit = Duration::minutes(5);
  event.priority = 77;
  return event;
}

BlobWrite blob_of(std::uint64_t id, char fill) {
  return {BlobId(id), std::string(32, fill), 1, std::make_shared<const std::string>("s")};
}

/// Counts what leaves the state, as history does.
struct Ended : ApplyObserver {
  std::vector<std::pair<JobId, JobState>> attempts;
  std::vector<std::pair<std::uint32_t, JobState>> steps;
  TimePoint last;
  void attempt_ended(const Job& job, TimePoint now) override {
    attempts.emplace_back(job.id, job.state);
    last = now;
  }
  void step_ended(const Job&, const StepState& step, TimePoint now) override {
    steps.emplace_back(step.id.step, step.state);
    last = now;
  }
};

TEST(JobSubmitted, HasWhatTheEventSays) {
  Log log;
  auto spec = spec_of("sim");
  spec->begin_time = at(500);
  JobSubmitted event = submission_of(log, spec);
  event.flags = job_flag::kUserHeld;
  event.reason = PendingReason::kJobHeldUser;
  log.add({event});
  const Job& job = log.job(event.job);
  EXPECT_EQ(job.spec->name(), "sim");
  EXPECT_EQ(job.priority, 77);
  EXPECT_EQ(job.time_limit, Duration::minutes(5));
  EXPECT_EQ(job.partition, PartitionIndex(1)) << "the first that the user named";
  EXPECT_EQ(job.partitions.size(), 2U);
  EXPECT_EQ(job.submit_time, log.state().time());
  EXPECT_EQ(job.eligible_time, at(500)) << "not before its begin time";
  EXPECT_TRUE(job.is_held());
  EXPECT_EQ(job.reason, PendingReason::kJobHeldUser);
  EXPECT_EQ(log.state().next_job(), JobId(event.job.value() + 1));
  EXPECT_EQ(log.state().active_jobs(), 1U);
}

TEST(JobSubmitted, IsEligibleAtOnceUnlessItDepends) {
  Log log;
  auto past = spec_of();
  past->begin_time = at(-500);
  const JobId first = log.submit(past);
  EXPECT_EQ(log.job(first).eligible_time, log.state().time());
  JobSubmitted event = submission_of(log, spec_of());
  event.dependencies.terms.push_back({DependencyKind::kAfterOk, first, {}, {}});
  log.add({event});
  EXPECT_FALSE(log.job(event.job).eligible_time.is_set());
  ASSERT_NE(log.job(event.job).dependencies, nullptr);
  EXPECT_EQ(log.job(event.job).dependencies->terms.front().job, first);
}

TEST(JobSubmitted, LeavesOutNumbersButNeverGivesOneTwice) {
  Log log;
  JobSubmitted event = submission_of(log, spec_of());
  event.job = JobId(10);
  log.add({event});
  EXPECT_EQ(log.state().next_job(), JobId(11));
  log.add({JobIdsReserved{JobId(20)}});
  EXPECT_EQ(log.submit(spec_of()), JobId(20));
  EXPECT_DEATH(log.add({event}), "job id 10 was given before");
  EXPECT_DEATH(log.add({JobIdsReserved{JobId(3)}}), "job id 3 was given before");
  event.job = JobId(30);
  event.partitions = {};
  EXPECT_DEATH(log.add({event}), "job 30 without a partition");
}

TEST(Array, RangeIsWhatWasAskedFor) {
  Log log;
  Bitmap indices;
  for (const std::size_t index : {3U, 5U, 7U}) indices.set(index);
  const Job& stepped = log.job(log.submit(spec_of(), ArraySpec{indices, 0}));
  EXPECT_EQ(stepped.array->range.task_count, 3U);
  EXPECT_EQ(stepped.array->range.index_min, 3U);
  EXPECT_EQ(stepped.array->range.index_max, 7U);
  EXPECT_EQ(stepped.array->range.index_step, 2U);
  const Job& single = log.job(log.submit(spec_of(), ArraySpec{Bitmap::range(9, 1), 0}));
  EXPECT_EQ(single.array->range.index_step, 1U);
  EXPECT_EQ(single.array->range.index_max, 9U);
  EXPECT_EQ(single.array_job, single.id);
}

TEST(Array, ElementHasWhatItsRecordHas) {
  Log log;
  const JobId array = log.submit(spec_of("a"), ArraySpec{Bitmap::range(0, 3), 1});
  JobChanged change = change_of(array);
  change.priority = 5;
  change.flags = job_flag::kUserHeld;
  change.dependencies = DependencySet{false, {{DependencyKind::kSingleton, JobId(), {}, {}}}};
  log.add({change});
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 1, element}});
  const Job& job = log.job(element);
  EXPECT_EQ(job.spec, log.job(array).spec) << "shared, not copied";
  EXPECT_EQ(job.priority, 5);
  EXPECT_TRUE(job.is_held());
  EXPECT_EQ(job.array_job, array);
  EXPECT_EQ(job.array_index, 1U);
  EXPECT_EQ(job.submit_time, log.job(array).submit_time);
  EXPECT_EQ(*job.dependencies, *log.job(array).dependencies);
  EXPECT_EQ(job.array_range->task_count, 3U);
  EXPECT_FALSE(log.job(array).array->remaining.indices.test(1));
  EXPECT_EQ(log.state().jobs().elements(array)->at(1), element);
  EXPECT_EQ(log.state().active_jobs(), 2U);
}

TEST(Array, SplitsThatCannotBeStopTheProcess) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 2), 0});
  const JobId plain = log.submit(spec_of());
  const JobId next = log.state().next_job();
  EXPECT_DEATH(log.add({ArraySplit{array, 2, next}}), "has no element 2 left");
  EXPECT_DEATH(log.add({ArraySplit{plain, 0, next}}), "has no element 0 left");
  EXPECT_DEATH(log.add({ArraySplit{array, 0, plain}}), "was given before");
  EXPECT_DEATH(log.add({ArraySplit{JobId(99), 0, next}}), "no job 99");
  log.add({ArraySplit{array, 0, next}});
  EXPECT_DEATH(log.add({ArraySplit{array, 1, log.state().next_job()}}), "keeps the array's id");
  EXPECT_DEATH(log.submit(spec_of(), ArraySpec{}), "an array without elements");
}

TEST(Array, ThatWasCancelledUnsplitNeedsOneElementToStart) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  EXPECT_DEATH(log.start(array, {grant_of(0, 0, 1)}), "starts as a whole");
  JobChanged change = change_of(array);
  change.array = ArraySpec{Bitmap::range(2, 1), 0};
  log.add({change});
  log.start(array, {grant_of(0, 0, 1)});
  EXPECT_EQ(log.job(array).array_index, 2U);
  EXPECT_TRUE(log.job(array).array->remaining.indices.empty());
}

TEST(Array, ThrottleIsChangedOnTheRecordAlone) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 2});
  const JobId plain = log.submit(spec_of());
  for (const JobId job : {array, plain}) {
    JobChanged change = change_of(job);
    change.array_throttle = 3;
    log.add({change});
  }
  EXPECT_EQ(log.job(array).array->remaining.throttle, 3U);
  EXPECT_EQ(log.job(plain).array, nullptr);
}

TEST(Array, RemembersHowElementsEndedThatHaveLeftMemory) {
  Log log;
  log.add({EpochStarted{Epoch(2), "", kEventRules}});
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  const JobId good(array.value() + 1);
  const JobId bad(array.value() + 2);
  log.add({ArraySplit{array, 0, good}, ArraySplit{array, 1, bad}});
  log.start(good, {grant_of(0, 0, 1)});
  log.start(bad, {grant_of(0, 1, 1)});
  EXPECT_EQ(log.job(array).array->active_elements, 2U);
  log.end(good, JobState::kCompleted, true);
  log.end(bad, JobState::kTimeout, true);
  EXPECT_EQ(log.job(array).array->active_elements, 0U);
  log.add({JobsEvicted{{good, bad}}});
  EXPECT_TRUE(log.job(array).array->evicted_completed.test(0));
  EXPECT_TRUE(log.job(array).array->evicted_failed.test(1));
  EXPECT_FALSE(log.job(array).array->evicted_completed.test(1));
  EXPECT_EQ(log.state().jobs().elements(array), nullptr);
}

TEST(JobStarted, TakesItsNodesAndForgetsWhatThePreviousRunLeft) {
  Log log;
  const JobId job = log.submit(spec_of());
  JobChanged change = change_of(job);
  change.flags = job_flag::kSpecialExit;
  change.reason = PendingReason::kResources;
  log.add({change});
  auto allocation = std::make_shared<Allocation>();
  allocation->nodes = {grant_of(0, 0, 2), grant_of(1, 0, 4)};
  log.add({JobStarted{job, PartitionIndex(1), allocation, Duration::hours(1), 4711}});
  const Job& started = log.job(job);
  EXPECT_EQ(started.state, JobState::kRunning);
  EXPECT_EQ(started.reason, PendingReason::kNone);
  EXPECT_EQ(started.flags & job_flag::kSpecialExit, 0);
  EXPECT_EQ(started.partition, PartitionIndex(1));
  EXPECT_EQ(started.start_time, log.state().time());
  EXPECT_EQ(started.end_time, started.start_time + Duration::hours(1));
  EXPECT_EQ(started.run->run_key, 4711U);
  EXPECT_EQ(log.state().nodes().at(NodeIndex(1)).used_cpus.count(), 4U);
  EXPECT_EQ(log.state().nodes().at(NodeIndex(1)).used_memory_mib, 100U);
  EXPECT_EQ(log.state().nodes().at(NodeIndex(1)).status.last_busy_time, started.start_time);
}

TEST(JobStarted, WithoutALimitHasNoEnd) {
  Log log;
  const JobId job = log.submit(spec_of());
  auto allocation = std::make_shared<Allocation>();
  allocation->nodes = {grant_of(0, 0, 1)};
  log.add({JobStarted{job, PartitionIndex(0), allocation, Duration::infinite(), 0}});
  EXPECT_FALSE(log.job(job).end_time.is_set());
  log.add({JobSuspended{job}});
  log.add({JobResumed{job}});
  EXPECT_FALSE(log.job(job).end_time.is_set()) << "a pause gives it none";
  JobChanged change = change_of(job);
  change.time_limit = Duration::minutes(1);
  log.add({change});
  EXPECT_EQ(log.job(job).end_time,
            log.job(job).start_time + Duration::minutes(1) + Duration::seconds(1))
      << "a second of which it was suspended";
}

TEST(JobEnding, OfAJobThatNeverRanIsItsEnd) {
  Log log;
  const JobId job = log.submit(spec_of());
  JobEnding ending;
  ending.job = job;
  ending.state = JobState::kCancelled;
  ending.by = UserId(7);
  ending.detail = "its owner left";
  Ended ended;
  ClusterState copy;
  copy.copy_from(log.state());
  copy.apply(Event{at(50), ending}, &ended);
  const Job& over = *copy.jobs().find(job);
  EXPECT_TRUE(over.is_over());
  EXPECT_EQ(over.cancelled_by, UserId(7));
  EXPECT_EQ(*over.detail, "its owner left");
  EXPECT_EQ(over.end_time, at(50));
  EXPECT_FALSE(over.start_time.is_set());
  EXPECT_EQ(copy.active_jobs(), 0U);
  EXPECT_EQ(ended.attempts, (std::vector{std::pair(job, JobState::kCancelled)}));
}

TEST(JobEnding, IsHeardOfWhenTheLastNodeIsFree) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1), grant_of(1, 0, 1)});
  log.end(job, JobState::kFailed, false);
  Ended ended;
  ClusterState copy;
  copy.copy_from(log.state());
  copy.apply(Event{at(50), NodeReleased{job, NodeIndex(1)}}, &ended);
  copy.apply(Event{at(51), NodeReleased{job, NodeIndex(1)}}, &ended);
  EXPECT_TRUE(ended.attempts.empty()) << "a node that says it twice counts once";
  copy.apply(Event{at(52), NodeReleased{job, NodeIndex(0)}}, &ended);
  EXPECT_EQ(ended.attempts.size(), 1U);
  EXPECT_EQ(ended.last, at(52));
  EXPECT_EQ(copy.nodes().at(NodeIndex(1)).status.last_busy_time, at(50));
  EXPECT_EQ(copy.jobs().find(job)->end_time, log.job(job).end_time) << "the run's, not the nodes'";
}

TEST(JobEnding, WhileCompletingReplacesTheFirst) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  log.end(job, JobState::kFailed, false, true);
  EXPECT_NE(log.job(job).flags & job_flag::kRequeueAfter, 0);
  log.end(job, JobState::kCancelled, false);
  EXPECT_EQ(log.job(job).state, JobState::kCancelled);
  EXPECT_EQ(log.job(job).flags & job_flag::kRequeueAfter, 0) << "who cancels wants no requeue";
  log.add({NodeReleased{job, NodeIndex(0)}});
  EXPECT_TRUE(log.job(job).is_over());
}

TEST(JobEnding, CountsTheSuspensionThatItEnds) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  log.add({JobSuspended{job}});
  EXPECT_EQ(log.job(job).run->suspend_time, log.state().time());
  log.end(job, JobState::kCancelled, true);
  EXPECT_EQ(log.job(job).run->suspended_before, Duration::seconds(1));
}

TEST(JobRequeued, ForgetsTheRun) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  log.step(job, kBatchStep, {grant_of(0, 0, 1)});
  JobEnding ending;
  ending.job = job;
  ending.state = JobState::kNodeFail;
  ending.exit = ExitStatus::exited(1);
  ending.by = UserId(3);
  ending.detail = "n0 is gone";
  ending.is_clean = true;
  ending.requeue_after = true;
  ending.hold_after = job_flag::kRequeueHeld;
  log.add({ending});
  EXPECT_EQ(log.job(job).hold_after, job_flag::kRequeueHeld);
  EXPECT_DEATH(log.add({JobRequeued{job, at(900), 0}}), "with step .* running");
  log.add({StepEnded{StepId{job, 0, kBatchStep}, JobState::kFailed, {}, {}, ""}});
  log.add({JobRequeued{job, at(900), 0}});
  const Job& again = log.job(job);
  EXPECT_TRUE(again.is_pending());
  EXPECT_EQ(again.flags, job_flag::kRequeued);
  EXPECT_EQ(again.eligible_time, at(900));
  EXPECT_FALSE(again.start_time.is_set() || again.end_time.is_set());
  EXPECT_EQ(again.exit, ExitStatus());
  EXPECT_EQ(again.cancelled_by, UserId());
  EXPECT_EQ(again.detail, nullptr);
  EXPECT_EQ(again.hold_after, 0);
  EXPECT_EQ(again.attempt, 1U);
}

TEST(JobChanged, WhatIsAbsentStaysAsItWas) {
  Log log;
  const JobId job = log.submit(spec_of("before"));
  const std::uint64_t hash = log.state().jobs().hash();
  log.add({change_of(job)});
  EXPECT_EQ(log.state().jobs().hash(), hash);
  EXPECT_EQ(log.job(job).spec->name(), "before");
}

TEST(JobChanged, EachFieldAlone) {
  Log log;
  const JobId job = log.submit(spec_of("before"));
  const auto changed = [&](auto&& set) -> const Job& {
    JobChanged change = change_of(job);
    set(change);
    const std::uint64_t hash = log.state().jobs().hash();
    log.add({change});
    EXPECT_NE(log.state().jobs().hash(), hash) << "each shows in the hash";
    return log.job(job);
  };
  EXPECT_EQ(changed([](JobChanged& c) { c.spec = spec_of("after"); }).spec->name(), "after");
  EXPECT_EQ(changed([](JobChanged& c) { c.priority = 9; }).priority, 9);
  EXPECT_EQ(changed([](JobChanged& c) { c.eligible_time = at(70); }).eligible_time, at(70));
  EXPECT_EQ(changed([](JobChanged& c) { c.reason = PendingReason::kBadConstraints; }).reason,
            PendingReason::kBadConstraints);
  EXPECT_TRUE(changed([](JobChanged& c) { c.flags = job_flag::kAdminHeld; }).is_held());
  EXPECT_FALSE(changed([](JobChanged& c) { c.flags = std::uint16_t{0}; }).is_held());
  const std::vector<PartitionIndex> both = {PartitionIndex(1), PartitionIndex(0)};
  EXPECT_EQ(changed([&](JobChanged& c) { c.partitions = both; }).partition, PartitionIndex(1));
  DependencySet set;
  set.terms.push_back({DependencyKind::kAfter, JobId(9), {}, {}});
  EXPECT_EQ(*changed([&](JobChanged& c) { c.dependencies = set; }).dependencies, set);
  EXPECT_EQ(changed([](JobChanged& c) { c.dependencies = DependencySet(); }).dependencies, nullptr);
  EXPECT_NE(changed([](JobChanged& c) { c.is_warned = true; }).flags & job_flag::kWarned, 0);
}

TEST(JobChanged, HoldsAreReplacedAndOtherConditionsStay) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  log.end(job, JobState::kFailed, true, true);
  log.add({JobRequeued{job, at(0), job_flag::kRequeueHeld}});
  JobChanged change = change_of(job);
  change.flags = job_flag::kUserHeld;
  log.add({change});
  EXPECT_EQ(log.job(job).flags, job_flag::kRequeued | job_flag::kUserHeld);
}

TEST(JobChanged, ALimitMovesTheEndOfARunAlone) {
  Log log;
  const JobId job = log.submit(spec_of());
  JobChanged change = change_of(job);
  change.time_limit = Duration::minutes(3);
  log.add({change});
  EXPECT_EQ(log.job(job).time_limit, Duration::minutes(3));
  EXPECT_FALSE(log.job(job).end_time.is_set());
  log.start(job, {grant_of(0, 0, 1)});
  log.add({change});
  EXPECT_EQ(log.job(job).end_time, log.job(job).start_time + Duration::minutes(3));
  change.time_limit = Duration::infinite();
  log.add({change});
  EXPECT_FALSE(log.job(job).end_time.is_set());
  log.end(job, JobState::kFailed, false);
  const TimePoint ended = log.job(job).end_time;
  change.time_limit = Duration::minutes(1);
  log.add({change});
  EXPECT_EQ(log.job(job).end_time, ended) << "it has ended, though its nodes are not free";
}

TEST(JobsEvicted, ReleasesScriptAndEnvironment) {
  Log log;
  auto spec = spec_of();
  spec->script = BlobId(1);
  spec->environment = BlobId(2);
  JobSubmitted event = submission_of(log, spec);
  log.add({event}, {blob_of(1, 'a'), blob_of(2, 'b')});
  auto other = spec_of();
  other->script = BlobId(1);
  const JobId second = log.submit(other);
  EXPECT_EQ(log.state().blobs().record(BlobId(1))->references, 2U);
  log.end(event.job, JobState::kCancelled, false);
  log.add({JobsEvicted{{event.job}}});
  EXPECT_EQ(log.state().jobs().find(event.job), nullptr);
  EXPECT_EQ(log.batches().back()->dead_blobs, std::vector<BlobId>{BlobId(2)});
  log.end(second, JobState::kCancelled, false);
  log.add({JobsEvicted{{second}}});
  EXPECT_EQ(log.batches().back()->dead_blobs, std::vector<BlobId>{BlobId(1)});
}

TEST(JobDeath, EventsOutOfTheirOrder) {
  Log log;
  const JobId job = log.submit(spec_of());
  EXPECT_DEATH(log.add({JobSuspended{job}}), "is suspended while not running");
  EXPECT_DEATH(log.add({JobResumed{job}}), "is resumed while not suspended");
  EXPECT_DEATH(log.add({NodeReleased{job, NodeIndex(0)}}), "releases a node while it runs");
  EXPECT_DEATH(log.add({JobRequeued{job, at(0), 0}}), "requeued while it holds nodes");
  EXPECT_DEATH(log.add({change_of(JobId(50))}), "no job 50");
  log.start(job, {grant_of(0, 0, 1)});
  EXPECT_DEATH(log.add({JobResumed{job}}), "is resumed while not suspended");
  EXPECT_DEATH(log.add({NodeReleased{job, NodeIndex(0)}}), "releases a node while it runs");
  EXPECT_DEATH(log.add({JobsEvicted{{job}}}), "evicted before its end");
  log.add({JobSuspended{job}});
  EXPECT_DEATH(log.add({JobSuspended{job}}), "is suspended while not running");
}

}  // namespace
}  // namespace muster
