#include "model/node.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace node_condition;

NodeStatus status_of(int conditions, std::string reason = "") {
  NodeStatus status;
  status.conditions = static_cast<std::uint16_t>(conditions);
  status.reason = std::move(reason);
  return status;
}

TEST(NodeConditions, ANodeIsDownAndDrainedAsLongAsAnyCauseStands) {
  std::uint16_t now = changed_conditions(0, {kDownBySilence, 0});
  EXPECT_EQ(now, kDown | kDownBySilence);
  now = changed_conditions(now, {kDownByOrder | kDrainByFault, 0});
  EXPECT_EQ(now, kDown | kDrain | kDownBySilence | kDownByOrder | kDrainByFault);
  now = changed_conditions(now, {0, kDownBySilence});
  EXPECT_EQ(now, kDown | kDrain | kDownByOrder | kDrainByFault) << "heard, and still ordered down";
  now = changed_conditions(now, {0, kDownByOrder | kDrainByOrder});
  EXPECT_EQ(now, kDrain | kDrainByFault);
  EXPECT_EQ(changed_conditions(now, {kNotResponding, kDrainByFault}), kNotResponding);
}

TEST(NodeConditions, NeitherStandsWithoutACause) {
  EXPECT_EQ(changed_conditions(kDown | kDrain | kUnknown, {}), kUnknown);
  EXPECT_EQ(changed_conditions(0, {kDown | kDrain, 0}), 0);
}

TEST(NodeReason, AnOrdersTextOutlastsWhatElseHappens) {
  for (const int order : {kDown | kDownByOrder, kDrain | kDrainByOrder, int{kFail}}) {
    NodeStatus status = status_of(order, "new fan");
    status.fault = "the disk is full";
    status.shortfall = "Low CPUs";
    for (const std::uint16_t cause : {kDownBySilence, kDownByAbsence, kDrainByFault, kInvalid}) {
      EXPECT_EQ(reason_after(status, {cause, 0}), std::nullopt) << order << " " << cause;
    }
  }
}

TEST(NodeReason, WhatStandsIsShownWhenAnotherCauseEnds) {
  NodeStatus status = status_of(
      kDown | kDrain | kDownByAbsence | kDownBySilence | kDrainByFault | kDrainByOrder | kInvalid,
      "new fan");
  status.fault = "the disk is full";
  status.shortfall = "Low CPUs";
  const auto lift = [&](std::uint16_t cause) {
    const auto reason = reason_after(status, {0, cause});
    status.conditions = changed_conditions(status.conditions, {0, cause});
    return reason.value_or("as it was");
  };
  EXPECT_EQ(lift(kDrainByOrder), "not in slurm.conf any more");
  EXPECT_EQ(lift(kDownByAbsence), "Not responding");
  EXPECT_EQ(lift(kDownBySilence), "Node fault: the disk is full");
  EXPECT_EQ(lift(kDrainByFault), "Low CPUs");
  EXPECT_EQ(lift(kInvalid), "");
  EXPECT_EQ(lift(kNotResponding), "as it was") << "a note on a node that takes work is kept";
}

NodeStatus found(NodeStatus status) {
  find_causes(status);
  return status;
}

TEST(NodeCauses, AreFoundOnceInTheTextsOfOlderJournals) {
  EXPECT_EQ(found(status_of(kDown, "Not responding")).conditions, kDown | kDownBySilence);
  EXPECT_EQ(found(status_of(kDown, "not in slurm.conf any more")).conditions,
            kDown | kDownByAbsence);
  EXPECT_EQ(found(status_of(kDown, "new fan")).conditions, kDown | kDownByOrder);
  EXPECT_EQ(found(status_of(kDrain, "new fan")).conditions, kDrain | kDrainByOrder);
  const NodeStatus full = found(status_of(kDrain | kNotResponding, "Node fault: no room"));
  EXPECT_EQ(full.conditions, kDrain | kNotResponding | kDrainByFault);
  EXPECT_EQ(full.fault, "no room");
  EXPECT_EQ(full.reason, "Node fault: no room");
  // Who drained a node that fell silent later is not known any more: it is not freed by itself.
  EXPECT_EQ(found(status_of(kDown | kDrain, "Not responding")).conditions,
            kDown | kDrain | kDownBySilence | kDrainByOrder);
  EXPECT_EQ(found(status_of(kInvalid, "Low CPUs")).shortfall, "Low CPUs");
  EXPECT_EQ(found(status_of(kUnknown)), status_of(kUnknown));
}

TEST(NodeCauses, ThoseOfBeforeCountForNothing) {
  // An older version, which knows no causes, has led in between and lifted what they stood for.
  NodeStatus stale = status_of(kDownBySilence | kDrainByFault);
  stale.fault = "no room";
  EXPECT_EQ(found(stale), status_of(0));
  EXPECT_EQ(found(status_of(kDown | kDownBySilence | kDrainByOrder, "new fan")).conditions,
            kDown | kDownByOrder);
}

}  // namespace
}  // namespace muster
