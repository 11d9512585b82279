#include "controller/gateway/view_filter.h"

#include <gtest/gtest.h>

#include <memory>

#include "controller/filter_lists.h"

namespace muster {
namespace {

JobView job() {
  auto spec = std::make_shared<JobSpec>();
  spec->user = UserId(1000);
  spec->text.set(JobText::kUserName, "ada");
  spec->text.set(JobText::kName, "train");
  spec->text.set(JobText::kAccount, "physics");
  spec->text.set(JobText::kQos, "high");
  spec->text.set(JobText::kWckey, "key");
  spec->text.set(JobText::kReservation, "night");
  spec->text.set(JobText::kLicenses, "matlab");
  JobView view;
  view.spec = std::move(spec);
  view.state = JobState::kFailed;
  view.partition = "gpu,cpu";
  view.node_list = "n[3-5]";
  return view;
}

/// One condition at a time: with the right value and with a wrong one.
TEST(ViewFilter, EveryConditionCounts) {
  const auto expect = [](auto JobFilter::*member, auto right, auto wrong) {
    JobFilter filter;
    (filter.*member).push_back(right);
    EXPECT_TRUE(matches(job(), filter)) << right;
    (filter.*member).front() = wrong;
    EXPECT_FALSE(matches(job(), filter)) << wrong;
    (filter.*member).push_back(right);
    ASSERT_TRUE(sort_lists(filter).has_value());
    EXPECT_TRUE(matches(job(), filter)) << "one of several";
  };
  expect(&JobFilter::users, "ada", "bob");
  expect(&JobFilter::uids, 1000U, 1001U);
  expect(&JobFilter::names, "train", "test");
  expect(&JobFilter::accounts, "physics", "nope");
  expect(&JobFilter::partitions, "cpu", "nope");
  expect(&JobFilter::qos, "high", "low");
  expect(&JobFilter::wckeys, "key", "other");
  expect(&JobFilter::reservations, "night", "day");
  expect(&JobFilter::licenses, "matlab", "none");
  expect(&JobFilter::nodes, "n4", "n6");
  JobFilter states;
  states.states = {JobState::kCompleted};
  EXPECT_FALSE(matches(job(), states));
  states.states.push_back(JobState::kFailed);
  EXPECT_TRUE(matches(job(), states));
  EXPECT_TRUE(matches(job(), {}));
}

TEST(ViewFilter, AJobThatNeverRanWasOnNoNode) {
  JobView never = job();
  never.node_list.clear();
  JobFilter filter;
  filter.nodes = {"n4"};
  EXPECT_FALSE(matches(never, filter));
}

}  // namespace
}  // namespace muster
