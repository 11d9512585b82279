#include "sched/placement/amounts.h"

#include <gtest/gtest.h>

namespace muster::sched {
namespace {

constexpr GresKindId kGpu(0);
constexpr GresKindId kNic(2);

NodeAmount amount(std::uint32_t node, std::uint32_t cpus, std::uint64_t memory_mib,
                  std::vector<GresCount> gres = {}) {
  return {NodeIndex(node), 1, cpus, memory_mib, std::move(gres)};
}
/// Two nodes of 8 CPUs, 100 MiB, four of the first kind and one of the third.
FreeTable table() {
  FreeTable free(2, 3);
  for (const NodeIndex node : {NodeIndex(0), NodeIndex(1)}) {
    free.cpus(node) = 8;
    free.memory_mib(node) = 100;
    free.gres(node, kGpu) = 4;
    free.gres(node, kNic) = 1;
  }
  return free;
}

TEST(Amounts, WhatIsTakenAndGivenBackIsThereAgain) {
  FreeTable free = table();
  const NodeAmount taken = amount(1, 3, 40, {{kGpu, 2}, {kNic, 1}});
  free.subtract(taken);
  EXPECT_EQ(free.at(NodeIndex(1)).cpus, 5);
  EXPECT_EQ(free.at(NodeIndex(1)).memory_mib, 60);
  EXPECT_EQ(free.at(NodeIndex(1)).gres[kGpu.value()], 2);
  EXPECT_EQ(free.at(NodeIndex(1)).gres[1], 0);
  EXPECT_EQ(free.at(NodeIndex(1)).gres[kNic.value()], 0);
  EXPECT_EQ(free.at(NodeIndex(0)).cpus, 8) << "the other node is as it was";
  free.add(taken);
  EXPECT_EQ(free, table());
}

TEST(Amounts, EachResourceAloneMayBeTooLittle) {
  const FreeTable free = table();
  EXPECT_TRUE(free.holds(amount(0, 8, 100, {{kGpu, 4}, {kNic, 1}}))) << "all there is";
  EXPECT_TRUE(free.holds(amount(0, 0, 0)));
  EXPECT_FALSE(free.holds(amount(0, 9, 0)));
  EXPECT_FALSE(free.holds(amount(0, 0, 101)));
  EXPECT_FALSE(free.holds(amount(0, 0, 0, {{kGpu, 5}})));
  EXPECT_FALSE(free.holds(amount(0, 0, 0, {{kGpu, 1}, {kNic, 2}})));
  EXPECT_FALSE(free.holds(amount(0, UINT32_MAX, 0, {{kGpu, UINT32_MAX}})));
}

TEST(Amounts, AnOverdrawnNodeHoldsNothingMoreAndRecovers) {
  FreeTable free = table();
  const NodeAmount large = amount(0, 10, 300, {{kGpu, 6}});
  free.subtract(large);
  EXPECT_EQ(free.at(NodeIndex(0)).cpus, -2);
  EXPECT_EQ(free.at(NodeIndex(0)).memory_mib, -200);
  EXPECT_FALSE(free.holds(amount(0, 1, 0)));
  EXPECT_FALSE(free.holds(amount(0, 0, 0))) << "not even nothing";
  free.add(large);
  EXPECT_EQ(free, table());
}

TEST(Amounts, ARowIsACopy) {
  FreeTable free = table();
  FreeRow row(free.at(NodeIndex(0)), free.kind_count());
  row.subtract(amount(0, 2, 10, {{kNic, 1}}));
  EXPECT_EQ(free, table());
  EXPECT_TRUE(row.holds(amount(0, 6, 90, {{kGpu, 4}})));
  EXPECT_FALSE(row.holds(amount(0, 6, 90, {{kNic, 1}})));
  free.set(NodeIndex(0), row);
  EXPECT_EQ(free.at(NodeIndex(0)).cpus, 6);
  EXPECT_EQ(free.at(NodeIndex(0)).gres[kNic.value()], 0);
  row.add(amount(0, 2, 10, {{kNic, 1}}));
  free.set(NodeIndex(0), row);
  EXPECT_EQ(free, table());
}

TEST(Amounts, ALimitLowersWhatIsAboveItAlone) {
  const FreeTable free = table();
  FreeRow row(free.at(NodeIndex(0)), 3);
  FreeRow other = row;
  other.cpus = 3;
  other.memory_mib = 500;
  other.gres = {9, 0, -1};
  row.limit(other);
  EXPECT_EQ(row.cpus, 3);
  EXPECT_EQ(row.memory_mib, 100);
  EXPECT_EQ(row.gres, (std::vector<std::int32_t>{4, 0, -1}));
}

}  // namespace
}  // namespace muster::sched
