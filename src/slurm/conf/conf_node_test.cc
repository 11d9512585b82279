#include "slurm/conf/conf_node.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "slurm/hostlist.h"

namespace muster {
namespace {

/// A record of Key=Value words, parted by blanks.
Result<std::vector<NodeConfig>> nodes_of(std::string_view names, std::string_view words) {
  NodeDraft draft;
  for (const std::string_view word : split_words(words, ' ')) {
    const std::size_t equals = word.find('=');
    TRY(apply_conf_key(node_conf_keys(), word.substr(0, equals), word.substr(equals + 1), draft));
  }
  return expand_node_draft(names, draft);
}
NodeConfig node_of(std::string_view words) {
  const auto nodes = nodes_of("n", words);
  EXPECT_TRUE(nodes.has_value()) << words << ": " << nodes.error().text();
  return nodes.has_value() ? nodes->front() : NodeConfig();
}
std::string refusal(std::string_view names, std::string_view words) {
  const auto nodes = nodes_of(names, words);
  return nodes.has_value() ? "taken" : nodes.error().text();
}

TEST(ConfNode, WithoutAWordItHasOneOfEverything) {
  const NodeConfig node = node_of("");
  EXPECT_EQ(node.name + node.host_name + node.address, "nnn");
  EXPECT_EQ(node.cpus * node.boards * node.sockets * node.cores_per_socket * node.threads_per_core,
            1U);
  EXPECT_EQ(node.memory_mib, 1U);
  EXPECT_EQ(node.port, 0) << "the agents' common one";
}

TEST(ConfNode, CpusAreTheProductOfWhatIsGiven) {
  struct Case {
    const char* words;
    std::uint32_t boards, sockets, cores, threads, cpus;
  };
  for (const auto& [words, boards, sockets, cores, threads, cpus] : {
           Case{"Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 1, 2, 4, 2, 16},
           Case{"CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2", 1, 2, 4, 2, 8},
           Case{"CPUs=16 CoresPerSocket=4 ThreadsPerCore=2", 1, 2, 4, 2, 16},
           Case{"Procs=6 CoresPerSocket=3", 1, 2, 3, 1, 6},
           // Sockets counts those of all boards, SocketsPerBoard those of one.
           Case{"Boards=2 Sockets=4 CoresPerSocket=4 ThreadsPerCore=2", 2, 4, 4, 2, 32},
           Case{"Boards=2 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2", 2, 4, 4, 2, 32},
           Case{"Boards=2 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=2 CPUs=16", 2, 4, 4, 2,
                16},
           Case{"Boards=3 CPUs=6", 3, 6, 1, 1, 6},
       }) {
    const NodeConfig node = node_of(words);
    EXPECT_EQ(node.boards, boards) << words;
    EXPECT_EQ(node.sockets, sockets) << words;
    EXPECT_EQ(node.cores_per_socket, cores) << words;
    EXPECT_EQ(node.threads_per_core, threads) << words;
    EXPECT_EQ(node.cpus, cpus) << words;
  }
}

TEST(ConfNode, CpusThatContradictTheRestAreRefusedWithBothThatWouldDo) {
  EXPECT_EQ(refusal("n", "CPUs=12 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"),
            "CPUs=12 contradicts Sockets=2 CoresPerSocket=4 ThreadsPerCore=2: "
            "write 16 (threads) or 8 (cores), or take CPUs out");
  EXPECT_NE(refusal("n", "CPUs=8 Boards=2 SocketsPerBoard=4 CoresPerSocket=4"), "taken");
}

TEST(ConfNode, ANodeHasAtMostAsManyCpusAsSixteenBitsCount) {
  EXPECT_EQ(node_of("Sockets=65535").cpus, 65535U);
  EXPECT_EQ(refusal("n", "Sockets=256 CoresPerSocket=256"),
            "65536 CPUs are too many for one node: at most 65535");
  EXPECT_NE(refusal("n",
                    "Boards=65535 SocketsPerBoard=65535 CoresPerSocket=65535 "
                    "ThreadsPerCore=65535"),
            "taken");
  EXPECT_NE(refusal("n", "Sockets=65536"), "taken");
  EXPECT_NE(refusal("n", "CPUs=0"), "taken");
}

TEST(ConfNode, ListsNameOneThingForEachNode) {
  const auto nodes =
      nodes_of("g[1-2]", "NodeHostname=h[5-6] NodeAddr=10.0.0.[5-6] Port=[7005-7006]").value();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[1].name + " " + nodes[1].host_name + " " + nodes[1].address, "g2 h6 10.0.0.6");
  EXPECT_EQ(nodes[1].port, 7006);
  EXPECT_EQ(nodes_of("g[1-2]", "Port=7000").value()[1].port, 7000) << "one for all";
  EXPECT_EQ(nodes_of("g[1-2]", "NodeHostname=h[5-6]").value()[1].address, "h6")
      << "the address follows the host's name";
}

TEST(ConfNode, ListsOfAnotherLengthAreRefused) {
  EXPECT_EQ(refusal("g[1-2]", "NodeAddr=a"),
            "NodeAddr=a has 1 entries for 2 nodes: give one for each node");
  EXPECT_EQ(refusal("g[1-2]", "NodeHostname=h[1-3]"),
            "NodeHostname=h[1-3] has 3 entries for 2 nodes: give one for each node");
  EXPECT_EQ(refusal("g[1-3]", "Port=[1-2]"),
            "Port=[1-2] has 2 entries for 3 nodes: give one for all, or one for each node");
  for (const char* port : {"0", "65536", "x"}) {
    EXPECT_EQ(refusal("g", fmt::format("Port={}", port)),
              fmt::format("Port={} is no port: write 1 to 65535", port));
  }
  EXPECT_EQ(refusal("", ""), "NodeName= names no node: write a name or a host list");
  EXPECT_NE(refusal("g[1-", ""), "taken");
  EXPECT_NE(refusal(fmt::format("g[1-{}]", kHostlistMax + 1), ""), "taken");
}

TEST(ConfNode, StatesSayWhatANodeBeginsWith) {
  using namespace node_condition;
  const std::pair<const char*, std::uint16_t> states[] = {{"UNKNOWN", 0},
                                                          {"idle", 0},
                                                          {"Down", kDownByOrder},
                                                          {"DRAIN", kDrainByOrder},
                                                          {"drained", kDrainByOrder},
                                                          {"FAIL", kFail},
                                                          {"FAILING", kFail},
                                                          {"FUTURE", kFuture}};
  for (const auto& [word, condition] : states) {
    NodeDraft draft;
    ASSERT_TRUE(apply_conf_key(node_conf_keys(), "State", word, draft).has_value()) << word;
    EXPECT_EQ(draft.initial.conditions, kUnknown | condition) << word;
  }
  NodeDraft draft;
  EXPECT_EQ(apply_conf_key(node_conf_keys(), "State", "CLOUD", draft).error().code,
            ErrorCode::kUnimplemented);
}

TEST(ConfNode, DevicesKeepTheirOrderAndTheLastListCounts) {
  NodeDraft draft;
  for (const char* gres : {"fpga:1", "nic:1,gpu:h100:2"})
    ASSERT_TRUE(apply_conf_key(node_conf_keys(), "Gres", gres, draft).has_value());
  EXPECT_EQ(draft.gres, (std::vector<GresPool>{{"nic", "", 1, {}}, {"gpu", "h100", 2, {}}}));
}

}  // namespace
}  // namespace muster
