// Who has a node down or drained, and whose reason is shown.
#include <gtest/gtest.h>

#include "controller/testing.h"

namespace muster {
namespace {

using testing::kRoot;
using testing::Rig;

TEST(CoreNode, WhoHasItDownIsNotToldByTheText) {
  auto config = testing::config_of(1);
  config->settings.return_to_service = 1;
  Rig rig(config);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "down"}, {"Reason", "Not responding"}}},
           kRoot);
  rig.pass(Duration::seconds(10));
  rig.hear(0, Heartbeat{});
  EXPECT_NE(status.conditions & node_condition::kDown, 0) << "an operator wrote that";
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "resume"}}}, kRoot);
  EXPECT_EQ(status.conditions & node_condition::kDown, 0);
  // So with the words of a fault.
  rig.done(
      UpdateObject{UpdateKind::kNode, "n0", {{"State", "drain"}, {"Reason", "Node fault: fan"}}},
      kRoot);
  rig.hear(0, Heartbeat{});
  EXPECT_NE(status.conditions & node_condition::kDrain, 0);
}

TEST(CoreNode, AnOperatorsReasonOutlastsSilenceAndFaults) {
  Rig rig(1);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "drain"}, {"Reason", "new fan"}}},
           kRoot);
  Heartbeat full;
  full.fault = "no room";
  rig.hear(0, full);
  EXPECT_EQ(status.reason, "new fan");
  EXPECT_EQ(status.reason_user, kRoot.user);
  rig.hear(0, Heartbeat{});
  EXPECT_NE(status.conditions & node_condition::kDrain, 0) << "the fault is gone, not the order";
  EXPECT_EQ(status.reason, "new fan");
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  EXPECT_NE(status.conditions & node_condition::kDown, 0);
  EXPECT_EQ(status.reason, "new fan");
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "undrain"}}}, kRoot);
  EXPECT_EQ(status.reason, "Not responding");
}

TEST(CoreNode, AFaultThatStandsKeepsItDrainedWhenTheOrderIsLifted) {
  Rig rig(1);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  Heartbeat full;
  full.fault = "no room";
  rig.hear(0, full);
  EXPECT_EQ(status.reason, "Node fault: no room");
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "drain"}, {"Reason", "new fan"}}},
           kRoot);
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "resume"}}}, kRoot);
  EXPECT_NE(status.conditions & node_condition::kDrain, 0);
  EXPECT_EQ(status.reason, "Node fault: no room");
  rig.hear(0, Heartbeat{});
  EXPECT_EQ(status.conditions & node_condition::kDrain, 0);
  EXPECT_EQ(status.reason, "");
}

TEST(CoreNode, AShortfallDoesNotHideAnOrder) {
  Rig rig(1);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "drain"}, {"Reason", "new fan"}}},
           kRoot);
  RegisterNode less = Rig::hello_of(0);
  less.cpus = 0;
  ASSERT_TRUE(rig.greet(less).has_value());
  EXPECT_NE(status.conditions & node_condition::kInvalid, 0);
  EXPECT_EQ(status.reason, "new fan");
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "undrain"}}}, kRoot);
  EXPECT_EQ(status.reason, "Low CPUs (found 0, configured 4)");
}

TEST(CoreNode, OneThatIsNamedNoMoreKeepsItsOrder) {
  Rig rig(2);
  rig.connect_all();
  rig.done(UpdateObject{UpdateKind::kNode, "n1", {{"State", "drain"}, {"Reason", "new fan"}}},
           kRoot);
  Rig fewer(testing::config_of(1), rig.stored());
  const NodeStatus& there = fewer.core.state().nodes().at(NodeIndex(1)).status;
  EXPECT_NE(there.conditions & node_condition::kDown, 0);
  EXPECT_EQ(there.reason, "new fan");
  Rig again(testing::config_of(2), fewer.stored());
  const NodeStatus& back = again.core.state().nodes().at(NodeIndex(1)).status;
  EXPECT_EQ(back.conditions & node_condition::kDown, 0);
  EXPECT_NE(back.conditions & node_condition::kDrain, 0);
  EXPECT_EQ(back.reason, "new fan");
}

/// Two nodes of which the configuration says that n1 is not to be used.
CoreStart configured(int conditions, const std::string& reason) {
  CoreStart start;
  NodeStatus& status = start.first_status["n1"];
  status.conditions = static_cast<std::uint16_t>(conditions);
  status.reason = reason;
  return start;
}

TEST(CoreNode, ANodeBeginsAsItIsConfigured) {
  const CoreStart start = configured(node_condition::kDownByOrder, "broken fan");
  Rig rig(testing::config_of(2), {}, {}, start);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(1)).status;
  EXPECT_NE(status.conditions & node_condition::kDown, 0);
  EXPECT_EQ(status.reason, "broken fan");
  EXPECT_EQ(rig.core.state().nodes().at(NodeIndex(0)).status.conditions, 0);
  // From then on the state says how it is.
  rig.done(UpdateObject{UpdateKind::kNode, "n1", {{"State", "resume"}}}, kRoot);
  Rig again(testing::config_of(2), rig.stored(), {}, start);
  EXPECT_EQ(again.core.state().nodes().at(NodeIndex(1)).status.conditions & node_condition::kDown,
            0);
}

TEST(CoreNode, ANodeOfTheFutureTakesWorkWhenItIsResumed) {
  Rig rig(testing::config_of(2), {}, {}, configured(node_condition::kFuture, ""));
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(1)).status;
  EXPECT_EQ(status.conditions & node_condition::kNoNewWork, node_condition::kFuture);
  Rig named(testing::config_of(2), rig.stored());  // slurm.conf says it no more
  EXPECT_EQ(named.core.state().nodes().at(NodeIndex(1)).status.conditions & node_condition::kFuture,
            0);
  Rig drained(testing::config_of(2), rig.stored(), {},
              configured(node_condition::kDrainByOrder, "new disk"));
  const NodeStatus& then = drained.core.state().nodes().at(NodeIndex(1)).status;
  EXPECT_EQ(then.conditions & (node_condition::kDrainByOrder | node_condition::kFuture),
            node_condition::kDrainByOrder);
  EXPECT_EQ(then.reason, "new disk");
  Rig unnamed(testing::config_of(1), rig.stored());
  EXPECT_NE(
      unnamed.core.state().nodes().at(NodeIndex(1)).status.conditions & node_condition::kFuture, 0);
  rig.done(UpdateObject{UpdateKind::kNode, "n1", {{"State", "res"}}}, kRoot);
  EXPECT_EQ(status.conditions & node_condition::kNoNewWork, 0);
}

TEST(CoreNode, AnOperatorsReasonOutlastsTheDayWhenANodeOfTheFutureComes) {
  Rig rig(testing::config_of(2), {}, {}, configured(node_condition::kFuture, "ordered"));
  Rig come(testing::config_of(2), rig.stored());
  EXPECT_EQ(come.core.state().nodes().at(NodeIndex(1)).status.reason, "");
  rig.done(UpdateObject{UpdateKind::kNode, "n1", {{"State", "drain"}, {"Reason", "bad ram"}}},
           kRoot);
  Rig drained(testing::config_of(2), rig.stored(), {},
              configured(node_condition::kDrainByOrder, ""));
  EXPECT_EQ(drained.core.state().nodes().at(NodeIndex(1)).status.reason, "bad ram");
}

TEST(CoreNode, OneThatIsDownByOrderMayStillFallSilent) {
  Rig rig(1);
  rig.connect_all();
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "down"}, {"Reason", "new fan"}}},
           kRoot);
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  EXPECT_NE(status.conditions & node_condition::kDownBySilence, 0);
  EXPECT_EQ(status.reason, "new fan");
}

}  // namespace
}  // namespace muster
