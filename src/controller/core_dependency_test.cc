// Jobs that wait for others: what releases them, what never will.
#include <gtest/gtest.h>

#include "controller/core.h"
#include "controller/testing.h"

namespace muster {
namespace {

using testing::cancel_of;
using testing::kAlice;
using testing::Rig;
using testing::selector_of;
using testing::spec_of;
using testing::submit_of;

TEST(CoreDependency, ReleasesAndRefusesAsTheFirstEnds) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId first = rig.done(submit_of(spec_of("first"))).job;
  const auto after = [&](DependencyKind kind) {
    PreparedSubmit submit = submit_of(spec_of("after"));
    submit.dependencies.terms.push_back(DependencyTerm{kind, first, {}, {}, {}});
    return rig.done(std::move(submit)).job;
  };
  const JobId ok = after(DependencyKind::kAfterOk);
  const JobId any = after(DependencyKind::kAfterAny);
  EXPECT_TRUE(rig.job(any).is_pending());
  rig.step_done(0, rig.batch_step(first), ExitStatus::exited(1));
  rig.plan();
  EXPECT_EQ(rig.job(any).state, JobState::kRunning);
  EXPECT_TRUE(rig.job(ok).is_pending());
  EXPECT_EQ(rig.job(ok).reason, PendingReason::kDependencyNeverSatisfied);
}

TEST(CoreDependency, WhatEndsForItSaysWhichOfItsDependenciesFailed) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId first = rig.done(submit_of(spec_of("first"))).job;
  auto spec = spec_of("after");
  spec->kill_on_invalid_dependency = true;
  PreparedSubmit submit = submit_of(std::move(spec));
  submit.dependencies.terms.push_back(DependencyTerm{DependencyKind::kAfterOk, first, {}, {}, {}});
  const JobId after = rig.done(std::move(submit)).job;
  rig.step_done(0, rig.batch_step(first), ExitStatus::exited(1));
  const Job& job = rig.job(after);
  EXPECT_EQ(job.state, JobState::kCancelled);
  EXPECT_EQ(job.reason, PendingReason::kDependencyNeverSatisfied);
  ASSERT_NE(job.dependencies, nullptr);
  EXPECT_EQ(job.dependencies->terms.at(0).state, DependencyState::kFailed);
}

TEST(CoreDependency, EachElementOfACorrespondingArrayWaitsForItsOwn) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  PreparedSubmit first = submit_of(spec_of("first"));
  first.array = ArraySpec{Bitmap::range(0, 3), 0};
  const JobId array = rig.done(std::move(first)).job;
  PreparedSubmit second = submit_of(spec_of("second"));
  second.array = ArraySpec{Bitmap::range(0, 3), 0};
  second.dependencies.terms.push_back(
      DependencyTerm{DependencyKind::kAfterCorr, array, {}, {}, {}});
  const JobId after = rig.done(std::move(second)).job;
  rig.plan();
  const auto element = [&](JobId of, std::uint32_t index) {
    const auto* elements = rig.core.state().jobs().elements(of);
    const auto found = elements == nullptr ? decltype(elements->end()){} : elements->find(index);
    return elements == nullptr || found == elements->end() ? JobId(0) : found->second;
  };
  ASSERT_NE(element(array, 0), JobId(0));
  rig.step_done(0, rig.batch_step(element(array, 0)), ExitStatus());
  rig.step_done(0, rig.batch_step(element(array, 1)), ExitStatus::exited(1));
  rig.plan();
  ASSERT_NE(element(after, 0), JobId(0)) << "its own has ended well";
  EXPECT_EQ(rig.job(element(after, 0)).state, JobState::kRunning);
  ASSERT_NE(element(after, 1), JobId(0)) << "its own has failed";
  EXPECT_EQ(rig.job(element(after, 1)).reason, PendingReason::kDependencyNeverSatisfied);
  EXPECT_TRUE(rig.job(after).is_pending());
  rig.step_done(0, rig.batch_step(element(array, 2)), ExitStatus());
  rig.plan();
  EXPECT_EQ(rig.job(after).state, JobState::kRunning) << "the last one keeps the record";
}

TEST(CoreDependency, ElementsOfOneOutcomeStayTogether) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto held = spec_of("first");
  held->is_held = true;
  PreparedSubmit first = submit_of(std::move(held));
  first.array = ArraySpec{Bitmap::range(0, 100), 0};
  const JobId array = rig.done(std::move(first)).job;
  PreparedSubmit second = submit_of(spec_of("second"));
  second.array = ArraySpec{Bitmap::range(0, 101), 0};  // one more: it waits for all of them
  second.dependencies.terms.push_back(
      DependencyTerm{DependencyKind::kAfterCorr, array, {}, {}, {}});
  const JobId after = rig.done(std::move(second)).job;
  EXPECT_EQ(rig.core.state().jobs().size(), 2U);
  CancelJobs cancel;
  cancel.filter.jobs = {selector_of(array)};
  rig.done(cancel);
  EXPECT_EQ(rig.core.state().jobs().size(), 2U);
  EXPECT_EQ(rig.job(after).array->remaining.indices.count(), 101U);
  EXPECT_EQ(rig.job(after).reason, PendingReason::kDependencyNeverSatisfied);
}

TEST(CoreDependency, ElementsBeyondTheOtherArrayStartWhenAllOfItHasEndedWell) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  PreparedSubmit first = submit_of(spec_of("first"));
  first.array = ArraySpec{Bitmap::range(0, 2), 0};
  const JobId array = rig.done(std::move(first)).job;
  PreparedSubmit second = submit_of(spec_of("second"));
  second.array = ArraySpec{Bitmap::range(0, 4), 0};
  second.dependencies.terms.push_back(
      DependencyTerm{DependencyKind::kAfterCorr, array, {}, {}, {}});
  const JobId after = rig.done(std::move(second)).job;
  rig.plan();
  const auto running = [&] {
    std::size_t count = 0;
    rig.core.state().jobs().for_each([&](const Job& job) {
      count += job.array_job == after && job.state == JobState::kRunning ? 1 : 0;
    });
    return count;
  };
  EXPECT_EQ(running(), 0U);
  const JobId zero = rig.core.state().jobs().elements(array)->at(0);
  const JobId one = rig.core.state().jobs().elements(array)->at(1);
  rig.step_done(0, rig.batch_step(zero), ExitStatus());
  rig.plan();
  EXPECT_EQ(running(), 1U) << "the one of its index";
  rig.step_done(0, rig.batch_step(one), ExitStatus());
  rig.work();
  rig.plan();
  EXPECT_EQ(running(), 4U);
}

/// An array of three of which the first has ended well and the second has failed, both have left
/// memory, and the third runs.
struct LivingArray : Rig {
  LivingArray() {
    connect_all();
    plan();
    PreparedSubmit submit = submit_of(spec_of("first"));
    submit.array = ArraySpec{Bitmap::range(0, 3), 0};
    array = done(std::move(submit)).job;
    plan();
    for (const std::uint32_t index : {0U, 1U, 2U}) {
      const JobId id = element(index);
      hear(job(id).run->allocation->nodes.front().node.value(), StepRunning{batch_step(id)});
    }
    end(0, ExitStatus());
    end(1, ExitStatus::exited(1));
    live(core.state().settings().min_job_age + Duration::seconds(30));
  }
  JobId element(std::uint32_t index) const {
    const auto* elements = core.state().jobs().elements(array);
    if (elements == nullptr || !elements->contains(index)) return {};
    return elements->at(index);
  }
  void end(std::uint32_t index, ExitStatus exit) {
    const JobId id = element(index);
    step_done(job(id).run->allocation->nodes.front().node.value(), batch_step(id), exit);
    plan();
  }
  JobId after(DependencyKind kind, std::optional<std::uint32_t> index = {}) {
    PreparedSubmit submit = submit_of(spec_of("after"));
    submit.dependencies.terms.push_back(DependencyTerm{kind, array, index, {}, {}});
    const JobId id = done(std::move(submit)).job;
    plan();
    return id;
  }
  JobId array;
};

TEST(CoreDependency, AnElementThatHasLeftMemoryIsRememberedWhileItsArrayLives) {
  LivingArray rig;
  ASSERT_EQ(rig.element(0), JobId());
  ASSERT_EQ(rig.element(1), JobId());
  ASSERT_EQ(rig.job(rig.element(2)).state, JobState::kRunning);
  const auto never = PendingReason::kDependencyNeverSatisfied;
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterOk, 1)).reason, never);
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterOk)).reason, never);
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterNotOk, 0)).reason, never);
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterNotOk, 1)).state, JobState::kRunning);
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterOk, 0)).state, JobState::kRunning);
  EXPECT_EQ(rig.job(rig.after(DependencyKind::kAfterAny, 1)).state, JobState::kRunning);
  const JobId fails = rig.after(DependencyKind::kAfterNotOk);
  const JobId ends = rig.after(DependencyKind::kAfterAny);
  EXPECT_TRUE(rig.job(fails).is_pending());
  EXPECT_TRUE(rig.job(ends).is_pending());
  rig.end(2, ExitStatus());
  EXPECT_EQ(rig.job(fails).state, JobState::kRunning) << "one of three has failed";
  EXPECT_EQ(rig.job(ends).state, JobState::kRunning);
}

TEST(CoreDependency, EachElementWaitsForItsOwnThatHasLeftMemory) {
  LivingArray rig;
  PreparedSubmit submit = submit_of(spec_of("after"));
  submit.array = ArraySpec{Bitmap::range(0, 3), 0};
  submit.dependencies.terms.push_back(
      DependencyTerm{DependencyKind::kAfterCorr, rig.array, {}, {}, {}});
  const JobId after = rig.done(std::move(submit)).job;
  rig.plan();
  const auto& elements = *rig.core.state().jobs().elements(after);
  ASSERT_TRUE(elements.contains(0));
  EXPECT_EQ(rig.job(elements.at(0)).state, JobState::kRunning);
  ASSERT_TRUE(elements.contains(1));
  EXPECT_EQ(rig.job(elements.at(1)).reason, PendingReason::kDependencyNeverSatisfied);
  EXPECT_TRUE(rig.job(after).is_pending()) << "the third still runs";
}

TEST(CoreDependency, WhatIsRememberedOfAnArrayOutlivesARestart) {
  LivingArray rig;
  Rig next(2, rig.stored());
  const ArrayRecord& record = *next.job(rig.array).array;
  EXPECT_EQ(record.evicted_completed, Bitmap::range(0, 1));
  EXPECT_EQ(record.evicted_failed, Bitmap::range(1, 1));
}

TEST(CoreDependency, EachThatWaitsIsToldBeforeTheEndedJobIsForgotten) {
  auto config = std::make_shared<ClusterConfig>(*testing::config_of(2));
  config->settings.min_job_age = Duration();
  Rig rig(std::move(config));
  rig.connect_all();
  rig.plan();
  const JobId first = rig.done(submit_of(spec_of("first"))).job;
  rig.plan();
  std::vector<JobId> waiting;  // more than one turn tells
  for (int i = 0; i < 600; ++i) {
    PreparedSubmit submit = submit_of(spec_of("after"));
    submit.dependencies.terms.push_back(
        DependencyTerm{DependencyKind::kAfterNotOk, first, {}, {}, {}});
    waiting.push_back(rig.done(std::move(submit)).job);
  }
  rig.step_done(0, rig.batch_step(first), ExitStatus::exited(1));
  rig.pass(Duration::seconds(5));
  ASSERT_EQ(rig.core.state().jobs().find(first), nullptr) << "no longer remembered";
  for (const JobId id : waiting) {
    ASSERT_EQ(rig.job(id).reason, PendingReason::kNone) << id.value();
    ASSERT_TRUE(rig.job(id).eligible_time.is_set()) << id.value();
  }
}

}  // namespace
}  // namespace muster
