#include "workload/planning/commit.h"

#include <gtest/gtest.h>

#include "state/testing.h"
#include "workload/planning/snapshot_feed.h"

namespace muster {
namespace {

using testing::config_of;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

/// A log of three nodes that answer, one of them with two threads to the core and typed devices.
struct Planned : Log {
  Planned() {
    auto config = config_of(3);
    config->nodes[2].threads_per_core = 2;
    config->nodes[2].cores_per_socket = 2;
    config->nodes[2].gres = {GresPool{"gpu", "old", 2, {}}, GresPool{"gpu", "new", 2, {}}};
    add({ConfigApplied{config}});
    for (std::uint32_t i = 0; i < 3; ++i) {
      NodeChanged known;
      known.node = NodeIndex(i);
      known.clear_conditions = node_condition::kUnknown;
      add({known});
    }
  }
  std::optional<AllocationRef> choose(std::vector<sched::NodeAmount> nodes) const {
    sched::ClusterSnapshot snapshot;
    SnapshotFeed feed(snapshot);
    feed.load(state());
    sched::Start start;
    start.nodes = std::move(nodes);
    return choose_resources(state(), start, snapshot);
  }
  /// The kind of "gpu" of that type as the snapshot numbers it.
  sched::GresCount gpus(const std::string& type, std::uint32_t count) const {
    sched::ClusterSnapshot snapshot;
    SnapshotFeed feed(snapshot);
    feed.load(state());
    for (std::uint16_t i = 0;; ++i) {
      const auto& kind = snapshot.gres_kind(sched::GresKindId(i));
      if (kind.name == "gpu" && kind.type == type) return {sched::GresKindId(i), count};
    }
  }
};

sched::NodeAmount amount(std::uint32_t node, std::uint32_t cpus, std::uint64_t memory_mib = 0) {
  return {NodeIndex(node), cpus, cpus, memory_mib, {}};
}

TEST(Commit, TakesTheLowestFreeCpusOfEveryNode) {
  Planned log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 1, 1)});
  const auto chosen = log.choose({amount(0, 2), amount(1, 3)});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ((*chosen)->nodes[0].cpus.indices(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ((*chosen)->nodes[1].cpus, Bitmap::range(0, 3));
  EXPECT_FALSE(log.choose({amount(0, 4)}).has_value());
}

TEST(Commit, GivesOutWholeCores) {
  Planned log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(2, 1, 1)});  // half of the first core
  const auto chosen = log.choose({amount(2, 2)});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ((*chosen)->nodes[0].cpus, Bitmap::range(2, 2));
  EXPECT_FALSE(log.choose({amount(2, 3)}).has_value());
}

TEST(Commit, CountsMemory) {
  Planned log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});  // 100 of 1000 MiB
  EXPECT_TRUE(log.choose({amount(0, 1, 900)}).has_value());
  EXPECT_FALSE(log.choose({amount(0, 1, 901)}).has_value());
}

TEST(Commit, DevicesAreThoseOfTheTypeAndFree) {
  Planned log;
  sched::NodeAmount two_new = amount(2, 2);
  two_new.gres = {log.gpus("new", 2)};
  const auto chosen = log.choose({two_new});
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ((*chosen)->nodes[0].gres.at(0).devices, Bitmap::range(2, 2));
  NodeGrant one = grant_of(2, 0, 2);
  one.gres = {GresGrant{"gpu", "new", Bitmap::range(2, 1)}};
  log.start(log.submit(spec_of()), {one});
  EXPECT_FALSE(log.choose({two_new}).has_value());
  sched::NodeAmount one_new = amount(2, 2);
  one_new.gres = {log.gpus("new", 1)};
  EXPECT_EQ((*log.choose({one_new}))->nodes[0].gres.at(0).devices, Bitmap::range(3, 1));
}

TEST(Commit, ANodeThatTakesNoWorkSinceThePlanIsLeftAlone) {
  Planned log;
  NodeChanged drain;
  drain.node = NodeIndex(1);
  drain.set_conditions = node_condition::kDrain;
  log.add({drain});
  EXPECT_TRUE(log.choose({amount(0, 1)}).has_value());
  EXPECT_FALSE(log.choose({amount(0, 1), amount(1, 1)}).has_value());
  EXPECT_FALSE(log.choose({amount(9, 1)}).has_value());
}

}  // namespace
}  // namespace muster
