#include "slurm/gres_options.h"

#include <gtest/gtest.h>

#include "slurm/gres_text.h"

namespace muster {
namespace {

struct Asked {
  std::string per_node, per_job, per_task;
  std::uint32_t tasks = 1;
  std::uint32_t tasks_per_node = 0;
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 0;
};

std::vector<GresAmount> amounts(const std::string& text) {
  return text.empty() ? std::vector<GresAmount>() : parse_gres(text).value();
}

ResourceRequest request_of(const Asked& asked) {
  ResourceRequest need;
  need.gres_per_node = amounts(asked.per_node);
  need.gres_per_job = amounts(asked.per_job);
  need.gres_per_task = amounts(asked.per_task);
  need.task_count = asked.tasks;
  need.tasks_per_node = asked.tasks_per_node;
  need.min_nodes = asked.min_nodes;
  need.max_nodes = asked.max_nodes;
  return need;
}

TEST(GresOptions, WhatTheyMeanTogether) {
  struct Case {
    Asked asked, meant;
  };
  for (const auto& [asked, meant] : {
           // --gres=gpu:4 --ntasks-per-node=4 --gpus-per-task=1, on two nodes
           Case{{"gpu:4", "", "gpu:1", 8, 4, 2, 2}, {"gpu:4", "", "", 8, 4, 2, 2}},
           Case{{"gpu:4", "", "gpu:2", 8}, {"gpu:4", "", "", 8, 2}},
           Case{{"gpu:4", "", "gpu:1", 8, 2}, {"gpu:4", "", "", 8, 2}},
           // --gpus=8 --gpus-per-node=4
           Case{{"gpu:4", "gpu:8", "", 1}, {"gpu:4", "", "", 2, 0, 2, 2}},
           Case{{"gpu:4", "gpu:8", "", 8, 0, 2, 2}, {"gpu:4", "", "", 8, 0, 2, 2}},
           // --gpus=8 --gpus-per-task=2
           Case{{"", "gpu:8", "gpu:2", 4}, {"", "", "gpu:2", 4}},
           Case{{"gpu:4", "gpu:8", "gpu:1", 8}, {"gpu:4", "", "", 8, 4, 2, 2}},
           // types
           Case{{"gpu:h100:4", "", "gpu:1", 8}, {"gpu:h100:4", "", "", 8, 4}},
           Case{{"gpu:4", "gpu:h100:8", "", 2}, {"gpu:h100:4", "", "", 2, 0, 2, 2}},
           Case{{"gpu:a100:2,gpu:h100:2", "", "gpu:1", 4}, {"gpu:a100:2,gpu:h100:2", "", "", 4, 4}},
           Case{{"gpu:a100:2", "", "gpu:h100:1", 4}, {"gpu:a100:2", "", "gpu:h100:1", 4}},
           // other names do not meddle
           Case{{"nic:1", "gpu:8", "fpga:1", 4}, {"nic:1", "gpu:8", "fpga:1", 4}},
           Case{{"nic:1,gpu:4", "", "gpu:1", 4}, {"nic:1,gpu:4", "", "", 4, 4}},
       }) {
    SCOPED_TRACE("per node " + asked.per_node + ", per job " + asked.per_job + ", per task " +
                 asked.per_task);
    ResourceRequest need = request_of(asked);
    const Status combined = combine_gres(need);
    ASSERT_TRUE(combined.has_value()) << combined.error().text();
    EXPECT_EQ(need, request_of(meant));
  }
}

TEST(GresOptions, WhatNoAllocationCanMeetIsRefused) {
  for (const Asked& asked : {
           Asked{"gpu:4", "gpu:6", "", 1},           // does not divide
           Asked{"gpu:4", "gpu:8", "", 3, 0, 3, 3},  // two nodes, not three
           Asked{"gpu:4", "gpu:8", "", 1, 0, 1, 1},
           Asked{"", "gpu:4", "gpu:1", 3},
           Asked{"gpu:2", "", "gpu:4", 1},
           Asked{"gpu:2", "", "gpu:1", 4, 4},
       }) {
    ResourceRequest need = request_of(asked);
    const Status combined = combine_gres(need);
    ASSERT_FALSE(combined.has_value())
        << asked.per_node << " " << asked.per_job << " " << asked.per_task;
    EXPECT_EQ(combined.error().message, "Invalid generic resource (gres) specification");
    EXPECT_FALSE(combined.error().detail.empty());
  }
}

TEST(GresOptions, NodesFollowFromGpusPerNode) {
  EXPECT_EQ(implied_node_count(amounts("gpu:8"), amounts("gpu:4")), 2U);
  EXPECT_EQ(implied_node_count(amounts("gpu:h100:8"), amounts("gpu:2")), 4U);
  EXPECT_EQ(implied_node_count(amounts("gpu:8"), amounts("nic:4")), std::nullopt);
  EXPECT_EQ(implied_node_count(amounts("gpu:7"), amounts("gpu:4")), std::nullopt);
}

TEST(GresOptions, OneOptionAloneIsLeftAsItIs) {
  for (const Asked& asked : {Asked{"gpu:4", "", "", 3}, Asked{"", "gpu:7", "", 3, 2, 2, 2},
                             Asked{"", "", "gpu:1,gpu:h100:2", 5}, Asked{"", "", "", 1}}) {
    ResourceRequest need = request_of(asked);
    EXPECT_TRUE(combine_gres(need).has_value());
    EXPECT_EQ(need, request_of(asked));
  }
}

TEST(GresOptions, CountsThatAddUpBeyondNumbersAreNotTakenForSmallOnes) {
  // 4294967295 and 2 of two types are 4294967297 per node, and not 1.
  ResourceRequest need = request_of({"gpu:a100:4294967295,gpu:h100:2", "gpu:8", "", 8});
  EXPECT_FALSE(combine_gres(need).has_value());
  EXPECT_EQ(implied_node_count(amounts("gpu:8"), amounts("gpu:a100:4294967295,gpu:h100:2")),
            std::nullopt);
}

}  // namespace
}  // namespace muster
