#include "slurm/rank_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/rng.h"

namespace muster {
namespace {

using Counts = std::vector<std::uint32_t>;
constexpr DistributionRule kBlock{};
constexpr DistributionRule kCyclic{Distribution::kCyclic, 0};
constexpr DistributionRule plane(std::uint32_t size) { return {Distribution::kPlane, size}; }

TEST(RankLayout, AJobWithoutANumberOfTasksIsForAsManyAsItsCpusHold) {
  NodeGrant grant;
  grant.task_count = 1;
  grant.cpus = Bitmap::range(0, 8);
  JobSpec job;
  EXPECT_EQ(job_tasks_on(job, grant), 8U);
  job.request.edit()->cpus_per_task = 3;
  EXPECT_EQ(job_tasks_on(job, grant), 2U);
  EXPECT_EQ(job_tasks_on(job, grant, 3), 1U) << "as far as they are for tasks";
  job.given = given_option::kTaskCount;
  EXPECT_EQ(job_tasks_on(job, grant), 1U);
}

TEST(RankLayout, TasksPerNodeOnARangeOfNodesFollowTheNodes) {
  JobSpec job;
  job.request.edit()->min_nodes = 2;
  job.request.edit()->max_nodes = 4;
  job.request.edit()->tasks_per_node = 2;
  job.request.edit()->task_count = 4;
  EXPECT_EQ(task_count_on(job, 4), 8U);
  NodeGrant grant;
  grant.task_count = 2;
  grant.cpus = Bitmap::range(0, 8);
  EXPECT_EQ(job_tasks_on(job, grant), 2U) << "not as many as its CPUs hold";
  job.given = given_option::kTaskCount;
  EXPECT_EQ(task_count_on(job, 4), 4U);
}

TEST(RankLayout, IdleThreadsAreNoCpusOfTheJob) {
  NodeConfig node;
  node.cpus = 16;
  node.sockets = 2;
  node.cores_per_socket = 4;
  node.threads_per_core = 2;
  JobSpec job;
  EXPECT_EQ(usable_cpus(job, 8, node), 8U);
  job.request.edit()->threads_per_core = 1;
  EXPECT_EQ(usable_cpus(job, 8, node), 4U);
  job.request.edit()->threads_per_core = 2;
  EXPECT_EQ(usable_cpus(job, 8, node), 8U);
  job.request.edit()->threads_per_core = 1;
  node.cpus = 8;  // configured with a CPU for each core
  EXPECT_EQ(usable_cpus(job, 8, node), 8U);
}

TEST(RankLayout, DealsRanksOut) {
  EXPECT_EQ(rank_layout(Counts{2, 1}, kBlock), (RankLayout{{0, 1}, {2}}));
  EXPECT_EQ(rank_layout(Counts{3, 1, 2}, kCyclic), (RankLayout{{0, 3, 5}, {1}, {2, 4}}));
  EXPECT_EQ(rank_layout(Counts{4, 3}, plane(2)), (RankLayout{{0, 1, 4, 5}, {2, 3, 6}}));
  EXPECT_EQ(rank_layout(Counts{}, kBlock), RankLayout{});
  EXPECT_EQ(rank_layout(Counts{0, 2}, kCyclic), (RankLayout{{}, {0, 1}}));
}

TEST(RankLayout, PlacesAreTheLayoutReadTheOtherWay) {
  constexpr std::uint64_t kSeed = 9;
  Rng rng(kSeed);
  for (int round = 0; round < 500; ++round) {
    Counts counts(1 + rng.below(6));
    for (std::uint32_t& count : counts) count = static_cast<std::uint32_t>(rng.below(6));
    const DistributionRule rule{static_cast<Distribution>(rng.below(3)),
                                static_cast<std::uint32_t>(1 + rng.below(4))};
    const auto total = std::accumulate(counts.begin(), counts.end(), 0U);
    const RankLayout layout = rank_layout(counts, rule);
    const std::vector<TaskPosition> places = task_positions(layout);
    ASSERT_EQ(places.size(), total) << "seed " << kSeed << " round " << round;
    for (std::uint32_t rank = 0; rank < total; ++rank) {
      EXPECT_EQ(layout[places[rank].node][places[rank].local_id], rank)
          << "seed " << kSeed << " round " << round;
    }
    for (const auto& ranks : layout) EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
  }
}

TEST(RankLayout, WritesTexts) {
  EXPECT_EQ(counts_text(Counts{2, 2, 2, 1}), "2(x3),1");
  EXPECT_EQ(counts_text(Counts{72, 72, 36}), "72(x2),36");
  EXPECT_EQ(counts_text(Counts{1}), "1");
  EXPECT_EQ(counts_text(Counts{}), "");
  EXPECT_EQ(ranks_text(Counts{0, 2, 4}), "0,2,4");
}

TEST(RankLayout, ReadsDistributions) {
  EXPECT_EQ(parse_distribution("block").value(), kBlock);
  EXPECT_EQ(parse_distribution("Cyclic:block").value(), kCyclic);
  EXPECT_EQ(parse_distribution("*:cyclic,NoPack").value(), kBlock);
  EXPECT_EQ(parse_distribution("plane=4").value(), plane(4));
  EXPECT_EQ(parse_distribution("arbitrary").error().code, ErrorCode::kUnimplemented);
  for (const char* bad : {"", "plane", "plane=", "plane=0", "plane=x", "ring"}) {
    EXPECT_EQ(parse_distribution(bad).error().code, ErrorCode::kInvalidArgument) << bad;
  }
}

NodeConfig node_with(std::uint32_t boards, std::uint32_t sockets, std::uint32_t cores,
                     std::uint32_t threads) {
  NodeConfig node;
  node.boards = boards;
  node.sockets = sockets;
  node.cores_per_socket = cores;
  node.threads_per_core = threads;
  node.cpus = sockets * cores * threads;
  return node;
}

TEST(RankLayout, BoardsMakeNoMoreCores) {
  JobSpec job;
  job.request.edit()->threads_per_core = 1;
  for (const std::uint32_t boards : {1U, 2U, 4U})
    EXPECT_EQ(usable_cpus(job, 16, node_with(boards, 4, 2, 2)), 8U) << boards;
  for (const std::uint32_t boards : {1U, 2U})
    EXPECT_EQ(usable_cpus(job, 8, node_with(boards, 2, 4, 1)), 8U) << boards;
}

TEST(RankLayout, OfEachCoreSoManyThreadsAreUsed) {
  JobSpec job;
  const NodeConfig node = node_with(1, 1, 4, 4);
  for (const auto& [threads, usable] : {std::pair(1U, 4U), std::pair(2U, 8U), std::pair(3U, 12U),
                                        std::pair(4U, 16U), std::pair(0U, 16U)}) {
    job.request.edit()->threads_per_core = threads;
    EXPECT_EQ(usable_cpus(job, 16, node), usable) << threads;
  }
  job.request.edit()->threads_per_core = 1;
  EXPECT_EQ(usable_cpus(job, 0, node), 0U);
}

TEST(RankLayout, TheNumberOfTasksFollowsTheNodesOnARangeAlone) {
  JobSpec job;
  job.request.edit()->tasks_per_node = 3;
  job.request.edit()->min_nodes = 2;
  job.request.edit()->max_nodes = 2;
  EXPECT_FALSE(follows_nodes(job)) << "no range";
  job.request.edit()->max_nodes = 4;
  EXPECT_TRUE(follows_nodes(job));
  EXPECT_EQ(task_count_on(job, 3), 9U);
  job.request.edit()->tasks_per_node = 0;
  EXPECT_FALSE(follows_nodes(job));
  EXPECT_EQ(task_count_on(job, 3), job.request->task_count);
}

TEST(RankLayout, APlaneLargerThanANodeIsABlock) {
  const Counts counts = {3, 5, 2};
  EXPECT_EQ(rank_layout(counts, plane(100)), rank_layout(counts, kBlock));
  EXPECT_EQ(rank_layout(counts, plane(1)), rank_layout(counts, kCyclic));
}

TEST(RankLayout, LowerLevelsArePassedOverAsFarAsTheyAreKnown) {
  for (const char* text : {"cyclic:block:fcyclic", "cyclic,Pack", "cyclic:*:*,NOPACK", "CYCLIC"})
    EXPECT_EQ(parse_distribution(text).value(), kCyclic) << text;
  EXPECT_EQ(parse_distribution("plane=4294967295").value(), plane(4294967295U));
  for (const char* bad : {"cyclic:plane=2", "cyclic:", "block:ring", "block,tight", ":block",
                          "plane=4294967296", "plane=-1", "cyclic block"}) {
    const auto rule = parse_distribution(bad);
    ASSERT_FALSE(rule.has_value()) << bad;
    EXPECT_EQ(rule.error().code, ErrorCode::kInvalidArgument) << bad;
    EXPECT_NE(rule.error().detail.find(bad), std::string::npos);
  }
}

TEST(RankLayoutDeathTest, AnEmptyPlaneIsABug) {
  EXPECT_DEATH(rank_layout(Counts{1}, plane(0)), "a plane holds at least one rank");
}

}  // namespace
}  // namespace muster
