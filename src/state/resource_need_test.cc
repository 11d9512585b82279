// What a job needs once the partition's and the cluster's defaults are filled in.
// Source: slurm.conf(5), sbatch(1).
#include "state/resource_need.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Ask {
  JobSpec spec;
  PartitionConfig partition;
  ClusterSettings settings;
  ResourceRequest need() const { return resource_need(spec, partition, settings).value(); }
};

TEST(ResourceNeed, WithoutDefaultsIsWhatWasAskedFor) {
  Ask ask;
  ask.spec.request.edit()->task_count = 3;
  ask.spec.request.edit()->memory_scope = MemoryScope::kPerCpu;
  ask.spec.request.edit()->memory_mib = 7;
  const ResourceRequest need = ask.need();
  EXPECT_EQ(need.task_count, 3U);
  EXPECT_EQ(need.memory_scope, MemoryScope::kPerCpu);
  EXPECT_EQ(need.memory_mib, 7U);
  EXPECT_EQ(need.cpus_per_gpu, 0U);
  EXPECT_FALSE(need.is_exclusive);
}

TEST(ResourceNeed, MemoryComesFromThePartitionBeforeTheCluster) {
  Ask ask;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kDefault);
  ask.settings.default_memory_per_node_mib = 100;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kPerNode);
  EXPECT_EQ(ask.need().memory_mib, 100U);
  ask.partition.default_memory_per_cpu_mib = 20;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kPerCpu);
  EXPECT_EQ(ask.need().memory_mib, 20U);
  ask.spec.request.edit()->memory_scope = MemoryScope::kPerNode;
  ask.spec.request.edit()->memory_mib = 5;
  EXPECT_EQ(ask.need().memory_mib, 5U) << "what the job says goes first";
}

TEST(ResourceNeed, MemoryPerGpuIsForJobsWithGpus) {
  Ask ask;
  ask.partition.default_memory_per_gpu_mib = 50;
  ask.partition.default_memory_per_cpu_mib = 20;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kPerCpu);
  ask.spec.request.edit()->gres_per_node = {{"gpu", "", 2}};
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kPerGpu);
  EXPECT_EQ(ask.need().memory_mib, 50U);
  ask.partition.default_memory_per_cpu_mib = 0;
  ask.spec.request.edit()->gres_per_node.clear();
  ask.settings.default_memory_per_node_mib = 100;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kDefault)
      << "the partition has a default, though none for this job";
}

TEST(ResourceNeed, MemoryRulesStartFromWhatWasAskedFor) {
  Ask ask;
  ask.spec.request.edit()->memory_scope = MemoryScope::kPerCpu;
  ask.spec.request.edit()->memory_mib = 250;
  const JobSpec given = ask.spec;
  PartitionConfig strict;
  strict.max_memory_per_cpu_mib = 100;
  apply_memory_rules(ask.spec, strict, ask.settings);
  EXPECT_EQ(ask.spec.request->cpus_per_task, 3U);
  EXPECT_EQ(ask.spec.request->memory_mib, 84U);
  // The same again, in a partition with another rule, and in one without.
  EXPECT_EQ(resource_need(ask.spec, strict, ask.settings)->cpus_per_task, 3U);
  strict.max_memory_per_cpu_mib = 200;
  EXPECT_EQ(resource_need(ask.spec, strict, ask.settings)->cpus_per_task, 2U);
  EXPECT_EQ(ask.need().cpus_per_task, 1U);
  EXPECT_EQ(ask.need().memory_mib, 250U);
  EXPECT_FALSE(has_memory_rules_of(ask.spec, ask.partition, ask.settings));
  apply_memory_rules(ask.spec, ask.partition, ask.settings);
  EXPECT_TRUE(has_memory_rules_of(ask.spec, ask.partition, ask.settings));
  EXPECT_EQ(ask.spec, given);
}

TEST(ResourceNeed, MemoryOfANodePaysForCpusThatTasksOnItCountToo) {
  Ask ask;
  ask.partition.max_memory_per_cpu_mib = 100;
  ask.spec.request.edit()->memory_scope = MemoryScope::kPerNode;
  ask.spec.request.edit()->memory_mib = 600;
  EXPECT_EQ(ask.need().min_cpus_per_node, 6U);
  ask.spec.request.edit()->tasks_per_node = 8;
  ask.spec.request.edit()->task_count = 8;
  EXPECT_EQ(ask.need().min_cpus_per_node, 8U);
  ask.spec.request.edit()->memory_mib = 0;  // all of the node's
  ask.spec.request.edit()->tasks_per_node = 0;
  EXPECT_EQ(ask.need().min_cpus_per_node, 0U);
  ask.spec.request.edit()->memory_mib = ~std::uint64_t{0};
  EXPECT_EQ(ask.need().min_cpus_per_node, kCountMax);
}

TEST(ResourceNeed, MemoryIsNothingWhereItIsNotCounted) {
  Ask ask;
  ask.settings.is_memory_consumable = false;
  ask.settings.default_memory_per_cpu_mib = 20;
  ask.spec.request.edit()->memory_scope = MemoryScope::kPerNode;
  ask.spec.request.edit()->memory_mib = 5;
  EXPECT_EQ(ask.need().memory_scope, MemoryScope::kDefault);
  EXPECT_EQ(ask.need().memory_mib, 0U);
}

TEST(ResourceNeed, ARunHasAtMostMaxTasksPerNodeOnEach) {
  Ask ask;
  ask.settings.max_tasks_per_node = 8;
  ask.spec.request.edit()->task_count = 20;
  EXPECT_EQ(ask.need().tasks_per_node, 0U) << "a batch job's steps ask for themselves";
  ask.spec.kind = JobKind::kRun;
  EXPECT_EQ(ask.need().tasks_per_node, 8U);
  ask.spec.request.edit()->tasks_per_node = 5;
  EXPECT_EQ(ask.need().tasks_per_node, 5U);
  ask.spec.request.edit()->tasks_per_node = 10;
  EXPECT_EQ(ask.need().tasks_per_node, 8U);
  ask.spec.request.edit()->tasks_per_node = 0;
  ask.spec.request.edit()->task_count = 8;
  EXPECT_EQ(ask.need().tasks_per_node, 0U) << "no bound where all would fit on one";
}

TEST(ResourceNeed, ARangeOfNodesEndsAtTheTasks) {
  Ask ask;
  ask.spec.request.edit()->min_nodes = 2;
  ask.spec.request.edit()->max_nodes = 10;
  ask.spec.request.edit()->task_count = 4;
  EXPECT_EQ(ask.need().max_nodes, 10U) << "the tasks follow from the nodes";
  ask.spec.given = given_option::kTaskCount;
  EXPECT_EQ(ask.need().max_nodes, 4U);
  ask.spec.request.edit()->task_count = 1;
  EXPECT_EQ(ask.need().max_nodes, 2U) << "never below the least";
}

TEST(ResourceNeed, TasksPerNodeSetCpusAside) {
  Ask ask;
  ask.spec.request.edit()->task_count = 6;
  ask.spec.request.edit()->tasks_per_node = 4;
  ask.spec.request.edit()->cpus_per_task = 2;
  EXPECT_EQ(ask.need().min_cpus_per_node, 8U);
  ask.spec.request.edit()->min_cpus_per_node = 12;
  EXPECT_EQ(ask.need().min_cpus_per_node, 12U);
  ask.spec.request.edit()->min_cpus_per_node = 0;
  ask.spec.request.edit()->is_overcommit = true;
  EXPECT_EQ(ask.need().min_cpus_per_node, 0U);
  ask.spec.request.edit()->is_overcommit = false;
  ask.spec.request.edit()->task_count = 3;
  EXPECT_EQ(ask.need().min_cpus_per_node, 0U) << "fewer tasks than one node's";
}

TEST(ResourceNeed, EachRequiredNodeTakesPart) {
  Ask ask;
  ask.spec.request.edit()->required_nodes = {"a", "b", "c"};
  EXPECT_EQ(ask.need().min_nodes, 3U);
  ask.spec.request.edit()->min_nodes = 5;
  EXPECT_EQ(ask.need().min_nodes, 5U);
}

TEST(ResourceNeed, WholeNodesAreTheJobsWishOrThePartitions) {
  Ask ask;
  ask.spec.sharing = Sharing::kShared;
  EXPECT_FALSE(ask.need().is_exclusive);
  ask.partition.is_exclusive = true;
  EXPECT_TRUE(ask.need().is_exclusive);
  ask.partition.is_exclusive = false;
  ask.spec.sharing = Sharing::kExclusive;
  EXPECT_TRUE(ask.need().is_exclusive);
}

TEST(ResourceNeed, CpusPerGpuAreThePartitionsWhereNoneAreGiven) {
  Ask ask;
  ask.partition.default_cpus_per_gpu = 4;
  EXPECT_EQ(ask.need().cpus_per_gpu, 4U);
  ask.spec.request.edit()->cpus_per_gpu = 2;
  EXPECT_EQ(ask.need().cpus_per_gpu, 2U);
}

TEST(ResourceNeed, LeavesTheSpecificationAsItIs) {
  Ask ask;
  ask.partition.default_memory_per_cpu_mib = 20;
  const JobSpec before = ask.spec;
  (void)ask.need();
  EXPECT_EQ(ask.spec, before);
}

TEST(WantsGpu, CountsGpusOfAnyScopeAboveZero) {
  ResourceRequest need;
  EXPECT_FALSE(wants_gpu(need));
  need.gres_per_node = {{"nic", "", 1}, {"gpu", "a100", 0}};
  EXPECT_FALSE(wants_gpu(need));
  need.tasks_per_gpu = 2;
  EXPECT_FALSE(wants_gpu(need)) << "implied ones have no number";
  for (auto list : {&ResourceRequest::gres_per_node, &ResourceRequest::gres_per_job,
                    &ResourceRequest::gres_per_task}) {
    ResourceRequest other;
    other.*list = {{"gpu", "", 1}};
    EXPECT_TRUE(wants_gpu(other));
  }
}

}  // namespace
}  // namespace muster
