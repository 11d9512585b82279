#include "wire/delivery_budget.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <optional>
#include <vector>

namespace muster {
namespace {

using Share = kj::Own<DeliveryBudget::Share>;

class DeliveryBudgetTest : public ::testing::Test {
 protected:
  DeliveryBudgetTest() : waiting_(loop_), timer_(kj::origin<kj::TimePoint>()) {}
  ~DeliveryBudgetTest() noexcept override = default;
  /// The place of the answer in `shares`.
  std::size_t ask(std::size_t bytes) {
    const std::size_t place = shares.size();
    shares.emplace_back();
    asking.push_back(budget.take(bytes)
                         .then([this, place](Share share) { shares[place].emplace(kj::mv(share)); })
                         .eagerlyEvaluate(nullptr));
    waiting_.poll();
    return place;
  }
  bool has(std::size_t place) {
    waiting_.poll();
    return shares[place].has_value();
  }
  void pass(kj::Duration time) {
    timer_.advanceTo(timer_.now() + time);
    waiting_.poll();
  }

 private:
  kj::EventLoop loop_;
  kj::WaitScope waiting_;
  kj::TimerImpl timer_;

 protected:
  DeliveryBudget budget{100, timer_};
  std::vector<std::optional<Share>> shares;
  std::vector<kj::Promise<void>> asking;
};

TEST_F(DeliveryBudgetTest, WhatIsTooMuchWaitsForWhatIsUnderWay) {
  const auto first = ask(60);
  const auto second = ask(60);
  EXPECT_TRUE(has(first));
  EXPECT_FALSE(has(second));
  shares[first].reset();
  EXPECT_TRUE(has(second));
}

TEST_F(DeliveryBudgetTest, NobodyOvertakes) {
  const auto first = ask(60);
  const auto large = ask(60);
  const auto small = ask(10);
  EXPECT_FALSE(has(small));
  shares[first].reset();
  EXPECT_TRUE(has(large));
  EXPECT_TRUE(has(small));
}

TEST_F(DeliveryBudgetTest, MoreThanAllGoesAlone) {
  const auto first = ask(10);
  const auto huge = ask(1000);
  EXPECT_FALSE(has(huge));
  shares[first].reset();
  EXPECT_TRUE(has(huge));
  const auto next = ask(10);
  EXPECT_FALSE(has(next));
  shares[huge].reset();
  EXPECT_TRUE(has(next));
}

TEST_F(DeliveryBudgetTest, WhoHasLeftIsPassedOver) {
  const auto first = ask(60);
  const auto gone = ask(60);
  const auto next = ask(50);
  asking[gone] = kj::READY_NOW;
  shares[first].reset();
  EXPECT_TRUE(has(next));
  EXPECT_FALSE(has(gone));
}

TEST_F(DeliveryBudgetTest, AShareThatIsOldHoldsNobodyUp) {
  const auto first = ask(100);
  const auto second = ask(100);
  pass(500 * kj::MILLISECONDS);
  EXPECT_FALSE(has(second));
  pass(1 * kj::SECONDS);
  EXPECT_TRUE(has(second));
  shares[first].reset();
  const auto third = ask(1);
  EXPECT_FALSE(has(third)) << "the old share is given back once";
}

}  // namespace
}  // namespace muster
