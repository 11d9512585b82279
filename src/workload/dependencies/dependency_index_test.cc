#include "workload/dependencies/dependency_index.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

DependencyTerm term(DependencyKind kind, JobId job, std::optional<std::uint32_t> index = {},
                    Duration delay = {}) {
  return {kind, job, index, delay, DependencyState::kUnfulfilled};
}

/// A log with an index that follows it.
struct Followed : Log {
  /// An array each of whose elements waits for that of `array`.
  JobId submit_corresponding(JobId array, std::size_t count) {
    return submit_after({term(DependencyKind::kAfterCorr, array)}, false, spec_of("corresponding"),
                        ArraySpec{Bitmap::range(0, count), 0});
  }
  JobId submit_after(std::vector<DependencyTerm> terms, bool is_any = false,
                     std::shared_ptr<JobSpec> spec = spec_of("after"),
                     std::optional<ArraySpec> array = {}) {
    JobSubmitted event;
    event.job = state().next_job();
    event.spec = std::move(spec);
    event.partitions = {PartitionIndex(0)};
    event.dependencies = DependencySet{is_any, std::move(terms)};
    event.array = std::move(array);
    const JobId job = event.job;
    add({std::move(event)});
    follow();
    return job;
  }
  void run(JobId job) {
    start(job, {grant_of(0, next_cpu_++ % 4, 1)});
    follow();
  }
  void finish(JobId job, JobState outcome) {
    end(job, outcome, true);
    follow();
  }
  void follow() {
    for (; seen_ < batches().size(); ++seen_) {
      for (const Event& event : batches()[seen_]->events) index.on_event(event, state());
    }
  }
  DependencyOutcome outcome(JobId job) const { return index.evaluate(Log::job(job), state()); }
  std::vector<JobId> affected() {
    std::vector<JobId> jobs;
    for (const AffectedJob& one : index.extract_affected(1000)) jobs.push_back(one.job);
    return jobs;
  }
  DependencyIndex index;

 private:
  std::size_t seen_ = 0;
  std::size_t next_cpu_ = 0;
};

struct Verdict {
  bool is_satisfied;
  bool is_never;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};
constexpr Verdict kWaits{false, false};
constexpr Verdict kHolds{true, false};
constexpr Verdict kNever{false, true};
void PrintTo(const Verdict& verdict, std::ostream* out) {  // NOLINT(*-naming): gtest's
  *out << (verdict == kWaits   ? "waits"
           : verdict == kHolds ? "holds"
           : verdict == kNever ? "never"
                               : "both");
}
Verdict verdict(const Followed& log, JobId job) {
  const DependencyOutcome outcome = log.outcome(job);
  return {outcome.is_satisfied, outcome.is_never};
}

TEST(Dependencies, EachKindAtEachStageOfTheOther) {
  struct Case {
    DependencyKind kind;
    Verdict while_pending, while_running, completed, failed;
  };
  for (const Case& one : {Case{DependencyKind::kAfter, kWaits, kHolds, kHolds, kHolds},
                          Case{DependencyKind::kAfterAny, kWaits, kWaits, kHolds, kHolds},
                          Case{DependencyKind::kAfterOk, kWaits, kWaits, kHolds, kNever},
                          Case{DependencyKind::kAfterNotOk, kWaits, kWaits, kNever, kHolds}}) {
    SCOPED_TRACE(static_cast<int>(one.kind));
    for (const bool is_good : {true, false}) {
      Followed log;
      const JobId first = log.submit(spec_of("first"));
      const JobId after = log.submit_after({term(one.kind, first)});
      EXPECT_EQ(verdict(log, after), one.while_pending);
      log.run(first);
      EXPECT_EQ(verdict(log, after), one.while_running);
      log.finish(first, is_good ? JobState::kCompleted : JobState::kFailed);
      EXPECT_EQ(verdict(log, after), is_good ? one.completed : one.failed);
    }
  }
}

TEST(Dependencies, ARunThatGoesBackToTheQueueHasNotEnded) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId after = log.submit_after({term(DependencyKind::kAfterAny, first)});
  log.run(first);
  log.end(first, JobState::kFailed, true, true);
  EXPECT_EQ(verdict(log, after), kWaits);
}

TEST(Dependencies, AfterMayWaitLongerThanTheStart) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId after =
      log.submit_after({term(DependencyKind::kAfter, first, {}, Duration::minutes(5))});
  log.run(first);
  EXPECT_EQ(log.outcome(after).set.not_before(), log.job(first).start_time + Duration::minutes(5));
}

TEST(Dependencies, ADelayIsKeptUntilTheLastOfThemHolds) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId second = log.submit(spec_of("second"));
  const std::vector terms = {term(DependencyKind::kAfter, first, {}, Duration::minutes(5)),
                             term(DependencyKind::kAfterAny, second)};
  const JobId after = log.submit_after(terms);
  log.run(first);
  const TimePoint due = log.job(first).start_time + Duration::minutes(5);
  JobChanged known;
  known.job = after;
  known.dependencies = log.outcome(after).set;
  log.add({std::move(known)});
  log.run(second);
  log.finish(second, JobState::kCompleted);
  EXPECT_EQ(verdict(log, after), kHolds);
  EXPECT_EQ(log.outcome(after).set.not_before(), due);
}

TEST(Dependencies, AllOfThemOrOneOfThem) {
  Followed log;
  const JobId good = log.submit(spec_of("good"));
  const JobId bad = log.submit(spec_of("bad"));
  const std::vector both = {term(DependencyKind::kAfterOk, good),
                            term(DependencyKind::kAfterOk, bad)};
  const JobId all = log.submit_after(both);
  const JobId any = log.submit_after(both, true);
  log.run(bad);
  log.finish(bad, JobState::kFailed);
  EXPECT_EQ(verdict(log, all), kNever);
  EXPECT_EQ(verdict(log, any), kWaits);
  log.run(good);
  log.finish(good, JobState::kCompleted);
  EXPECT_EQ(verdict(log, any), kHolds);
}

TEST(Dependencies, AnArrayIsAllOfItsElementsAndAnElementItself) {
  Followed log;
  const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 2), 0});
  log.add({ArraySplit{array, 0, log.state().next_job()}});
  const JobId element = JobId(array.value() + 1);
  const JobId whole = log.submit_after({term(DependencyKind::kAfterAny, array)});
  const JobId one = log.submit_after({term(DependencyKind::kAfterAny, array, 0)});
  const JobId other = log.submit_after({term(DependencyKind::kAfterAny, array, 1)});
  log.run(element);
  log.finish(element, JobState::kCompleted);
  EXPECT_EQ(verdict(log, one), kHolds);
  EXPECT_EQ(verdict(log, other), kWaits);
  EXPECT_EQ(verdict(log, whole), kWaits);
  log.run(array);
  log.finish(array, JobState::kCompleted);
  EXPECT_EQ(verdict(log, whole), kHolds);
  EXPECT_EQ(verdict(log, other), kHolds);
}

TEST(Dependencies, AJobThatLeftMemoryHasEndedWell) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId ok = log.submit_after({term(DependencyKind::kAfterOk, first)});
  const JobId not_ok = log.submit_after({term(DependencyKind::kAfterNotOk, first)});
  log.run(first);
  log.finish(first, JobState::kCompleted);
  log.add({JobsEvicted{{first}}});
  EXPECT_EQ(verdict(log, ok), kHolds);
  EXPECT_EQ(verdict(log, not_ok), kNever);
}

DependencyTerm singleton() { return term(DependencyKind::kSingleton, JobId(0)); }

TEST(Dependencies, SingletonWaitsForEarlierJobsOfItsUserAndName) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  auto of_another = spec_of("one");
  of_another->user = UserId(7);
  log.submit(of_another);
  log.submit(spec_of("two"));
  const JobId second = log.submit_after({singleton()}, false, spec_of("one"));
  log.submit(spec_of("one"));  // later ones that wait do not matter
  EXPECT_EQ(verdict(log, second), kWaits);
  log.run(first);
  log.finish(first, JobState::kFailed);
  EXPECT_EQ(verdict(log, second), kHolds);
}

TEST(Dependencies, SingletonWaitsForALaterJobThatRuns) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  const JobId second = log.submit_after({singleton()}, false, spec_of("one"));
  const JobId third = log.submit(spec_of("one"));
  log.run(third);
  log.run(first);
  log.finish(first, JobState::kCompleted);
  EXPECT_EQ(verdict(log, second), kWaits);
  log.finish(third, JobState::kCompleted);
  EXPECT_EQ(verdict(log, second), kHolds);
}

TEST(Dependencies, AnElementStandsWhereItsArrayDoes) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  const JobId array =
      log.submit_after({singleton()}, false, spec_of("one"), ArraySpec{Bitmap::range(0, 2), 0});
  const JobId later = log.submit_after({singleton()}, false, spec_of("one"));
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 0, element}});
  log.follow();
  log.affected();
  log.run(first);
  log.finish(first, JobState::kCompleted);
  EXPECT_EQ(log.affected(), (std::vector{array, element}));
  EXPECT_EQ(verdict(log, element), kHolds);
  EXPECT_EQ(verdict(log, later), kWaits);
}

TEST(Dependencies, WhatARecordWaitsForByElementIsOpenWhileItHasSeveral) {
  Followed log;
  const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 2), 0});
  const JobId after = log.submit_corresponding(array, 3);
  log.add({ArraySplit{array, 0, log.state().next_job()}});
  log.follow();
  const JobId element(after.value() + 1);
  log.run(element);
  log.finish(element, JobState::kFailed);
  EXPECT_EQ(verdict(log, after), kWaits);
  const auto of_element = [&](std::uint32_t index) {
    const DependencyOutcome outcome = log.index.evaluate(log.job(after), log.state(), index);
    return Verdict{outcome.is_satisfied, outcome.is_never};
  };
  EXPECT_EQ(of_element(0), kNever);
  EXPECT_EQ(of_element(1), kWaits);
  EXPECT_EQ(of_element(2), kWaits) << "the other array never had such an element: it waits for all";
}

TEST(Dependencies, AnElementWithoutOneOfItsIndexWaitsForTheWholeArray) {
  for (const JobState last : {JobState::kCompleted, JobState::kFailed}) {
    Followed log;
    const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 2), 0});
    const JobId after = log.submit_corresponding(array, 4);
    log.add({ArraySplit{array, 0, log.state().next_job()}});
    log.follow();
    const auto of_element = [&](std::uint32_t index) {
      const DependencyOutcome outcome = log.index.evaluate(log.job(after), log.state(), index);
      return Verdict{outcome.is_satisfied, outcome.is_never};
    };
    const JobId element(after.value() + 1);
    log.run(element);
    log.finish(element, JobState::kCompleted);
    EXPECT_EQ(of_element(0), kHolds);
    EXPECT_EQ(of_element(3), kWaits);
    log.run(array);
    log.finish(array, last);
    EXPECT_EQ(of_element(3), last == JobState::kCompleted ? kHolds : kNever);
  }
}

TEST(Dependencies, OfAJobThatIsNoArrayEveryElementWaitsForIt) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId after = log.submit_corresponding(first, 2);
  EXPECT_EQ(verdict(log, after), kWaits);
  log.run(first);
  log.finish(first, JobState::kCompleted);
  EXPECT_TRUE(log.index.evaluate(log.job(after), log.state(), 1).is_satisfied);
}

// ---- who has to be looked at again ----

TEST(DependencyIndex, NamesTheWaitersOfWhatChangedAndNoOthers) {
  Followed log;
  const JobId first = log.submit(spec_of("first"));
  const JobId unrelated = log.submit(spec_of("unrelated"));
  const JobId after = log.submit_after({term(DependencyKind::kAfterAny, first)});
  EXPECT_EQ(log.affected(), std::vector{after});  // itself, to begin with
  log.run(unrelated);
  EXPECT_TRUE(log.affected().empty());
  log.run(first);
  EXPECT_EQ(log.affected(), std::vector{after});
  log.finish(first, JobState::kCompleted);
  EXPECT_EQ(log.affected(), std::vector{after});
  EXPECT_TRUE(log.affected().empty());
}

TEST(DependencyIndex, AnElementMovesThoseThatWaitForItsArray) {
  Followed log;
  const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 2), 0});
  const JobId after = log.submit_after({term(DependencyKind::kAfterAny, array)});
  log.add({ArraySplit{array, 0, log.state().next_job()}});
  log.follow();
  log.affected();
  log.run(JobId(after.value() + 1));
  EXPECT_EQ(log.affected(), std::vector{after});
}

TEST(DependencyIndex, AnElementThatEndsMovesTheElementThatWaitsForIt) {
  Followed log;
  const JobId array = log.submit(spec_of("array"), ArraySpec{Bitmap::range(0, 2), 0});
  const JobId after = log.submit_corresponding(array, 2);
  log.add({ArraySplit{array, 1, log.state().next_job()}});
  log.follow();
  EXPECT_EQ(log.affected(), std::vector{after});
  log.run(JobId(after.value() + 1));
  const std::vector<AffectedJob> affected = log.index.extract_affected(1000);
  ASSERT_EQ(affected.size(), 1U);
  EXPECT_EQ(affected.front().elements, std::set<std::uint32_t>{1});
  EXPECT_FALSE(affected.front().may_be_all) << "it has but begun";
  log.finish(JobId(after.value() + 1), JobState::kCompleted);
  const std::vector<AffectedJob> ended = log.index.extract_affected(1000);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().elements, std::set<std::uint32_t>{1});
  EXPECT_TRUE(ended.front().may_be_all);
}

TEST(DependencyIndex, OfSingletonsOnlyTheNextIsLookedAt) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  const JobId second = log.submit_after({singleton()}, false, spec_of("one"));
  log.submit_after({singleton()}, false, spec_of("one"));
  log.affected();
  log.run(first);
  log.finish(first, JobState::kCompleted);
  EXPECT_EQ(log.affected(), std::vector{second});
}

TEST(DependencyIndex, ANewNameFreesTheSingletonsOfTheOldOne) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  const JobId second = log.submit_after({singleton()}, false, spec_of("one"));
  EXPECT_EQ(verdict(log, second), kWaits);
  log.affected();
  JobChanged rename;
  rename.job = first;
  rename.spec = spec_of("two");
  log.add({std::move(rename)});
  log.follow();
  EXPECT_EQ(log.affected(), std::vector{second});
  EXPECT_EQ(verdict(log, second), kHolds);
}

TEST(DependencyIndex, IsTheSameAfterARestart) {
  Followed log;
  const JobId first = log.submit(spec_of("one"));
  const JobId after = log.submit_after({term(DependencyKind::kAfterAny, first)});
  const JobId single = log.submit_after({singleton()}, false, spec_of("one"));
  Followed fresh;
  fresh.index.load(log.state());
  EXPECT_EQ(fresh.affected(), (std::vector{after, single}));
  log.start(first, {grant_of(0, 0, 1)});
  log.end(first, JobState::kCompleted, true);
  for (const auto& batch : {log.batches().end()[-2], log.batches().back()}) {
    for (const Event& event : batch->events) fresh.index.on_event(event, log.state());
  }
  EXPECT_EQ(fresh.affected(), (std::vector{after, single}));
}

}  // namespace
}  // namespace muster
