#include "cli/slurm/sinfo_columns.h"

#include <gtest/gtest.h>

#include <set>

#include "cli/lib/node_text.h"
#include "cli/lib/testing.h"

namespace muster::cli {
namespace {

using namespace testing;

std::string lines(std::string_view format, const std::vector<NodeView>& nodes,
                  Grouping grouping = {}) {
  std::vector<std::string> names;
  for (const NodeView& node : nodes) names.push_back(node.config.name);
  const std::vector<PartitionView> partitions = {test_partition("gpu", names),
                                                 test_partition("long", {names.front()})};
  const auto layout = layout_of(parse_short_format(format).value(), sinfo_columns(), "node");
  EXPECT_TRUE(layout.unknown.empty());
  std::string text = header_line(layout);
  for (const NodeGroup& group : group_nodes(partitions, nodes, layout, grouping, test_context())) {
    text += row_line(layout, group, test_context());
  }
  return text;
}

TEST(SinfoColumns, GroupsNodesThatLookAlike) {
  EXPECT_EQ(lines("%9P %.5a %.10l %.6D %.6t %N",
                  {test_node("n1"), test_node("n2"), busy_node("n3", 3), busy_node("n4", 8)}),
            "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
            "gpu*         up   infinite      2   idle n[1-2]\n"
            "gpu*         up   infinite      1    mix n3\n"
            "gpu*         up   infinite      1  alloc n4\n"
            "long         up   infinite      1   idle n1\n");
}

TEST(NodeStateNumber, IsThatOfSlurmsHeader) {
  // Source: slurm.h, enum node_states: COMPLETING is bit 10 and NO_RESPOND bit 11.
  EXPECT_EQ(node_state_number(test_node("n1")), 2);
  EXPECT_EQ(node_state_number(busy_node("n1", 3)), 5);
  EXPECT_EQ(node_state_number(busy_node("n1", 8)), 3);
  NodeView node = test_node("n1");
  node.is_completing = true;
  EXPECT_EQ(node_state_number(node), 2 + (1 << 10));
  node.status.conditions = node_condition::kNotResponding | node_condition::kDrain;
  EXPECT_EQ(node_state_number(node), 2 + (1 << 9) + (1 << 10) + (1 << 11));
  node = test_node("n1");
  node.status.conditions = node_condition::kDown;
  EXPECT_EQ(node_state_number(node), 1);
}

TEST(SinfoColumns, WithoutAPartitionColumnEachNodeCountsOnce) {
  EXPECT_EQ(lines("%C", {test_node("n1"), busy_node("n2", 3)}), "CPUS(A/I/O/T)\n3/13/0/16\n");
  EXPECT_EQ(lines("%D,%T", {test_node("n1"), test_node("n2")}), "NODES,STATE\n2,idle\n");
}

TEST(SinfoColumns, SizesOfAGroupMayDiffer) {
  NodeView larger = test_node("n2");
  larger.config.cpus = 16;
  EXPECT_EQ(lines("%R %c %D", {test_node("n1"), larger}),
            "PARTITION CPUS NODES\ngpu 8+ 2\nlong 8 1\n");
  EXPECT_EQ(lines("%R %c %D", {test_node("n1"), larger}, Grouping{.is_exact = true}),
            "PARTITION CPUS NODES\ngpu 8 1\ngpu 16 1\nlong 8 1\n");
}

TEST(SinfoColumns, APlannedNodeIsIdleAndAFullOneIsNotPlanned) {
  NodeView node = test_node("n1");
  node.is_planned = true;
  EXPECT_EQ(node_state_code(node), "plnd");
  EXPECT_TRUE(node_has_state(node, "idle"));
  NodeView full = busy_node("n2", 8);
  full.is_planned = true;
  EXPECT_EQ(node_state_code(full), "alloc");
  EXPECT_EQ(node_state_flags(full), "ALLOCATED");
  NodeView mixed = busy_node("n3", 3);
  mixed.is_planned = true;
  EXPECT_EQ(node_state_code(mixed), "mix-");
}

TEST(SinfoColumns, PerNode) {
  EXPECT_EQ(
      lines("%8N %.6D %.9P %6t", {test_node("n1"), test_node("n2")}, Grouping{.is_per_node = true}),
      "NODELIST  NODES PARTITION STATE \n"
      "n1            1      gpu* idle  \n"
      "n2            1      gpu* idle  \n"
      "n1            1      long idle  \n");
}

TEST(SinfoColumns, Summary) {
  NodeView down = test_node("n3");
  down.status.conditions = node_condition::kDown;
  EXPECT_EQ(lines("%9P %.5a %.10l %.16F  %N", {test_node("n1"), busy_node("n2", 1), down}),
            "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T)  NODELIST\n"
            "gpu*         up   infinite          1/1/1/3  n[1-3]\n"
            "long         up   infinite          0/1/0/1  n1\n");
}

TEST(NodeText, StatesAndSuffixes) {
  NodeView node = test_node("n1");
  EXPECT_EQ(node_state_code(node), "idle");
  node.is_planned = true;
  EXPECT_EQ(node_state_code(node), "plnd");
  node = busy_node("n1", 2);
  EXPECT_EQ(node_state_word(node), "mixed");
  node.status.conditions = node_condition::kDrain;
  EXPECT_EQ(node_state_code(node), "drng");
  EXPECT_EQ(node_state_word(node), "draining");
  EXPECT_EQ(node_state_flags(node), "MIXED+DRAIN");
  node.allocated_cpus = 0;
  EXPECT_EQ(node_state_word(node), "drained");
  node.status.conditions = node_condition::kDown | node_condition::kNotResponding;
  EXPECT_EQ(node_state_code(node), "down*");
  EXPECT_EQ(node_state_flags(node), "DOWN+NOT_RESPONDING");
  EXPECT_TRUE(node_has_state(node, "DOWN"));
  EXPECT_TRUE(node_has_state(node, "no_respond"));
  EXPECT_FALSE(node_has_state(node, "idle"));
}

TEST(NodeText, Devices) {
  EXPECT_EQ(node_gres(test_node("n1")), "gpu:h100:4");
  EXPECT_EQ(node_gres_used(test_node("n1")), "gpu:h100:0(IDX:N/A)");
  EXPECT_EQ(node_gres_used(busy_node("n1", 1)), "gpu:h100:2(IDX:0-1)");
}

TEST(SinfoColumns, AllLettersAreThere) {
  std::set<char> letters;
  for (const auto& column : sinfo_columns()) {
    if (column.letter != 0) {
      EXPECT_TRUE(letters.insert(column.letter).second) << column.letter;
    }
  }
  for (const char letter : std::string("aAbBcCdDeEfFgGhHiIlLmMnNoOpPrRsStTuUvVwXYzZ"))
    EXPECT_TRUE(letters.contains(letter)) << letter;
}

}  // namespace
}  // namespace muster::cli
