#include "engine/journal/checkpoint_schedule.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(CheckpointSchedule, OneIsDueByWhatWasWrittenSinceTheLast) {
  CheckpointSchedule schedule({.batches = 100, .events = 1000}, Seq(50), 0);
  EXPECT_FALSE(schedule.is_due(Seq(149)));
  EXPECT_TRUE(schedule.is_due(Seq(150)));
  schedule.written(Seq(150));
  EXPECT_FALSE(schedule.is_due(Seq(249)));
  EXPECT_TRUE(schedule.is_due(Seq(250)));
}

TEST(CheckpointSchedule, EventsCountAsWell) {
  CheckpointSchedule schedule({.batches = 100, .events = 1000}, Seq(0), 0);
  schedule.count(999);
  EXPECT_FALSE(schedule.is_due(Seq(1)));
  schedule.count(1);
  EXPECT_TRUE(schedule.is_due(Seq(2)));
  schedule.written(Seq(2));
  EXPECT_FALSE(schedule.is_due(Seq(3)));
}

/// A controller that is restarted every 60 batches writes one all the same.
TEST(CheckpointSchedule, WhatAnEarlierStartWroteCounts) {
  EXPECT_FALSE(CheckpointSchedule({.batches = 100, .events = 1000}, Seq(0), 60).is_due(Seq(60)));
  EXPECT_TRUE(CheckpointSchedule({.batches = 100, .events = 1000}, Seq(0), 120).is_due(Seq(120)));
  EXPECT_TRUE(CheckpointSchedule({.batches = 100, .events = 1000}, Seq(0), 1000).is_due(Seq(20)));
}

}  // namespace
}  // namespace muster
