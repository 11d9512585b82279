#include "engine/journal/history_role.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct FakeHistory : HistoryProjection {
  Seq watermark() const override { return stored; }
  Result<HistoryMark> mark() override { return HistoryMark(); }
  Status acquire(Epoch) override { return {}; }
  Status append(const std::vector<HistoryObject>& objects, const BatchMark& until) override {
    if (is_refusing) return fail(ErrorCode::kUnavailable, "full");
    appends.push_back(objects.size());
    stored = until.seq;
    return {};
  }
  Status make_durable() override {
    ++syncs;
    return is_refusing ? Status(fail(ErrorCode::kUnavailable, "full")) : Status();
  }
  Seq stored;
  std::vector<std::size_t> appends;
  int syncs = 0;
  bool is_refusing = false;
};

HistoryBatch batch_of(std::uint64_t seq, std::size_t ends) {
  HistoryBatch batch;
  batch.batch.seq = Seq(seq);
  for (std::size_t i = 0; i < ends; ++i) batch.records.push_back({Seq(seq), JobView()});
  return batch;
}

std::vector<HistoryBatch> some(std::uint64_t first, std::uint64_t last, std::size_t ends) {
  std::vector<HistoryBatch> all;
  for (std::uint64_t seq = first; seq <= last; ++seq) all.push_back(batch_of(seq, ends));
  return all;
}

TEST(HistoryRole, WhatHasGatheredIsOneTransaction) {
  FakeHistory store;
  HistoryRole role(store);
  EXPECT_TRUE(role.store(some(1, 3, 2)).has_value());
  EXPECT_EQ(store.appends, std::vector<std::size_t>{6});
  EXPECT_EQ(store.stored, Seq(3));
  EXPECT_TRUE(role.store({}).has_value());
  EXPECT_EQ(store.appends.size(), 1U);
}

TEST(HistoryRole, BatchesWithoutAnEndAreStoredManyAtATime) {
  FakeHistory store;
  HistoryRole role(store);
  EXPECT_TRUE(role.store(some(1, HistoryRole::kEmptyBatches, 0)).has_value());
  EXPECT_TRUE(store.appends.empty());
  EXPECT_TRUE(role.store({batch_of(HistoryRole::kEmptyBatches + 1, 0)}).has_value());
  EXPECT_EQ(store.stored, Seq(HistoryRole::kEmptyBatches + 1))
      << "else the journal could never be truncated";
  EXPECT_TRUE(role.store({batch_of(HistoryRole::kEmptyBatches + 2, 1)}).has_value());
  EXPECT_EQ(store.stored, Seq(HistoryRole::kEmptyBatches + 2));
}

TEST(HistoryRole, ARefusalIsTheCallers) {
  FakeHistory store;
  HistoryRole role(store);
  store.is_refusing = true;
  EXPECT_EQ(role.store({batch_of(1, 1)}).error().code, ErrorCode::kUnavailable);
}

TEST(HistoryRole, SyncsWhenIdleOrAfterASecond) {
  FakeHistory store;
  HistoryRole role(store);
  Duration now = Duration::seconds(100);
  EXPECT_EQ(role.sync(true, now), std::nullopt) << "nothing was stored";
  ASSERT_TRUE(role.store({batch_of(1, 1)}).has_value());
  EXPECT_EQ(role.sync(false, now), std::nullopt);
  EXPECT_EQ(store.syncs, 0);
  EXPECT_EQ(role.sync(false, now + HistoryRole::kSync + Duration::milliseconds(1)), Seq(1));
  ASSERT_TRUE(role.store({batch_of(2, 1)}).has_value());
  EXPECT_EQ(role.sync(true, now), Seq(2));
  EXPECT_EQ(role.sync(true, now), std::nullopt) << "told once";
  EXPECT_EQ(store.syncs, 2);
}

TEST(HistoryRole, ARefusedSyncIsTriedAgain) {
  FakeHistory store;
  HistoryRole role(store);
  ASSERT_TRUE(role.store({batch_of(1, 1)}).has_value());
  store.is_refusing = true;
  EXPECT_EQ(role.sync(true, Duration::seconds(1)), std::nullopt);
  store.is_refusing = false;
  EXPECT_EQ(role.sync(true, Duration::seconds(2)), Seq(1));
}

}  // namespace
}  // namespace muster
