// hold, release, requeue, suspend, resume; and cancelling, which follows the same rules of whose
// job it is.
#include <gtest/gtest.h>

#include <csignal>

#include "admission/testing.h"
#include "workload/requests/sweep.h"

namespace muster {
namespace {

using testing::at;
using testing::cancel_of;
using testing::control_of;
using testing::element_of;
using testing::grant_of;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Log;
using testing::selector_of;
using testing::spec_of;

/// The outcome for the one job that is named, and what was drafted.
struct Drafted {
  std::optional<Error> error;
  std::vector<EventBody> events;
  template <class Event>
  const Event& only() const {
    EXPECT_EQ(events.size(), 1U);
    return get<Event>(events.at(0));
  }
};
Drafted control(const Log& log, JobVerb verb, JobSelector job, const Identity& who) {
  Draft draft(log.state());
  const Reply reply = requests::control(draft, control_of(verb, std::move(job)), who);
  EXPECT_EQ(reply.outcomes.size(), 1U);
  return {reply.outcomes.at(0).error, draft.events};
}
Drafted control(const Log& log, JobVerb verb, JobId job, const Identity& who) {
  return control(log, verb, selector_of(job), who);
}

JobId running_job(Log& log, std::shared_ptr<JobSpec> spec = spec_of()) {
  const JobId job = log.submit(spec);
  log.start(job, {grant_of(0, 0, 1), grant_of(1, 0, 1)});
  log.step(job, kBatchStep, {grant_of(0, 0, 1)});
  log.step(job, 0, {grant_of(1, 0, 1)});
  return job;
}

// ---- hold and release ----

TEST(Hold, TheOwnersIsTheUsersAndTheOperatorsIsTheAdmins) {
  Log log;
  const JobId job = log.submit(spec_of());
  const auto by_owner = control(log, JobVerb::kHold, job, kAlice).only<JobChanged>();
  EXPECT_EQ(by_owner.flags, job_flag::kUserHeld);
  EXPECT_EQ(by_owner.reason, PendingReason::kJobHeldUser);
  EXPECT_EQ(by_owner.priority, 0);
  EXPECT_EQ(control(log, JobVerb::kHold, job, kRoot).only<JobChanged>().flags,
            job_flag::kAdminHeld);
  EXPECT_EQ(control(log, JobVerb::kUserHold, job, kRoot).only<JobChanged>().flags,
            job_flag::kUserHeld);
}

TEST(Hold, IsForTheOwnersOfJobsThatAreNotOver) {
  Log log;
  const JobId waiting = log.submit(spec_of());
  const JobId running = running_job(log);
  EXPECT_EQ(control(log, JobVerb::kHold, waiting, kBob).error->code, ErrorCode::kPermissionDenied);
  const auto held = control(log, JobVerb::kHold, running, kAlice).only<JobChanged>();
  EXPECT_EQ(held.flags, job_flag::kUserHeld);
  EXPECT_FALSE(held.reason.has_value());  // it does not wait
  JobEnding ending;
  ending.job = running;
  ending.state = JobState::kCancelled;
  log.add({ending});
  EXPECT_EQ(control(log, JobVerb::kHold, running, kAlice).error->message,
            "Job/step already completing or completed");
  EXPECT_EQ(control(log, JobVerb::kHold, JobId(99), kAlice).error->message,
            "Invalid job id specified");
}

TEST(Release, AnOperatorsHoldIsOnlyLiftedByOne) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.add({control(log, JobVerb::kHold, job, kRoot).only<JobChanged>()});
  EXPECT_EQ(control(log, JobVerb::kRelease, job, kAlice).error->code, ErrorCode::kPermissionDenied);
  const auto released = control(log, JobVerb::kRelease, job, kRoot).only<JobChanged>();
  EXPECT_EQ(released.flags, 0);
  EXPECT_EQ(released.priority, 1);
  EXPECT_EQ(released.reason, PendingReason::kNone);
}

TEST(Release, KeepsTheDelayOfADependency) {
  Log log;
  const JobId job = log.submit(spec_of());
  JobChanged depends;
  depends.job = job;
  depends.dependencies = DependencySet{};
  depends.dependencies->terms.push_back({DependencyKind::kAfter,
                                         JobId(99),
                                         {},
                                         Duration::minutes(5),
                                         DependencyState::kFulfilled,
                                         at(1'000'000)});
  log.add({depends});
  log.add({control(log, JobVerb::kHold, job, kAlice).only<JobChanged>()});
  EXPECT_EQ(control(log, JobVerb::kRelease, job, kAlice).only<JobChanged>().eligible_time,
            at(1'000'000));
}

TEST(Release, CountsFromTheReleaseAndIsNothingToARunningJob) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.add({control(log, JobVerb::kHold, job, kAlice).only<JobChanged>()});
  log.submit(spec_of());  // time passes
  EXPECT_EQ(control(log, JobVerb::kRelease, job, kAlice).only<JobChanged>().eligible_time,
            log.state().time());
  const JobId not_held = log.submit(spec_of());
  JobChanged priority;
  priority.job = not_held;
  priority.priority = 1;
  log.add({priority});
  const Drafted free = control(log, JobVerb::kRelease, not_held, kAlice);
  EXPECT_TRUE(!free.error && free.events.empty());
  const Drafted running = control(log, JobVerb::kRelease, running_job(log), kAlice);
  EXPECT_TRUE(!running.error && running.events.empty());
}

TEST(Hold, OneElementOfAnArraySplitsOffAndTheWholeDoesNot) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  const Drafted one = control(log, JobVerb::kHold, element_of(array, Bitmap::range(2, 1)), kAlice);
  ASSERT_EQ(one.events.size(), 2U);
  EXPECT_EQ(get<ArraySplit>(one.events[0]).index, 2U);
  EXPECT_EQ(get<JobChanged>(one.events[1]).job, get<ArraySplit>(one.events[0]).element);
  EXPECT_EQ(control(log, JobVerb::kHold, element_of(array, Bitmap::range(0, 4)), kAlice)
                .only<JobChanged>()
                .job,
            array);
  EXPECT_EQ(control(log, JobVerb::kHold, array, kAlice).only<JobChanged>().job, array);
  EXPECT_EQ(
      control(log, JobVerb::kHold, element_of(array, Bitmap::range(7, 1)), kAlice).error->message,
      "Invalid job id specified");
}

/// Of one request about named elements of an array.
Reply control_elements(Draft& draft, JobVerb verb, JobId array, Bitmap indices) {
  return requests::control(draft, control_of(verb, element_of(array, std::move(indices))), kAlice);
}

TEST(Hold, ElementsThatAreNotThereAreNamedAndTheOthersHeld) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 6), 0});
  Draft draft(log.state());
  const Reply reply = control_elements(draft, JobVerb::kHold, array, Bitmap::range(4, 6));
  EXPECT_EQ(draft.events.size(), 4U) << "two splits, two holds";
  ASSERT_EQ(reply.outcomes.size(), 2U);
  EXPECT_FALSE(reply.outcomes[0].error);
  EXPECT_EQ(reply.outcomes[1].job, element_of(array, Bitmap::range(6, 4)));
  EXPECT_EQ(reply.outcomes[1].error->message, "Invalid job id specified");
}

TEST(Hold, AllThatRemainIsHeldAsAWholeBesideWhatIsNotThere) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  Draft draft(log.state());
  const Reply reply = control_elements(draft, JobVerb::kHold, array, Bitmap::range(0, 6));
  ASSERT_EQ(draft.events.size(), 1U);
  EXPECT_EQ(get<JobChanged>(draft.events[0]).job, array);
  ASSERT_EQ(reply.outcomes.size(), 2U);
  EXPECT_EQ(reply.outcomes[1].job, element_of(array, Bitmap::range(4, 2)));
}

TEST(Hold, MillionsOfElementsThatNoArrayHasAreNotEachLookedAt) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  const ControlJobs request =
      control_of(JobVerb::kHold, element_of(array, Bitmap::range(2, 4'000'000)));
  requests::Sweep sweep(request, kAlice, log.state());
  std::size_t cost = 0;
  std::vector<SignalOrder> none;
  Draft draft(log.state());
  while (!sweep.is_done()) cost += sweep.step(draft, 1, none);
  EXPECT_LT(cost, 1000U);
  EXPECT_EQ(draft.events.size(), 4U);
  ASSERT_EQ(sweep.reply().outcomes.size(), 2U);
  EXPECT_LT(sweep.reply().outcomes[1].job.indices.count(), 10'000U);
}

// ---- requeue ----

TEST(Requeue, ElementsThatWaitAreRefusedWithoutLeavingTheirRecord) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 5), 0});
  for (const JobVerb verb : {JobVerb::kRequeue, JobVerb::kRequeueHold, JobVerb::kSuspend,
                             JobVerb::kResume, JobVerb::kRequeueSpecialExit}) {
    Draft draft(log.state());
    const Reply reply = control_elements(draft, verb, array, Bitmap::range(1, 3));
    EXPECT_TRUE(draft.events.empty());
    ASSERT_EQ(reply.outcomes.size(), 1U);
    EXPECT_TRUE(reply.outcomes[0].error.has_value());
    EXPECT_EQ(reply.outcomes[0].job, element_of(array, Bitmap::range(1, 3)));
  }
}

TEST(Requeue, ElementsThatWereCancelledWithTheirArrayComeBackAllOrNone) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 5), 0});
  JobEnding cancelled;
  cancelled.job = array;
  cancelled.state = JobState::kCancelled;
  log.add({cancelled});
  for (const JobVerb verb :
       {JobVerb::kRequeue, JobVerb::kRequeueHold, JobVerb::kRequeueSpecialExit}) {
    Draft some(log.state());
    const Reply reply = control_elements(some, verb, array, Bitmap::range(1, 3));
    EXPECT_TRUE(some.events.empty()) << "nobody named 0 and 4";
    ASSERT_EQ(reply.outcomes.size(), 1U);
    ASSERT_TRUE(reply.outcomes[0].error.has_value());
    EXPECT_NE(reply.outcomes[0].error->detail.find("or none"), std::string::npos);
    Draft whole(log.state());
    control_elements(whole, verb, array, Bitmap::range(0, 5));
    EXPECT_EQ(whole.events.size(), 1U);
  }
}

TEST(Requeue, WhatWasCancelledWhileItWasHeldComesBackHeld) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.add({control(log, JobVerb::kHold, job, kAlice).only<JobChanged>()});
  JobEnding cancelled;
  cancelled.job = job;
  cancelled.state = JobState::kCancelled;
  log.add({cancelled});
  EXPECT_EQ(control(log, JobVerb::kRequeue, job, kAlice).only<JobRequeued>().flags,
            job_flag::kUserHeld);
  log.add({JobRequeued{job, at(0), job_flag::kRequeueHeld}});
  log.add({cancelled});
  EXPECT_EQ(control(log, JobVerb::kRequeue, job, kAlice).only<JobRequeued>().flags,
            job_flag::kRequeueHeld);
}

TEST(Requeue, ElementsThatAreRefusedAlikeAreNamedTogether) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 5), 0});
  Draft draft(log.state());
  const Reply reply = control_elements(draft, JobVerb::kRequeue, array, Bitmap::range(3, 4));
  ASSERT_EQ(reply.outcomes.size(), 2U);
  EXPECT_EQ(reply.outcomes[0].job, element_of(array, Bitmap::range(3, 2)));
  EXPECT_EQ(reply.outcomes[0].error->message, "Job is pending execution");
  EXPECT_EQ(reply.outcomes[1].job, element_of(array, Bitmap::range(5, 2)));
  EXPECT_EQ(reply.outcomes[1].error->message, "Invalid job id specified");
}

TEST(Requeue, AtOnceWhenItIsOverAndAfterItsNodesWhenItRuns) {
  Log log;
  const JobId over = log.submit(spec_of());
  log.start(over, {grant_of(0, 2, 1)});
  log.end(over, JobState::kFailed, true);
  const JobId running = running_job(log);
  EXPECT_EQ(control(log, JobVerb::kRequeue, over, kAlice).only<JobRequeued>().flags, 0);
  const auto held = control(log, JobVerb::kRequeueHold, over, kAlice).only<JobRequeued>();
  EXPECT_EQ(held.flags, job_flag::kRequeueHeld);
  const auto special = control(log, JobVerb::kRequeueSpecialExit, over, kAlice).only<JobRequeued>();
  EXPECT_EQ(special.flags, job_flag::kRequeueHeld | job_flag::kSpecialExit);
  const auto ending = control(log, JobVerb::kRequeue, running, kAlice).only<JobEnding>();
  EXPECT_TRUE(ending.requeue_after);
  EXPECT_FALSE(ending.is_clean);
}

TEST(Requeue, RefusesWhatCannotRunAgain) {
  Log log;
  const JobId waiting = log.submit(spec_of());
  EXPECT_EQ(control(log, JobVerb::kRequeue, waiting, kAlice).error->message,
            "Job is pending execution");
  auto never = spec_of();
  never->is_requeue = false;
  EXPECT_NE(control(log, JobVerb::kRequeue, running_job(log, never), kAlice)
                .error->detail.find("--no-requeue"),
            std::string::npos);
  Log other;
  auto interactive = spec_of();
  interactive->kind = JobKind::kInteractive;
  EXPECT_NE(control(other, JobVerb::kRequeue, running_job(other, interactive), kAlice)
                .error->detail.find("only batch jobs"),
            std::string::npos);
}

TEST(Requeue, OneBatchChangesOneJobOnce) {
  Log log;
  const JobId job = running_job(log);
  Draft draft(log.state());
  std::vector<SignalOrder> orders;
  EXPECT_FALSE(requests::control(draft, control_of(JobVerb::kRequeue, selector_of(job)), kAlice)
                   .outcomes[0]
                   .error);
  EXPECT_EQ(requests::cancel(draft, cancel_of(job), kAlice, orders).outcomes[0].error->code,
            ErrorCode::kConflict);
  EXPECT_EQ(requests::control(draft, control_of(JobVerb::kSuspend, selector_of(job)), kRoot)
                .outcomes[0]
                .error->code,
            ErrorCode::kConflict);
  EXPECT_EQ(draft.events.size(), 1U);
}

// ---- suspend and resume ----

TEST(Suspend, IsForOperatorsAndRunningJobs) {
  Log log;
  const JobId job = running_job(log);
  EXPECT_EQ(control(log, JobVerb::kSuspend, job, kAlice).error->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(control(log, JobVerb::kResume, job, kRoot).error->message, "Job is not suspended");
  log.add({control(log, JobVerb::kSuspend, job, kRoot).only<JobSuspended>()});
  const Drafted again = control(log, JobVerb::kSuspend, job, kRoot);
  EXPECT_TRUE(!again.error && again.events.empty());
  EXPECT_EQ(control(log, JobVerb::kResume, job, kAlice).error->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(control(log, JobVerb::kResume, job, kRoot).only<JobResumed>().job, job);
}

// ---- cancel ----

struct Cancelled : Drafted {
  std::vector<SignalOrder> orders;
  std::size_t outcomes = 0;
};
Cancelled cancel(const Log& log, const CancelJobs& request, const Identity& who = kAlice) {
  Draft draft(log.state());
  Cancelled result;
  const Reply reply = requests::cancel(draft, request, who, result.orders);
  result.outcomes = reply.outcomes.size();
  if (!reply.outcomes.empty()) result.error = reply.outcomes[0].error;
  result.events = draft.events;
  return result;
}

TEST(Cancel, EndsTheOwnersJobAndSaysByWhom) {
  Log log;
  const JobId waiting = log.submit(spec_of());
  const JobId running = running_job(log);
  const auto of_waiting = cancel(log, cancel_of(waiting)).only<JobEnding>();
  EXPECT_EQ(of_waiting.state, JobState::kCancelled);
  EXPECT_EQ(of_waiting.by, kAlice.user);
  EXPECT_EQ(of_waiting.exit, ExitStatus());
  EXPECT_EQ(cancel(log, cancel_of(running)).only<JobEnding>().exit, ExitStatus::signalled(SIGTERM));
  EXPECT_EQ(cancel(log, cancel_of(waiting), kBob).error->code, ErrorCode::kPermissionDenied);
  EXPECT_FALSE(cancel(log, cancel_of(waiting), kRoot).error);
}

TEST(Cancel, OfWhatIsOverOrUnknownIsAnErrorUnlessLenient) {
  Log log;
  const JobId over = log.submit(spec_of());
  log.end(over, JobState::kCancelled, true);
  for (const auto& [job, text] : {std::pair(over, "Job/step already completing or completed"),
                                  std::pair(JobId(99), "Invalid job id specified")}) {
    CancelJobs request = cancel_of(job);
    EXPECT_EQ(cancel(log, request).error->message, text);
    request.is_lenient = true;
    EXPECT_FALSE(cancel(log, request).error);
    EXPECT_TRUE(cancel(log, request).events.empty());
  }
  CancelJobs of_another = cancel_of(log.submit(spec_of()));
  of_another.is_lenient = true;
  EXPECT_EQ(cancel(log, of_another, kBob).error->code, ErrorCode::kPermissionDenied);
}

TEST(Cancel, SignalsGoToTheStepsThatAreMeant) {
  Log log;
  const JobId job = running_job(log);
  const auto steps_of = [&](bool batch_only, bool full) {
    CancelJobs request = cancel_of(job);
    request.signal = SIGUSR1;
    request.batch_only = batch_only;
    request.full = full;
    const Cancelled result = cancel(log, request);
    EXPECT_TRUE(result.events.empty());
    std::vector<std::uint32_t> steps;
    for (const auto& order : result.orders) steps.push_back(order.step.step);
    return steps;
  };
  EXPECT_EQ(steps_of(false, false), std::vector<std::uint32_t>{0});
  EXPECT_EQ(steps_of(true, false), std::vector<std::uint32_t>{kBatchStep});
  EXPECT_EQ(steps_of(false, true), (std::vector<std::uint32_t>{kBatchStep, 0}));
}

TEST(Cancel, AFilterTakesTheCallersJobsAlone) {
  Log log;
  const JobId mine = log.submit(spec_of("x"));
  auto theirs = spec_of("x");
  theirs->user = kBob.user;
  log.submit(theirs);
  log.submit(spec_of("y"));
  CancelJobs request;
  request.filter.names = {"x"};
  const Cancelled by_alice = cancel(log, request);
  EXPECT_EQ(by_alice.only<JobEnding>().job, mine);
  EXPECT_EQ(cancel(log, request, kRoot).events.size(), 2U);
  request.filter.states = {JobState::kRunning};
  EXPECT_EQ(cancel(log, request, kRoot).outcomes, 0U);
}

TEST(Cancel, SomeElementsSplitOffAndTheLastKeepTheRecord) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  CancelJobs some;
  some.filter.jobs.push_back(element_of(array, Bitmap::range(0, 2)));
  const Cancelled two = cancel(log, some);
  EXPECT_EQ(two.events.size(), 4U);  // two splits, two ends
  CancelJobs all;
  all.filter.jobs.push_back(element_of(array, Bitmap::range(0, 3)));
  EXPECT_EQ(cancel(log, all).only<JobEnding>().job, array);
}

/// How many parts it takes, each of as much as a turn has.
std::size_t parts_of(const Log& log, requests::Sweep::Request request) {
  constexpr std::size_t kJobsPerTurn = 256;
  requests::Sweep sweep(std::move(request), kAlice, log.state());
  std::size_t parts = 0;
  for (; !sweep.is_done() && parts < 100; ++parts) {
    Draft draft(log.state());
    std::vector<SignalOrder> orders;
    sweep.step(draft, kJobsPerTurn, orders);
    EXPECT_TRUE(draft.events.empty());
  }
  return parts;
}

TEST(Cancel, MillionsOfElementsThatAreNotThereOrNotMeantAreDealtWithTogether) {
  constexpr std::uint32_t kLast = 4'000'000;
  Log log;
  Bitmap ends;
  ends.set(0);
  ends.set(kLast);
  const JobId sparse = log.submit(spec_of(), ArraySpec{ends, 0});
  const JobSelector absent = element_of(sparse, Bitmap::range(1, kLast - 1));
  EXPECT_LE(parts_of(log, control_of(JobVerb::kHold, absent)), 2U);
  const JobId dense = log.submit(spec_of(), ArraySpec{Bitmap::range(0, kLast), 0});
  CancelJobs running;
  running.filter.jobs.push_back(element_of(dense, Bitmap::range(0, kLast - 1)));
  running.filter.states = {JobState::kRunning};
  EXPECT_LE(parts_of(log, running), 2U);
}

TEST(Cancel, ManySelectorsOfALargeArrayAreNotDoneInOneTurn) {
  constexpr std::uint32_t kLast = 4'000'000;
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, kLast), 0});
  CancelJobs running;  // each is told apart in all of the array's words, and meets nothing
  running.filter.states = {JobState::kRunning};
  for (std::uint32_t i = 0; i < 250; ++i)
    running.filter.jobs.push_back(element_of(array, Bitmap::range(i, 1)));
  EXPECT_GT(parts_of(log, running), 2U);
}

TEST(Cancel, ConditionsAreJudgedBeforeAnElementSplitsOff) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  CancelJobs request;
  request.filter.jobs.push_back(element_of(array, Bitmap::range(1, 1)));
  request.filter.states = {JobState::kRunning};
  const Cancelled passed_over = cancel(log, request);
  EXPECT_TRUE(passed_over.events.empty()) << "it waits, and stays in its array";
  EXPECT_FALSE(passed_over.error);
  request.filter.states = {JobState::kPending};
  EXPECT_EQ(cancel(log, request).events.size(), 2U);
  request.filter.names = {"another"};
  EXPECT_TRUE(cancel(log, request).events.empty());
}

TEST(Cancel, ARunningElementIsNotOneOfThoseThatWait) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  const JobId running = log.state().next_job();
  log.add({ArraySplit{array, 1, running}});
  log.start(running, {grant_of(0, 0, 1)});
  CancelJobs request;
  request.filter.jobs.push_back(element_of(array, Bitmap::range(0, 2)));
  request.filter.states = {JobState::kPending};
  const Cancelled waiting = cancel(log, request);
  ASSERT_EQ(waiting.events.size(), 2U);
  EXPECT_EQ(get<ArraySplit>(waiting.events[0]).index, 0U);
  request.filter.states = {JobState::kRunning};
  EXPECT_EQ(cancel(log, request).only<JobEnding>().job, running);
}

TEST(Cancel, OfElementsThatAreNotThereTheOthersEnd) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  CancelJobs request;
  request.filter.jobs.push_back(element_of(array, Bitmap::range(2, 4)));
  const Cancelled strict = cancel(log, request);
  EXPECT_EQ(strict.events.size(), 2U);
  EXPECT_EQ(strict.outcomes, 2U);
  request.is_lenient = true;
  const Cancelled lenient = cancel(log, request);
  EXPECT_EQ(lenient.events.size(), 2U);
  EXPECT_EQ(lenient.outcomes, 1U);
  EXPECT_FALSE(lenient.error);
}

// ---- allocations ----

TEST(ReleaseAllocation, EndsTheAttemptThatIsMeant) {
  Log log;
  const JobId job = running_job(log);
  const auto release = [&](std::uint32_t attempt, ExitStatus exit, const Identity& who) {
    Draft draft(log.state());
    const Reply reply =
        requests::release_allocation(draft, ReleaseAllocation{job, attempt, exit}, who);
    return Drafted{reply.error, draft.events};
  };
  EXPECT_EQ(release(0, ExitStatus::exited(0), kAlice).only<JobEnding>().state,
            JobState::kCompleted);
  EXPECT_EQ(release(0, ExitStatus::exited(5), kAlice).only<JobEnding>().state, JobState::kFailed);
  EXPECT_TRUE(release(1, ExitStatus::exited(0), kAlice).events.empty());
  EXPECT_EQ(release(0, ExitStatus::exited(0), kBob).error->code, ErrorCode::kPermissionDenied);
}

TEST(CancelStep, SignalsARunningStepOfTheOwners) {
  Log log;
  const JobId job = running_job(log);
  const auto ask = [&](std::uint32_t step, const Identity& who, std::vector<SignalOrder>& orders) {
    Draft draft(log.state());
    return requests::cancel_step(draft, CancelStep{StepId{job, 0, step}, SIGINT}, who, orders)
        .error;
  };
  std::vector<SignalOrder> orders;
  EXPECT_EQ(ask(0, kBob, orders)->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(ask(9, kAlice, orders)->code, ErrorCode::kFailedPrecondition);
  EXPECT_TRUE(orders.empty());
  EXPECT_FALSE(ask(0, kAlice, orders));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].signal, SIGINT);
}

TEST(CancelStep, OfAnotherLaunchIsNotDone) {
  Log log;
  const JobId job = running_job(log);
  auto layout = std::make_shared<StepLayout>();
  layout->nodes = {grant_of(1, 0, 1)};
  StepCreated created{StepId{job, 0, 1}, std::make_shared<const StepSpec>(), std::move(layout)};
  created.launch_key = 7;
  log.add({created});
  std::vector<SignalOrder> orders;
  const auto ask = [&](std::uint64_t launch_key) {
    Draft draft(log.state());
    return requests::cancel_step(draft, CancelStep{created.step, SIGKILL, {}, launch_key}, kAlice,
                                 orders)
        .error;
  };
  EXPECT_EQ(ask(8)->code, ErrorCode::kNotFound);
  EXPECT_TRUE(orders.empty());
  EXPECT_FALSE(ask(7));
  EXPECT_EQ(orders.size(), 1U);
}

}  // namespace
}  // namespace muster
