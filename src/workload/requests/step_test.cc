#include <gtest/gtest.h>

#include "admission/testing.h"
#include "workload/requests/job_requests.h"

namespace muster {
namespace {

using testing::grant_of;
using testing::kAlice;
using testing::kBob;
using testing::Log;
using testing::spec_of;

/// A job that holds CPUs 0-3 of n0 with one GPU, and 0-1 of n1.
struct Allocated : Log {
  Allocated() : Log(3), job(submit(spec_of())) {
    NodeGrant first = grant_of(0, 0, 4);
    first.gres.push_back(GresGrant{"gpu", "", Bitmap::range(0, 2)});
    start(job, {first, grant_of(1, 0, 2)});
  }
  Result<StepCreated> ask(const StepSpec& spec, const Identity& who = kAlice) const {
    return requests::create_step(state(), job, std::make_shared<const StepSpec>(spec), who);
  }
  /// Asks, and does it.
  StepCreated run(const StepSpec& spec) {
    auto created = ask(spec);
    EXPECT_TRUE(created.has_value()) << created.error().text();
    add({*created});
    return *created;
  }
  void end(const StepCreated& step) {
    add({StepEnded{step.step, JobState::kCompleted, {}, {}, ""}});
  }
  JobId job;
};

StepSpec tasks(std::uint32_t count) {
  StepSpec spec;
  spec.task_count = count;
  return spec;
}
StepSpec exact(std::uint32_t count) {
  StepSpec spec = tasks(count);
  spec.is_exact = true;
  return spec;
}
std::vector<std::uint32_t> task_counts(const StepCreated& step) {
  std::vector<std::uint32_t> counts;
  for (const NodeGrant& grant : step.layout->nodes) counts.push_back(grant.task_count);
  return counts;
}

TEST(Step, TakesTurnsOverTheNodesOfTheJob) {
  Allocated log;
  EXPECT_EQ(task_counts(*log.ask(tasks(3))), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(task_counts(*log.ask(tasks(6))), (std::vector<std::uint32_t>{4, 2}));
  EXPECT_EQ(task_counts(*log.ask(tasks(1))), std::vector<std::uint32_t>{1});
}

/// A job on two nodes of four CPUs and four GPUs; the plan put three tasks on the first and one on
/// the second.
struct ForOneStep : Log {
  explicit ForOneStep(StepSpec step) : Log(2) {
    JobSubmitted event;
    event.job = state().next_job();
    event.spec = spec_of();
    event.partitions = {PartitionIndex(0)};
    event.first_step = std::make_shared<const StepSpec>(std::move(step));
    const JobId job = event.job;
    add({std::move(event)});
    std::vector<NodeGrant> grants = {grant_of(0, 0, 4), grant_of(1, 0, 4)};
    grants[0].task_count = 3;
    grants[1].task_count = 1;
    for (NodeGrant& grant : grants) grant.gres.push_back(GresGrant{"gpu", "", Bitmap::range(0, 4)});
    start(job, grants);
    layout = requests::lay_out_first_step(state(), Log::job(job));
  }
  std::vector<std::uint32_t> counts() const {
    std::vector<std::uint32_t> counts;
    for (const NodeGrant& grant : layout->nodes) counts.push_back(grant.task_count);
    return counts;
  }
  StepLayoutRef layout;
};
using Counts = std::vector<std::uint32_t>;

TEST(FirstStep, SharesTheAllocationEvenly) {
  StepSpec four = tasks(4);
  four.is_task_count_given = true;
  EXPECT_EQ(ForOneStep(four).counts(), (Counts{2, 2}));
  EXPECT_EQ(ForOneStep(four).layout->nodes[0].cpus.count(), 4U);
  four.is_exact = true;
  EXPECT_EQ(ForOneStep(four).layout->nodes[0].cpus.count(), 2U);
  four.text.set(StepText::kGresPerTask, "gpu:2");
  EXPECT_EQ(ForOneStep(four).counts(), (Counts{2, 2}));
}

TEST(FirstStep, WithoutANumberOfTasksItHasThePlannedOnes) {
  EXPECT_EQ(ForOneStep(tasks(1)).counts(), (Counts{2, 2}));
}

TEST(FirstStep, NodesBeyondItsTasksHaveNone) {
  StepSpec one = tasks(1);
  one.is_task_count_given = true;
  EXPECT_EQ(ForOneStep(one).counts(), Counts{1});
}

TEST(Step, CpusPerTaskWithoutANumberOfTasksFillTheNodes) {
  ForOneStep log(tasks(1));
  StepSpec two = tasks(1);
  two.is_task_count_given = false;
  two.is_cpus_per_task_given = true;
  two.cpus_per_task = 2;
  const JobId job(1);
  const auto created =
      requests::create_step(log.state(), job, std::make_shared<const StepSpec>(two), kAlice);
  ASSERT_TRUE(created.has_value()) << created.error().text();
  EXPECT_EQ(task_counts(*created), (Counts{2, 2}));
  EXPECT_EQ(created->spec->task_count, 4U);
}

TEST(Step, WithoutExactItHasAllOfItsNodesFreeCpus) {
  Allocated log;
  EXPECT_EQ(log.ask(tasks(1))->layout->nodes[0].cpus.count(), 4U);
  EXPECT_EQ(log.ask(exact(1))->layout->nodes[0].cpus, Bitmap::range(0, 1));
}

TEST(Step, OneThatRepeatsTheMemoryOfItsJobMeansTheCpusThatWereAskedFor) {
  // One CPU of 250 MiB was asked for, and MaxMemPerCPU has made three of 84 of it.
  Log log(1);
  auto spec = spec_of();
  spec->request.edit()->memory_scope = MemoryScope::kPerCpu;
  spec->request.edit()->memory_mib = 84;
  spec->request.edit()->cpus_per_task = 3;
  spec->asked = {1, 0, MemoryScope::kPerCpu, 250};
  const JobId job = log.submit(spec);
  NodeGrant grant = grant_of(0, 0, 3);
  grant.memory_mib = 252;
  log.start(job, {grant});
  StepSpec step = exact(1);
  step.cpus_per_task = 3;
  step.memory_scope = MemoryScope::kPerCpu;
  const auto asking = [&](std::uint64_t memory_mib) {
    step.memory_mib = memory_mib;
    return requests::create_step(log.state(), job, std::make_shared<const StepSpec>(step), kAlice);
  };
  EXPECT_TRUE(asking(250).has_value()) << "the job's own words";
  EXPECT_TRUE(asking(84).has_value()) << "what they became";
  EXPECT_EQ(asking(200).error().message, "Memory required by task is not available")
      << "three CPUs of 200 are no words of the job's";
  EXPECT_EQ(asking(251).error().message, "Memory required by task is not available");
}

TEST(Step, NumbersRiseAndResourcesComeBack) {
  Allocated log;
  const StepCreated first = log.run(exact(2));
  EXPECT_EQ(first.step.step, 0U);
  const StepCreated second = log.run(exact(4));
  EXPECT_EQ(second.step.step, 1U);
  EXPECT_EQ(log.ask(exact(1)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(log.ask(exact(1)).error().message, "Requested nodes are busy");
  StepSpec overlap = exact(1);
  overlap.is_overlap = true;
  EXPECT_TRUE(log.ask(overlap).has_value());
  log.end(first);
  EXPECT_TRUE(log.ask(exact(1)).has_value());
}

TEST(Step, MoreThanTheJobEverHasIsRefusedAtOnce) {
  Allocated log;
  EXPECT_EQ(log.ask(tasks(7)).error().message, "More processors requested than permitted");
  EXPECT_EQ(log.ask(tasks(7)).error().code, ErrorCode::kInvalidArgument);
  StepSpec wide = tasks(1);
  wide.min_nodes = wide.max_nodes = 3;
  EXPECT_EQ(log.ask(wide).error().message, "Requested node configuration is not available");
  StepSpec crowd = tasks(20);
  crowd.is_overcommit = true;
  EXPECT_TRUE(log.ask(crowd).has_value());
}

TEST(Step, ChoosesAmongTheJobsNodes) {
  Allocated log;
  StepSpec named = tasks(1);
  named.text.set(StepText::kNodeList, "n1");
  EXPECT_EQ(log.ask(named)->layout->nodes[0].node, NodeIndex(1));
  named.text.set(StepText::kNodeList, "n2");
  EXPECT_NE(log.ask(named).error().detail.find("n2 is not part of job"), std::string::npos);
  StepSpec without = tasks(1);
  without.text.set(StepText::kExcludeList, "n0");
  EXPECT_EQ(log.ask(without)->layout->nodes[0].node, NodeIndex(1));
  StepSpec relative = tasks(1);
  relative.relative_node = 1;
  EXPECT_EQ(log.ask(relative)->layout->nodes[0].node, NodeIndex(1));
  relative.relative_node = 2;
  EXPECT_EQ(log.ask(relative).error().message, "Node count specification invalid");
}

TEST(Step, DevicesAreDividedAmongSteps) {
  Allocated log;
  StepSpec one_gpu = exact(1);
  one_gpu.text.set(StepText::kGresPerNode, "gpu:1");
  EXPECT_EQ(log.run(one_gpu).layout->nodes[0].gres.at(0).devices, Bitmap::range(0, 1));
  EXPECT_EQ(log.run(one_gpu).layout->nodes[0].gres.at(0).devices, Bitmap::range(1, 1));
  EXPECT_EQ(log.ask(one_gpu).error().code, ErrorCode::kUnavailable);
}

TEST(Step, IsForTheOwnerOfARunningJob) {
  Allocated log;
  EXPECT_EQ(log.ask(tasks(1), kBob).error().code, ErrorCode::kPermissionDenied);
  const auto spec = std::make_shared<const StepSpec>();
  const JobId waiting = log.submit(spec_of());
  EXPECT_EQ(requests::create_step(log.state(), waiting, spec, kAlice).error().message,
            "Job is pending execution");
  EXPECT_EQ(requests::create_step(log.state(), JobId(99), spec, kAlice).error().code,
            ErrorCode::kNotFound);
  log.add({JobSuspended{log.job}});
  EXPECT_EQ(log.ask(tasks(1)).error().message, "Job is suspended");
  log.add({JobResumed{log.job}});
  log.Log::end(log.job, JobState::kFailed, true);
  EXPECT_EQ(log.ask(tasks(1)).error().code, ErrorCode::kFailedPrecondition);
}

}  // namespace
}  // namespace muster
