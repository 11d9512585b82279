#include "sched/satisfiable.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

/// Two nodes with four GPUs of two types in all, one without, and a partition of the first alone.
ClusterConfig small_cluster() {
  ClusterConfig config =
      make_cluster({make_node("g0", 8, 1000, {{"gpu", "a100", 2, {}}}, {"ib"}),
                    make_node("g1", 16, 2000, {{"gpu", "h100", 2, {}}}), make_node("c2", 4)});
  config.partitions.push_back(make_partition("first", {0}));
  return config;
}

Satisfiability ask(const ResourceRequest& request, std::uint32_t partition = 0,
                   const ClusterConfig& config = small_cluster()) {
  return check_satisfiable(*ClusterInventory::create(config), request, PartitionIndex(partition),
                           Duration::seconds(10));
}
/// Message and detail, of a request that no nodes will do for.
std::string refused(const ResourceRequest& request, std::uint32_t partition = 0) {
  const Satisfiability answer = ask(request, partition);
  EXPECT_EQ(answer.refusal, PendingReason::kBadConstraints);
  return answer.message + ": " + answer.detail;
}
constexpr const char* kNotAvailable = "Requested node configuration is not available: ";

TEST(SatisfiableTexts, WhatFitsHasNoTexts) {
  const Satisfiability answer = ask(tasks(28));
  EXPECT_TRUE(answer.is_satisfiable());
  EXPECT_EQ(answer.message + answer.detail, "");
}

TEST(SatisfiableTexts, NamesThatNobodyKnowsComeFirst) {
  EXPECT_EQ(refused(gpus_per_node(1, "b200")),
            "Invalid generic resource (gres) specification: gres gpu:b200:1: no node has any");
  ResourceRequest named = tasks(999);
  named.required_nodes = {"nobody"};
  EXPECT_EQ(refused(named), "Invalid node name specified: nodelist: there is no node nobody");
  named.required_nodes = {"g1"};
  EXPECT_EQ(refused(named, 1),
            std::string(kNotAvailable) + "nodelist: node g1 is not in partition first");
}

TEST(SatisfiableTexts, ThenHowManyNodesThereAre) {
  EXPECT_EQ(refused(on_nodes(4, 4)),
            std::string(kNotAvailable) + "nodes: 4 asked for, partition main has 3");
  ResourceRequest featured = tasks(1);
  featured.features.alternatives = {{"none"}};
  EXPECT_EQ(refused(featured),
            "Invalid feature specification: features, sockets, cores, threads, tmp and excluded "
            "nodes leave 0 of 3 nodes, 1 needed");
  ResourceRequest excluding = on_nodes(3, 3);
  excluding.excluded_nodes = {"c2"};
  EXPECT_EQ(refused(excluding).substr(0, 47), kNotAvailable);
}

TEST(SatisfiableTexts, ThenTheResourceOfWhichNoNodeHasEnough) {
  EXPECT_EQ(refused(tasks(1, 17)),
            std::string(kNotAvailable) + "cpus: 17 asked for, the best node has 16");
  EXPECT_EQ(refused(tasks(1, 9), 1),
            std::string(kNotAvailable) + "cpus: 9 asked for, the best node has 8");
  ResourceRequest memory = tasks(1, 2);
  memory.memory_scope = MemoryScope::kPerNode;
  memory.memory_mib = 2001;
  EXPECT_EQ(refused(memory),
            std::string(kNotAvailable) + "memory (MiB): 2001 asked for, the best node has 2000");
  memory.memory_scope = MemoryScope::kPerCpu;
  memory.memory_mib = 1001;
  EXPECT_EQ(refused(memory),
            std::string(kNotAvailable) + "memory (MiB): 2002 asked for, the best node has 2000");
  memory.memory_mib = UINT64_MAX;
  EXPECT_EQ(refused(memory), std::string(kNotAvailable) +
                                 "memory (MiB): 18446744073709551615 asked for, the best node has "
                                 "2000");
  EXPECT_EQ(refused(gpus_per_node(3)),
            std::string(kNotAvailable) + "gres gpu:3: 3 asked for, the best node has 2");
}

TEST(SatisfiableTexts, ThenWhatAllNodesTogetherLack) {
  EXPECT_EQ(refused(tasks(29)),
            std::string(kNotAvailable) + "tasks: 29 asked for, there is room for 28");
  ResourceRequest two = tasks(25);
  two.max_nodes = 2;
  EXPECT_EQ(refused(two), std::string(kNotAvailable) +
                              "tasks: 25 asked for on at most 2 nodes, there is room for 24");
  ResourceRequest in_all = tasks(1);
  in_all.gres_per_job = {{"gpu", "", 5}};
  EXPECT_EQ(refused(in_all), std::string(kNotAvailable) + "gres: 5 asked for, there is room for 4");
  ResourceRequest wide = on_nodes(3, 3);
  wide.gres_per_node = {{"gpu", "", 1}};
  EXPECT_EQ(refused(wide),
            std::string(kNotAvailable) + "nodes: 3 asked for, 2 can carry their part of the job");
}

TEST(SatisfiableTexts, WhatNoNodeHasTogetherIsSaidSo) {
  ResourceRequest both = tasks(1, 9);
  both.gres_per_node = {{"gpu", "a100", 1}};
  EXPECT_EQ(refused(both),
            std::string(kNotAvailable) + "no node has all at once that a task of the job needs");
}

TEST(SatisfiableTexts, DevicesAreCountedOnAsManyNodesAsTheJobMayHave) {
  ResourceRequest one = tasks(1);
  one.max_nodes = 1;
  one.gres_per_job = {{"gpu", "", 3}};
  EXPECT_EQ(refused(one), std::string(kNotAvailable) +
                              "gres: 3 asked for on at most 1 node, there is room for 2");
  one.gres_per_job = {{"gpu", "a100", 2}};
  one.cpus_per_gpu = 5;
  EXPECT_EQ(refused(one), std::string(kNotAvailable) +
                              "gres: 2 asked for on at most 1 node, there is room for 1 with the "
                              "CPUs and memory asked for beside each");
}

TEST(SatisfiableTexts, MoreTasksThanANodeHoldsAreNoFaultOfATask) {
  ResourceRequest one = tasks(17);
  one.max_nodes = 1;
  EXPECT_EQ(refused(one), std::string(kNotAvailable) +
                              "tasks: 17 asked for on at most 1 node, the best node holds 16");
  one.task_count = 4;
  one.tasks_per_node = 2;
  EXPECT_EQ(refused(one), std::string(kNotAvailable) +
                              "tasks: 4 asked for on at most 1 node, at most 2 may be on each");
}

TEST(SatisfiableTexts, ANodeAskedForByNameIsNamedWhereItWillNotDo) {
  ResourceRequest named = tasks(9);
  named.required_nodes = {"c2"};
  named.features.alternatives = {{"ib"}};
  EXPECT_EQ(refused(named), std::string(kNotAvailable) +
                                "nodelist: features, sockets, cores, threads, tmp and excluded "
                                "nodes leave out node c2");
  named.features.alternatives.clear();
  named.cpus_per_task = 8;
  named.task_count = 1;
  EXPECT_EQ(refused(named),
            std::string(kNotAvailable) + "nodelist: node c2 cannot carry its part of the job");
}

TEST(SatisfiableTexts, TasksAreBoundByTheirGpus) {
  ResourceRequest bound = tasks(9);
  bound.gres_per_job = {{"gpu", "", 2}};
  bound.tasks_per_gpu = 2;
  EXPECT_EQ(refused(bound),
            std::string(kNotAvailable) + "tasks: 9 asked for, 2 for each of 2 GPUs are 4");
}

TEST(SatisfiableTexts, NothingIsSaidToLackWhereEachIsThere) {
  ResourceRequest side_by_side = on_nodes(2, 2);
  side_by_side.is_contiguous = true;
  side_by_side.excluded_nodes = {"g1"};
  EXPECT_EQ(refused(side_by_side), std::string(kNotAvailable) +
                                       "there is room on at most 2 nodes for each thing that is "
                                       "asked for, and not for all of them together");
}

TEST(SatisfiableTexts, ALimitOfThePartitionIsSaidLast) {
  ClusterConfig config = small_cluster();
  config.partitions[0].max_nodes = 1;
  config.partitions[0].max_time = Duration::seconds(5);
  const Satisfiability nodes = ask(on_nodes(2, 2), 0, config);
  EXPECT_EQ(nodes.refusal, PendingReason::kPartitionNodeLimit);
  EXPECT_EQ(nodes.message, "Node count specification invalid");
  EXPECT_EQ(nodes.detail, "nodes: 2..2 asked for, partition main allows 0..1");
  const Satisfiability time = ask(tasks(1), 0, config);
  EXPECT_EQ(time.refusal, PendingReason::kPartitionTimeLimit);
  EXPECT_EQ(time.detail, "time limit: 10 s asked for, partition main allows 5 s");
  EXPECT_EQ(ask(tasks(1, 99), 0, config).refusal, PendingReason::kBadConstraints);
}

TEST(SatisfiableTexts, WhatRunsAndWhatIsDownDoesNotMatter) {
  ClusterConfig config = small_cluster();
  config.partitions[0].state = PartitionState::kDown;
  EXPECT_TRUE(ask(tasks(28), 0, config).is_satisfiable());
}

TEST(SatisfiableDeathTest, APartitionThatIsNotThereIsABug) {
  EXPECT_DEATH(ask(tasks(1), 9), "partition 9");
}

// ---- what is remembered ----

TEST(SatisfiabilityMemo, AnswersAsWithoutIt) {
  const auto inventory = ClusterInventory::create(small_cluster());
  const ResourceRequest requests[] = {tasks(28), tasks(29), gpus_per_node(2), gpus_per_node(3),
                                      gpus_per_node(1, "b200")};
  SatisfiabilityMemo memo;
  for (int round = 0; round < 2; ++round) {
    for (const ResourceRequest& request : requests) {
      for (const PartitionIndex partition : {PartitionIndex(0), PartitionIndex(1)}) {
        for (const Duration limit : {Duration::seconds(10), Duration::infinite()}) {
          const Satisfiability known = memo.check(*inventory, 1, request, partition, limit);
          const Satisfiability asked = check_satisfiable(*inventory, request, partition, limit);
          EXPECT_EQ(known.refusal, asked.refusal);
          EXPECT_EQ(known.message, asked.message);
          EXPECT_EQ(known.detail, asked.detail);
          EXPECT_EQ(known.is_memory, asked.is_memory);
        }
      }
    }
  }
}

TEST(SatisfiabilityMemo, AsksAnewOfAnotherConfiguration) {
  ClusterConfig config = small_cluster();
  SatisfiabilityMemo memo;
  const auto ask_of = [&](std::uint64_t revision) {
    return memo
        .check(*ClusterInventory::create(config), revision, tasks(29), PartitionIndex(0),
               Duration::seconds(10))
        .is_satisfiable();
  };
  EXPECT_FALSE(ask_of(1));
  config.nodes[2].cpus = 5;
  EXPECT_FALSE(ask_of(1)) << "of the same one it knows";
  EXPECT_TRUE(ask_of(2));
}

/// The most answers that are known at once while different jobs are asked about that are like this
/// one.
std::size_t most_known(ResourceRequest request) {
  const auto inventory = ClusterInventory::create(small_cluster());
  SatisfiabilityMemo memo;
  std::size_t most = 0;
  for (request.task_count = 1; request.task_count <= 100; ++request.task_count) {
    memo.check(*inventory, 1, request, PartitionIndex(0), Duration::seconds(10));
    most = std::max(most, memo.size());
  }
  return most;
}

TEST(SatisfiabilityMemo, HoldsNoMoreThanItsBoundHoweverManyNodesAJobNames) {
  ResourceRequest request = tasks(1);
  request.excluded_nodes.assign(10'000, "elsewhere");
  EXPECT_EQ(most_known(request), 6U) << "six times ten thousand names are held, and no seventh";
}

TEST(SatisfiabilityMemo, LongNamesCountAsWhatTheyHold) {
  ResourceRequest request = tasks(1);
  request.gres_per_node = {{"gpu", std::string(64'000, 'a'), 1}};
  EXPECT_EQ(most_known(request), 65U) << "each counts a thousand, and three more";
}

}  // namespace
}  // namespace muster::sched
