#include "gateway/view_filter.h"

#include <gtest/gtest.h>

#include <memory>

#include "admission/filter_lists.h"

namespace muster {
namespace {

JobView viewed_job() {
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
    EXPECT_TRUE(matches(viewed_job(), filter)) << right;
    (filter.*member).front() = wrong;
    EXPECT_FALSE(matches(viewed_job(), filter)) << wrong;
    (filter.*member).push_back(right);
    ASSERT_TRUE(sort_lists(filter).has_value());
    EXPECT_TRUE(matches(viewed_job(), filter)) << "one of several";
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
  EXPECT_FALSE(matches(viewed_job(), states));
  states.states.push_back(JobState::kFailed);
  EXPECT_TRUE(matches(viewed_job(), states));
  EXPECT_TRUE(matches(viewed_job(), {}));
}

TEST(ViewFilter, AJobThatNeverRanWasOnNoNode) {
  JobView never = viewed_job();
  never.node_list.clear();
  JobFilter filter;
  filter.nodes = {"n4"};
  EXPECT_FALSE(matches(never, filter));
}

/// "1-5" of array 12 waits.
JobView waiting_array() {
  JobView view = viewed_job();
  view.id = view.array_job = JobId(12);
  view.array_remaining = "1-5";
  view.array_remaining_count = 5;
  return view;
}
JobSelector elements(Bitmap indices) { return {JobId(12), std::move(indices), true, std::nullopt}; }

TEST(ViewFilter, OfAWaitingArrayTheNamedElementsAreShown) {
  JobView some = waiting_array();
  JobFilter filter;
  filter.jobs = {elements(Bitmap::range(2, 1)), elements(Bitmap::range(4, 9))};
  EXPECT_TRUE(cut_to_named(some, Bitmap::range(1, 5), filter));
  EXPECT_EQ(some.array_remaining, "2,4-5");
  EXPECT_EQ(some.array_remaining_count, 3U);
  EXPECT_FALSE(some.array_index);

  JobView one = waiting_array();
  filter.jobs = {elements(Bitmap::range(5, 9))};
  EXPECT_TRUE(cut_to_named(one, Bitmap::range(1, 5), filter));
  EXPECT_EQ(one.array_index, 5U);
  EXPECT_EQ(one.array_remaining, "");

  filter.jobs = {elements(Bitmap::range(6, 9))};
  EXPECT_FALSE(cut_to_named(one, Bitmap::range(1, 5), filter));
}

TEST(ViewFilter, AnArrayThatIsNamedIsShownWhole) {
  JobView whole = waiting_array();
  JobFilter filter;
  filter.jobs = {elements(Bitmap::range(2, 1)), {JobId(12), {}, false, std::nullopt}};
  EXPECT_TRUE(cut_to_named(whole, Bitmap::range(1, 5), filter));
  EXPECT_EQ(whole.array_remaining, "1-5");
}

}  // namespace
}  // namespace muster
