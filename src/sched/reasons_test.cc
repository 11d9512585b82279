// Why a job waits: what is lacking, by its name and in its number, and who has it.
#include "sched/reasons.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sched/planner.h"
#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// Two nodes of 16 CPUs and 4 GPUs; job 100 has half of the first and two of its GPUs, job 101 a
/// few CPUs of the second.
struct Busy : ::testing::Test {
  Busy() {
    std::vector<NodeConfig> nodes{make_node("a0", 16, 1000, {{"gpu", "", 4, {}}}),
                                  make_node("a1", 16, 1000, {{"gpu", "", 4, {}}})};
    snapshot = make_snapshot(make_cluster(std::move(nodes)));
    snapshot.advance_time(at(0));
    run(100, 0, 8, 2, 500);
    run(101, 1, 4, 0, 900);
  }
  void run(std::uint32_t id, std::uint32_t node, std::uint32_t cpus, std::uint32_t gpus,
           std::int64_t end) {
    NodeAmount amount;
    amount.node = NodeIndex(node);
    amount.cpus = cpus;
    amount.task_count = 1;
    if (gpus > 0) amount.gres = {{GresKindId(0), gpus}};
    snapshot.start_job({JobId(id), PartitionIndex(0), {amount}, at(end)});
  }
  /// "what: wanted/found by jobs" of each reason for the job, which waits.
  std::vector<std::string> why(const ResourceRequest& request, std::int64_t limit_seconds = 100) {
    snapshot.add_pending(make_job(1, request, limit_seconds));
    const Plan made = plan(snapshot, at(0), PlanOptions());
    EXPECT_EQ(placed(made, 1), "-");
    std::vector<std::string> all;
    for (const ReasonDetail& detail : reasons_of(snapshot, made, JobId(1)).details) {
      std::string jobs;
      for (const JobId job : detail.blocking_jobs) jobs += " " + std::to_string(job.value());
      all.push_back(detail.constraint + ": " + std::to_string(detail.wanted) + "/" +
                    std::to_string(detail.found) + jobs);
    }
    return all;
  }
  ClusterSnapshot snapshot;
};
using Lines = std::vector<std::string>;

TEST_F(Busy, TasksThatDoNotFitAreCounted) {
  EXPECT_EQ(why(tasks(24)),
            (Lines{"tasks that the nodes with room of partition main take now: 24/20 100 101"}));
}

TEST_F(Busy, OnOneNodeTheBestOfThemCounts) {
  EXPECT_EQ(why(on_nodes(1, 14)),
            (Lines{"of 2 matching nodes of partition main, with room now: 1/0 100 101"}));
}

TEST_F(Busy, DevicesOfTheWholeJobAreCountedByTheirName) {
  ResourceRequest request = tasks(1);
  request.gres_per_job = {{"gpu", "", 7}};
  EXPECT_EQ(why(request), (Lines{"gpu free on those nodes of partition main: 7/6 100"}));
}

TEST_F(Busy, OfNodesThatAreNamedOnlyWhoIsThereStandsInTheWay) {
  ResourceRequest request = on_nodes(1, 1, 14);
  request.required_nodes = {"a1"};
  EXPECT_EQ(why(request), (Lines{"nodes asked for by name, with room now: 1/0 101"}));
}

TEST_F(Busy, AllThatGoFirstAreCountedAndNoneThatWaitsElsewhere) {
  ResourceRequest named = on_nodes(1, 1, 16);
  named.required_nodes = {"a1"};
  for (std::uint32_t i = 0; i < 8; ++i) {
    PendingJob first = make_job(2 + i, named);
    first.priority = 10;
    snapshot.add_pending(std::move(first));
  }
  ResourceRequest elsewhere = on_nodes(1, 1, 16);
  elsewhere.required_nodes = {"a0"};
  PendingJob other = make_job(50, elsewhere);
  other.priority = 20;
  snapshot.add_pending(std::move(other));
  const Lines lines = why(named);
  EXPECT_EQ(lines.back(), "jobs of higher rank wait for the same nodes: 0/8 2");
}

TEST_F(Busy, ANamedNodeThatIsNotAllOfAJobLeavesItTheOthers) {
  PendingJob first = make_job(2, on_nodes(1, 1, 16));
  first.priority = 10;
  snapshot.add_pending(std::move(first));  // its window is on a0, which ends first
  ResourceRequest both = on_nodes(2, 2, 16);
  both.task_count = 1;
  both.required_nodes = {"a1"};
  EXPECT_EQ(why(both).back(), "jobs of higher rank wait for the same nodes: 0/1 2");
}

TEST_F(Busy, WhoOnlyStandsBehindOthersIsToldThat) {
  PendingJob first = make_job(2, on_nodes(2, 2, 16));
  first.priority = 10;
  snapshot.add_pending(std::move(first));
  EXPECT_EQ(why(on_nodes(1, 1, 4), 10'000),
            (Lines{"jobs of higher rank wait for the same nodes: 0/1 2"}))
      << "there is room now, until that window begins";
}

TEST_F(Busy, WhoGoesFirstIsSaidWhereNobodyHasAWindow) {
  snapshot.end_job(JobId(100));
  snapshot.end_job(JobId(101));
  for (const std::uint32_t node : {0U, 1U}) {
    NodeAmount all;
    all.node = NodeIndex(node);
    all.cpus = 16;
    all.task_count = 1;
    snapshot.start_job({JobId(200 + node), PartitionIndex(0), {all}, TimePoint::never()});
  }
  for (const std::uint32_t id : {2U, 3U}) {
    PendingJob first = make_job(id, tasks(id));
    first.priority = 10;
    snapshot.add_pending(std::move(first));
  }
  const Lines lines = why(tasks(1));
  EXPECT_EQ(lines.back(), "jobs of higher rank wait for the same nodes: 0/2 2 3");
}

}  // namespace
}  // namespace muster::sched
