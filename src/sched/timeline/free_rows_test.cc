#include "sched/timeline/free_rows.h"

#include <gtest/gtest.h>

#include "sched/testing.h"

namespace muster::sched {
namespace {

using namespace testing;

NodeFree row_of(std::int64_t cpus, std::int64_t memory_mib, const std::vector<std::int32_t>& gres) {
  return {cpus, memory_mib, gres.data()};
}

TEST(RowTable, EqualRowsOfOneClassHaveOneNumber) {
  RowTable rows(2);
  const RowId first = rows.number_of(0, row_of(4, 100, {1, 2}));
  EXPECT_EQ(rows.number_of(0, row_of(4, 100, {1, 2})), first);
  EXPECT_EQ(rows.size(), 1U);
  for (const NodeFree other : {row_of(5, 100, {1, 2}), row_of(4, 101, {1, 2})})
    EXPECT_NE(rows.number_of(0, other), first);
  EXPECT_NE(rows.number_of(0, row_of(4, 100, {2, 1})), first);
  EXPECT_NE(rows.number_of(1, row_of(4, 100, {1, 2})), first);
  EXPECT_EQ(rows.size(), 5U);
}

TEST(RowTable, ARowIsGivenBackAsItCame) {
  RowTable rows(1);
  for (std::int32_t i = 0; i < 1000; ++i)
    EXPECT_EQ(rows.number_of(0, row_of(-i, i * 7, {i % 3})), RowId(static_cast<std::uint32_t>(i)));
  const NodeFree row = rows.at(RowId(500));
  EXPECT_EQ(row.cpus, -500);
  EXPECT_EQ(row.memory_mib, 3500);
  EXPECT_EQ(row.gres[0], 2);
}

/// A node of 8 CPUs of which 2 are free, and what is free there for ever from an instant on.
struct OneNode : ::testing::Test {
  std::vector<ProfileStep> steps;
  RowTable rows{0};
  ProfileBuilder builder;
  void begin() { builder.begin({2, 0, nullptr}, 0); }
  static NodeAmount cpus(std::uint32_t count) { return {NodeIndex(0), 1, count, 0, {}}; }
  void build() { builder.add_steps(rows, 0, steps); }
  std::int64_t free_at(std::int64_t seconds) const {
    return rows.at(row_at(Profile(steps), at(seconds))).cpus;
  }
  std::int64_t free_before(std::int64_t seconds) const {
    return rows.at(row_before(Profile(steps), at(seconds))).cpus;
  }
};

TEST_F(OneNode, RisesWithEachEnd) {
  begin();
  const NodeAmount small = cpus(1);
  const NodeAmount large = cpus(3);
  builder.gain(at(20), large);
  builder.gain(at(10), small);
  builder.gain(at(20), small);
  builder.gain(TimePoint::never(), small);
  build();
  ASSERT_EQ(steps.size(), 3U) << "now, 10 and 20: what never ends gives nothing back";
  EXPECT_EQ(free_at(-5), 2) << "also before its own first instant";
  EXPECT_EQ(free_before(10), 2);
  EXPECT_EQ(free_at(10), 3);
  EXPECT_EQ(free_at(19), 3);
  EXPECT_EQ(free_before(20), 3);
  EXPECT_EQ(free_at(20), 7);
  EXPECT_EQ(free_at(1000), 7);
}

TEST_F(OneNode, WhatIsTakenLaterIsNotFreeBefore) {
  begin();
  const NodeAmount running = cpus(4);
  const NodeAmount window = cpus(5);
  builder.gain(at(10), running);
  builder.lose(at(30), window);
  builder.gain(at(40), window);
  build();
  EXPECT_EQ(free_at(0), 1) << "one CPU is left beside the window";
  EXPECT_EQ(free_at(39), 1);
  EXPECT_EQ(free_at(40), 6);
  ASSERT_EQ(steps.size(), 2U) << "nothing changes for ever at 10 and at 30";
}

TEST_F(OneNode, NothingOfTheLastNodeIsLeft) {
  begin();
  const NodeAmount window = cpus(1);
  builder.lose(at(5), window);
  build();
  begin();
  build();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(rows.at(steps[0].row).cpus, 1);
  EXPECT_EQ(rows.at(steps[1].row).cpus, 2);
}

}  // namespace
}  // namespace muster::sched
