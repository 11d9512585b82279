#include "gateway/past_dependencies.h"

#include <gtest/gtest.h>

#include "slurm/dependency_text.h"
#include "state/testing.h"

namespace muster {
namespace {

using enum DependencyState;

JobView ended(std::uint32_t id, JobState state, std::uint32_t array = 0, std::uint32_t index = 0) {
  JobView view;
  view.id = JobId(id);
  view.state = state;
  if (array != 0) view.array_job = JobId(array), view.array_index = index;
  return view;
}

/// What becomes of the terms of a submission that says this, in a cluster that has forgotten jobs 1
/// to 8.
std::vector<DependencyState> decided(const std::string& text, const std::vector<JobView>& views) {
  PreparedSubmit submit;
  submit.dependencies = parse_dependency(text).value();
  std::vector<PreparedRequest> requests;
  requests.emplace_back(std::move(submit));
  std::vector<JobId> jobs;
  for (std::uint32_t id = 1; id <= 8; ++id) jobs.push_back(JobId(id));
  std::vector<PastEnd> ends;
  for (const JobView& view : views) ends.push_back(past_end_of(view));
  decide_past_terms(requests, jobs, ends);
  std::vector<DependencyState> states;
  for (const DependencyTerm& term : get<PreparedSubmit>(requests[0]).dependencies.terms)
    states.push_back(term.state);
  return states;
}

TEST(PastDependencies, HistoryKnowsHowAJobEnded) {
  const std::vector<JobView> views = {ended(1, JobState::kCompleted), ended(2, JobState::kFailed),
                                      ended(3, JobState::kTimeout)};
  EXPECT_EQ(decided("afterok:1:2", views), (std::vector{kFulfilled, kFailed}));
  EXPECT_EQ(decided("afternotok:1:3", views), (std::vector{kFailed, kFulfilled}));
  EXPECT_EQ(decided("afterok:4", views), std::vector{kUnfulfilled});  // unknown there, too
  EXPECT_EQ(decided("afterok:9", views),
            std::vector{kUnfulfilled});  // none of those that were asked for
  EXPECT_EQ(decided("afterany:1", views),
            std::vector{kUnfulfilled});  // the core knows that it has ended
}

TEST(PastDependencies, AnArrayIsAllItsElementsOrOne) {
  const std::vector<JobView> views = {ended(5, JobState::kCompleted, 5, 0),
                                      ended(6, JobState::kFailed, 5, 1)};
  EXPECT_EQ(decided("afterok:5", views), std::vector{kFailed});
  EXPECT_EQ(decided("afterok:5_0", views), std::vector{kFulfilled});
  EXPECT_EQ(decided("afterok:5_1", views), std::vector{kFailed});
  EXPECT_EQ(decided("afternotok:5", views), std::vector{kFulfilled});
  EXPECT_EQ(decided("aftercorr:5", views), std::vector{kUnfulfilled});
  EXPECT_EQ(decided("aftercorr:5", {views[0]}), std::vector{kFulfilled});
}

TEST(PastDependencies, AnUpdateIsAnsweredLikeASubmission) {
  testing::Log log;
  const JobId gone = log.submit(testing::spec_of());
  log.end(gone, JobState::kFailed, true);
  log.add({JobsEvicted{{gone}}});
  std::vector<PreparedRequest> requests;
  requests.emplace_back(
      UpdateObject{UpdateKind::kJob, "2", {{"dependency", "afterok:1,afterany:1"}}});
  EXPECT_EQ(past_jobs(log.state(), log.state().time(), requests), std::vector{gone});
  decide_past_terms(requests, {gone}, {past_end_of(ended(1, JobState::kFailed))});
  const auto& past = get<PreparedUpdate>(requests[0]).past;
  ASSERT_EQ(past.size(), 1U);
  EXPECT_EQ(past[0].kind, DependencyKind::kAfterOk);
  EXPECT_EQ(past[0].state, kFailed);
}

TEST(PastDependencies, OnlyWhatIsGoneIsAskedFor) {
  testing::Log log;
  const JobId here = log.submit(testing::spec_of());
  PreparedSubmit submit;
  submit.dependencies = parse_dependency("afterok:1:" + std::to_string(here.value() + 1)).value();
  std::vector<PreparedRequest> requests;
  requests.emplace_back(std::move(submit));
  EXPECT_TRUE(past_jobs(log.state(), log.state().time(), requests)
                  .empty());  // in memory, and not yet given
}

TEST(PastDependencies, WhatIsAboutToLeaveIsAskedForAsWell) {
  testing::Log log;
  const JobId ended = log.submit(testing::spec_of());
  log.end(ended, JobState::kFailed, true);
  std::vector<PreparedRequest> requests;
  requests.emplace_back(UpdateObject{UpdateKind::kJob, "2", {{"Dependency", "afterok:1"}}});
  EXPECT_TRUE(past_jobs(log.state(), log.state().time(), requests).empty());
  const TimePoint later =
      log.state().time() + log.state().settings().min_job_age - Duration::seconds(30);
  EXPECT_EQ(past_jobs(log.state(), later, requests), std::vector{ended})
      << "it may be gone when the core looks";
}

TEST(PastDependencies, AnArrayStaysAsLongAsOneOfItsElements) {
  testing::Log log;
  const JobId array = log.submit(testing::spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 0, element}});
  log.start(element, {testing::grant_of(0, 0, 1)});
  log.end(array, JobState::kCancelled, true);  // what had not started
  std::vector<PreparedRequest> requests;
  requests.emplace_back(UpdateObject{UpdateKind::kJob, "9", {{"Dependency", "afternotok:1"}}});
  const TimePoint later = log.state().time() + Duration::hours(1);
  EXPECT_TRUE(past_jobs(log.state(), later, requests).empty());
  log.end(element, JobState::kCompleted, true);
  log.add({JobsEvicted{{element}}});
  EXPECT_EQ(past_jobs(log.state(), later, requests), std::vector{array});
}

TEST(PastDependencies, WhatStillRunsDecidesNothing) {
  const std::vector<JobView> views = {ended(5, JobState::kFailed, 5, 0),
                                      ended(6, JobState::kRunning, 5, 1)};
  EXPECT_EQ(decided("afternotok:5", views), std::vector{kUnfulfilled});
}

}  // namespace
}  // namespace muster
