#include "api/http/connection_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace muster::api {
namespace {

TEST(Counter, GivesPlacesBack) {
  Counter counter;
  auto one = counter.acquire("a", 2);
  auto two = counter.acquire("a", 2);
  EXPECT_EQ(counter.acquire("a", 2), nullptr);
  EXPECT_NE(counter.acquire("b", 1), nullptr);
  two.reset();
  EXPECT_EQ(counter.of("a"), 1U);
  EXPECT_NE(counter.acquire("a", 2), nullptr);
}

TEST(Connections, OfOnePeerDoNotKeepOthersOut) {
  ConnectionBook book({.all = 64, .peer = 16, .kept = 8});
  std::vector<ConnectionBook::Entry> held;
  for (int i = 0; i < 16; ++i) held.push_back(book.acquire("10.0.0.1", false));
  EXPECT_NE(held.back().slot, nullptr);
  EXPECT_EQ(book.acquire("10.0.0.1", false).slot, nullptr);
  EXPECT_NE(book.acquire("user 1000", false).slot, nullptr);
  held.pop_back();
  EXPECT_NE(book.acquire("10.0.0.1", false).slot, nullptr) << "it was given back";
}

TEST(Connections, TheLastAreForTokensAndOperators) {
  ConnectionBook book({.all = 64, .peer = 16, .kept = 8});
  std::vector<ConnectionBook::Entry> held;
  for (int i = 0; i < 56; ++i) {
    held.push_back(book.acquire("10.0.0." + std::to_string(i), false));
    ASSERT_TRUE(held.back().slot != nullptr && !held.back().must_prove) << i;
  }
  for (int i = 0; i < 4; ++i) {
    held.push_back(book.acquire("10.0.1." + std::to_string(i), false));
    ASSERT_TRUE(held.back().slot != nullptr && held.back().must_prove) << i;
  }
  EXPECT_EQ(book.acquire("10.0.2.1", false).slot, nullptr);
  for (int i = 0; i < 4; ++i) {
    held.push_back(book.acquire("user 0", true));
    ASSERT_TRUE(held.back().slot != nullptr && !held.back().must_prove) << i;
  }
  EXPECT_EQ(book.acquire("user 0", true).slot, nullptr) << "there are no more";
}

TEST(Connections, HaveLimitsThatLeaveDescriptors) {
  EXPECT_EQ(connection_limits(1024, 0, 0).all, 512U);
  EXPECT_EQ(connection_limits(1024, 0, 0).peer, 128U);
  EXPECT_EQ(connection_limits(1024, 100, 50).all, 100U);
  EXPECT_EQ(connection_limits(1024, 100, 50).peer, 50U);
  EXPECT_EQ(connection_limits(1024, 5000, 0).all, 512U) << "more than half are not HTTP's";
  EXPECT_GE(connection_limits(0, 0, 0).all, 16U);
}

TEST(LoginGuard, ManyFailuresOfAPeerMakeItWait) {
  LoginGuard guard;
  const TimePoint now = TimePoint::from_seconds(1000);
  for (std::size_t i = 0; i < LoginGuard::kFailuresMax; ++i) {
    EXPECT_TRUE(guard.may_try("10.0.0.1", now));
    guard.failed("10.0.0.1", now);
  }
  EXPECT_FALSE(guard.may_try("10.0.0.1", now + Duration::seconds(59)));
  EXPECT_TRUE(guard.may_try("10.0.0.2", now)) << "another peer is not kept waiting";
  EXPECT_TRUE(guard.may_try("10.0.0.1", now + LoginGuard::kWindow));
  guard.failed("10.0.0.1", now + LoginGuard::kWindow);
  EXPECT_TRUE(guard.may_try("10.0.0.1", now + LoginGuard::kWindow)) << "a new minute begins at one";
  for (std::size_t i = 0; i < 2 * LoginGuard::kPeersMax; ++i)
    guard.failed("peer " + std::to_string(i), now);
}

TEST(BodyBook, NobodyHoldsMoreThanHisShareAndAllTogetherNoMoreThanTheirs) {
  BodyBook book;
  auto first = book.open("user 1");
  EXPECT_TRUE(first->add(BodyBook::kUserMax - 10));
  auto second = book.open("user 1");
  EXPECT_TRUE(second->add(10));
  EXPECT_FALSE(second->add(1)) << "one user's requests count together";
  EXPECT_TRUE(second->was_refused());
  first.reset();
  EXPECT_TRUE(second->add(1)) << "what has been answered is given back";
}

TEST(BodyBook, TheLastPartIsForOperatorsAndSmallBodies) {
  BodyBook book;
  std::vector<std::unique_ptr<BodyBook::Share>> others;
  std::size_t held = 0;
  for (int user = 10; held < BodyBook::kAllMax - BodyBook::kReserved; ++user) {
    others.push_back(book.open("user " + std::to_string(user)));
    const std::size_t more =
        std::min(BodyBook::kUserMax, BodyBook::kAllMax - BodyBook::kReserved - held);
    ASSERT_TRUE(others.back()->add(more));
    held += more;
  }
  EXPECT_FALSE(book.open("user 1")->add(BodyBook::kSmallMax + 1));
  auto report = book.open("user 1");
  EXPECT_TRUE(report->add(BodyBook::kSmallMax));
  EXPECT_FALSE(book.open("user 1")->add(1)) << "his small ones count together";
  auto of_root = book.open("user 0", true);
  EXPECT_TRUE(of_root->add(BodyBook::kReserved - BodyBook::kSmallMax));
  EXPECT_FALSE(of_root->add(1));
}

}  // namespace
}  // namespace muster::api
