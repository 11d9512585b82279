#include <gtest/gtest.h>

#include "admission/testing.h"
#include "workload/requests/job_requests.h"

namespace muster::requests {
namespace {

using testing::grant_of;
using testing::Log;

/// A job on two nodes with four CPUs and two GPUs each.
struct StepGres : ::testing::Test {
  StepGres() {
    std::vector<NodeGrant> grants;
    for (std::uint32_t node : {0U, 1U}) {
      grants.push_back(grant_of(node, 0, 4));
      grants.back().gres.push_back(GresGrant{"gpu", "", Bitmap::range(0, 2)});
    }
    job = log.submit(testing::spec_of());
    log.start(job, grants);
  }
  Result<StepLayoutRef> lay_out(std::uint32_t tasks, const std::string& gpus,
                                std::uint32_t nodes = 0) {
    StepSpec spec;
    spec.task_count = tasks;
    spec.min_nodes = spec.max_nodes = nodes;
    spec.is_exact = true;
    spec.text.set(StepText::kGresPerStep, gpus);
    return lay_out_step(log.state(), log.job(job), spec);
  }
  static std::vector<std::size_t> devices_of(const StepLayout& layout) {
    std::vector<std::size_t> counts;
    for (const NodeGrant& node : layout.nodes) {
      std::size_t count = 0;
      for (const GresGrant& gres : node.gres) count += gres.devices.count();
      counts.push_back(count);
    }
    return counts;
  }
  Log log;
  JobId job;
};

using Counts = std::vector<std::size_t>;

TEST_F(StepGres, AreSpreadOverTheNodesOfTheStep) {
  EXPECT_EQ(devices_of(**lay_out(2, "gpu:4")), (Counts{2, 2}));
  EXPECT_EQ(devices_of(**lay_out(2, "gpu:3")), (Counts{2, 1}));
  EXPECT_EQ(devices_of(**lay_out(2, "gpu:1")), (Counts{1, 0}));
}

TEST_F(StepGres, StayOnTheNodesThatTheStepHas) {
  EXPECT_EQ(devices_of(**lay_out(1, "gpu:2", 1)), Counts{2});
}

TEST_F(StepGres, TasksGoWhereTheirDevicesAre) {
  StepSpec other;
  other.task_count = 1;
  other.is_exact = true;
  other.text.set(StepText::kGresPerStep, "gpu:1");
  log.add(
      {*create_step(log.state(), job, std::make_shared<const StepSpec>(other), testing::kAlice)});
  StepSpec spec;
  spec.task_count = 3;
  spec.is_exact = true;
  spec.text.set(StepText::kGresPerTask, "gpu:1");
  const auto layout = lay_out_step(log.state(), log.job(job), spec);
  ASSERT_TRUE(layout.has_value()) << layout.error().text();
  EXPECT_EQ(devices_of(**layout), (Counts{1, 2}));
}

TEST_F(StepGres, BeyondTheJobAreRefusedAtOnce) {
  const auto layout = lay_out(2, "gpu:5");
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(lay_out(1, "gpu:3", 1).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(StepGres, InUseAreWaitedFor) {
  NodeGrant used = grant_of(0, 0, 1);
  used.gres.push_back(GresGrant{"gpu", "", Bitmap::range(0, 1)});
  log.step(job, 0, {used});
  const auto layout = lay_out(2, "gpu:4");
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(devices_of(**lay_out(2, "gpu:3")), (Counts{1, 2}));
}

TEST_F(StepGres, MoreTasksThanTheJobHoldsAreRefusedByTheirNumber) {
  const auto layout = lay_out(9, "");
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().message, "More processors requested than permitted");
}

}  // namespace
}  // namespace muster::requests
