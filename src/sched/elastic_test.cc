#include "sched/elastic.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/planner.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// One node of 8 CPUs with elastic jobs of one CPU a slot: what becomes of the first of them.
class Elastic : public ::testing::Test {
 protected:
  ClusterSnapshot snapshot_ = make_snapshot(make_cluster(equal_nodes(1, 8)));
  std::vector<ElasticJob> jobs_;

  ElasticJob& add(std::uint32_t id, std::uint32_t slots, std::uint32_t min, std::uint32_t max) {
    return jobs_.emplace_back(
        ElasticJob{make_job(id, tasks(slots)), slots, min, max, false, false});
  }
  void waits(const ElasticJob& job) { snapshot_.add_pending(job.job); }
  void runs(std::uint32_t id, std::uint32_t cpus) {
    snapshot_.add_pending(make_job(id, tasks(cpus)));
    apply(snapshot_, plan(snapshot_, at(0)));
    ASSERT_NE(snapshot_.find_running(JobId(id)), nullptr);
  }
  std::optional<Resize> next() {
    snapshot_.advance_time(at(50));
    const Plan made = plan(snapshot_, at(50));
    EXPECT_TRUE(made.starts.empty());
    return resize_of(jobs_.front(), snapshot_, made, jobs_, at(50), [](JobId, std::uint32_t slots) {
      return std::make_shared<const ResourceRequest>(tasks(slots));
    });
  }
};

TEST_F(Elastic, AJobThatWaitsTakesAllThatIsFree) {
  runs(1, 5);
  waits(add(2, 8, 2, 8));
  EXPECT_EQ(next(), (Resize{JobId(2), 3}));
}

TEST_F(Elastic, AJobWaitsOnWhereLessThanItsLeastIsFree) {
  runs(1, 7);
  waits(add(2, 8, 2, 8));
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(Elastic, ASmallerRequestPushesNobodyAside) {
  runs(1, 5);
  snapshot_.add_pending(
      make_job(2, tasks(8),
               100));  // has a window when job 1 ends, before which 3 CPUs for 1000 s would not end
  ElasticJob& late = add(3, 8, 2, 8);
  late.job.time_limit = Duration::seconds(1000);
  waits(late);
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(Elastic, ARunningJobGrowsIntoWhatNobodyWants) {
  runs(1, 3);
  ElasticJob& job = add(1, 3, 1, 6);
  job.is_running = true;
  EXPECT_EQ(next(), std::nullopt) << "it has not run for long";
  job.is_steady = true;
  EXPECT_EQ(next(), (Resize{JobId(1), 6}));
  job.max = 100;
  EXPECT_EQ(next(), (Resize{JobId(1), 8}));
}

TEST_F(Elastic, ARunningJobMakesRoomForTheFirstThatWaits) {
  runs(1, 8);
  ElasticJob& job = add(1, 8, 2, 8);
  job.is_running = job.is_steady = true;
  snapshot_.add_pending(make_job(2, tasks(3)));
  EXPECT_EQ(next(), (Resize{JobId(1), 5}));
  job.min = 6;
  EXPECT_EQ(next(), std::nullopt) << "it cannot give as much";
}

TEST_F(Elastic, AJobThatCouldGrowDoesNotWhileSomebodyWaits) {
  runs(1, 4);
  ElasticJob& job = add(1, 4, 4, 8);
  job.is_running = job.is_steady = true;
  snapshot_.add_pending(make_job(2, on_nodes(2, 2)));  // never fits
  snapshot_.add_pending(make_job(3, tasks(6)));
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(Elastic, TwoElasticJobsShare) {
  runs(1, 8);
  ElasticJob& job = add(1, 8, 2, 8);
  job.is_running = job.is_steady = true;
  waits(add(2, 8, 4, 8));
  EXPECT_EQ(next(), (Resize{JobId(1), 4})) << "room for the least that the other can do with";
}

}  // namespace
}  // namespace muster::sched
