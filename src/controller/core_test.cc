#include "controller/core.h"

#include <gtest/gtest.h>

#include <csignal>

#include "controller/testing.h"
#include "workload/launch/blob_cache.h"
#include "workload/planning/planner_role.h"

namespace muster {
namespace {

using testing::cancel_of;
using testing::control_of;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Rig;
using testing::selector_of;
using testing::spec_of;
using testing::submit_of;

Identity alice() { return kAlice; }

// ---- what a request leads to fits the state, or is not done ----

PreparedSubmit with(PreparedSubmit submit, void (*edit)(PreparedSubmit&)) {
  edit(submit);
  return submit;
}

TEST(CoreDraft, ARequestThatContradictsTheStateIsRefusedAndNobodyElseNoticesIt) {
  Rig rig;
  const JobId before = rig.done(submit_of(spec_of("before"))).job;
  const PreparedSubmit hostile[] = {
      with(submit_of(spec_of()),
           [](PreparedSubmit& submit) { submit.spec->trial = TrialId(999'999); }),
      with(submit_of(spec_of()),
           [](PreparedSubmit& submit) {
             submit.script = {};
             submit.spec->script = BlobId(99'999);
           }),
      with(submit_of(spec_of()),
           [](PreparedSubmit& submit) {
             submit.spec->kind = JobKind::kRun;
             auto step = std::make_shared<StepSpec>();
             step->environment = BlobId(99'999);
             submit.first_step = step;
           }),
      with(submit_of(spec_of()), [](PreparedSubmit& submit) { submit.array.emplace(); }),
  };
  for (const PreparedSubmit& submit : hostile) {
    const Reply reply = rig.done(submit);
    ASSERT_TRUE(reply.error);
    EXPECT_EQ(reply.error->code, ErrorCode::kInternal);
    EXPECT_EQ(reply.job, JobId());
  }
  EXPECT_EQ(rig.warnings.size(), std::size(hostile));
  EXPECT_EQ(rig.done(submit_of(spec_of("after"))).job, JobId(before.value() + 1));
}

TEST(CoreDraft, AJobOverWhichTheControllerDiedAgainAndAgainIsHeldAndTheOthersGoOn) {
  Rig first;
  const JobId bad = first.done(submit_of(spec_of("bad"))).job;
  const JobId good = first.done(submit_of(spec_of("good"))).job;
  CoreStart beginning;
  beginning.suspect = bad;
  Rig second(testing::config_of(2), first.stored(), {}, beginning);
  const Job& held = *second.core.state().jobs().find(bad);
  EXPECT_TRUE(held.is_held());
  EXPECT_EQ(held.reason, PendingReason::kJobHeldAdmin);
  EXPECT_NE(held.spec->get(JobText::kAdminComment).find("the controller stopped twice"),
            std::string_view::npos);
  EXPECT_FALSE(second.core.state().jobs().find(good)->is_held());
  ASSERT_EQ(second.warnings.size(), 1U);
  EXPECT_NE(second.warnings.front().find("scontrol release 1"), std::string::npos)
      << second.warnings.front();
  EXPECT_EQ(
      second.done(control_of(JobVerb::kRelease, selector_of(bad)), kRoot).outcomes.at(0).error,
      std::nullopt);
  EXPECT_FALSE(second.core.state().jobs().find(bad)->is_held());
}

// ---- an agent speaks for its own node ----

TEST(CoreAgents, WhatANodeSaysOfAnothersWorkIsLoggedAndNotObeyed) {
  Rig rig;
  rig.connect(0);
  rig.connect(1);
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.plan();
  const Job& running = *rig.core.state().jobs().find(job);
  ASSERT_EQ(running.state, JobState::kRunning);
  const NodeIndex own = running.run->allocation->nodes.at(0).node;
  const NodeIndex other(own.value() == 0 ? 1 : 0);
  StepDone done;
  done.id = StepId{job, 0, kBatchStep};
  done.tasks = {ExitStatus()};
  rig.name_launch(done);
  EXPECT_FALSE(rig.core.on_agent(other, StepRunning{done.id, done.launch_key}, rig.now));
  EXPECT_FALSE(rig.core.on_agent(other, done, rig.now));
  EXPECT_FALSE(rig.core.on_agent(other, JobClean{job, 0}, rig.now));
  rig.core.end_turn(rig.now);
  EXPECT_EQ(running.state, JobState::kRunning);
  ASSERT_EQ(rig.warnings.size(), 1U);  // the others of the same minute are not repeated
  EXPECT_NE(rig.warnings.front().find("speaks of step 1."), std::string::npos)
      << rig.warnings.front();
  EXPECT_TRUE(rig.core.on_agent(own, done, rig.now));
  rig.core.end_turn(rig.now);
  EXPECT_NE(running.state, JobState::kRunning);
}

// ---- leases ----

TEST(CoreLeases, ALeaseIsItsOwnersToRenew) {
  Rig rig;
  const JobId job = rig.allocate();
  EXPECT_EQ(rig.done(RenewLease{job}, kAlice).error, std::nullopt);
  EXPECT_EQ(rig.done(RenewLease{job}, kRoot).error, std::nullopt);
  ASSERT_TRUE(rig.done(RenewLease{job}, kBob).error);
  EXPECT_EQ(rig.done(RenewLease{job}, kBob).error->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(rig.done(RenewLease{JobId(99)}, kBob).error, std::nullopt);  // over already
}

// ---- nothing leaves before it is durable ----

TEST(CoreTurn, AReplyWaitsForItsBatch) {
  Rig rig;
  const auto first = rig.ask({submit_of(spec_of("a"))});
  const Seq first_seq = rig.core.state().seq();
  const auto second = rig.ask({submit_of(spec_of("b"))});
  EXPECT_TRUE(rig.replies.empty());
  rig.core.on_durable(first_seq, rig.now);
  ASSERT_TRUE(rig.replies.contains(first));
  EXPECT_EQ(rig.replies[first].at(0).job, JobId(1));
  EXPECT_FALSE(rig.replies.contains(second));
  rig.flush();
  EXPECT_EQ(rig.replies.at(second).at(0).job, JobId(2));
}

TEST(CoreTurn, EvenAnAnswerThatChangesNothingWaitsForWhatItSaw) {
  Rig rig;
  rig.ask({submit_of(spec_of("a"))});
  const auto refused = rig.ask({control_of(JobVerb::kRelease, selector_of(JobId(1)))}, kBob);
  EXPECT_TRUE(rig.replies.empty());
  rig.flush();
  EXPECT_EQ(rig.replies.at(refused).at(0).outcomes.at(0).error->code, ErrorCode::kPermissionDenied);
}

TEST(CoreTurn, CommandsOfOneTurnAreOneBatch) {
  Rig rig;
  const auto before = rig.journal.size();
  for (std::uint64_t token = 101; token <= 103; ++token) {
    rig.core.on_command(Command{token, alice(), {}, {submit_of(spec_of())}}, rig.now);
  }
  rig.core.end_turn(rig.now);
  EXPECT_EQ(rig.journal.size(), before + 1);
  rig.flush();
  EXPECT_EQ(rig.replies.at(103).at(0).job, JobId(3));
}

TEST(CoreTurn, NodesAndFollowersHearOfDurableThingsAlone) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const auto sent = rig.sent.size();
  const Seq planned = rig.planner->state().seq();
  rig.ask({submit_of(spec_of())});  // starts in the same turn
  EXPECT_EQ(rig.job(JobId(1)).state, JobState::kRunning);
  EXPECT_EQ(rig.sent.size(), sent);
  EXPECT_EQ(rig.planner->state().seq(), planned);
  rig.flush();
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  EXPECT_GT(rig.planner->state().seq(), planned);
}

TEST(CoreTurn, FollowersHearNoMoreThanIsStored) {
  Rig rig;
  const std::size_t heard = rig.published.size();
  rig.ask({submit_of(spec_of())});
  rig.ask({submit_of(spec_of())});
  ASSERT_GE(rig.journal.size(), heard + 2);
  rig.core.on_durable(Seq(heard + 1), rig.now);
  EXPECT_EQ(rig.published.size(), heard + 1);
  rig.flush();
  EXPECT_EQ(rig.published.size(), rig.journal.size());
}

// ---- an append that fails ----

TEST(CoreTurn, WhatWasNeverStoredIsAskedAgainOfTheNextController) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const RequestId id{7, 7};
  rig.done(submit_of(spec_of("kept")));
  const auto lost = rig.ask({submit_of(spec_of("lost"))}, kAlice, id);
  const auto sent = rig.sent.size();
  // The disk refuses: the process starts again from what is stored.
  Rig next(2, rig.stored());
  EXPECT_FALSE(rig.replies.contains(lost));
  EXPECT_EQ(rig.sent.size(), sent);
  EXPECT_EQ(next.core.state().jobs().size(), 1U);
  const Reply again = next.done(submit_of(spec_of("lost")), kAlice, id);
  EXPECT_EQ(again.job, JobId(2));
  EXPECT_EQ(next.core.state().epoch(), Epoch(2));
}

TEST(CoreTurn, WhatWasStoredUnansweredIsAnsweredByTheNextController) {
  Rig rig;
  const RequestId id{7, 7};
  rig.ask({submit_of(spec_of("once"))}, kAlice, id);
  Rig next(2, rig.journal);
  const Reply again = next.done(submit_of(spec_of("once")), kAlice, id);
  EXPECT_EQ(again.job, JobId(1));
  EXPECT_EQ(next.core.state().jobs().size(), 1U);
}

// ---- repeats ----

TEST(CoreRepeat, OneRequestIdIsOneJobHoweverOftenItIsAsked) {
  Rig rig;
  const RequestId id{1, 2};
  const auto first = rig.ask({submit_of(spec_of())}, kAlice, id);
  const auto early = rig.ask({submit_of(spec_of())}, kAlice, id);
  EXPECT_TRUE(rig.replies.empty());  // a repeat is answered when the first answer is durable
  rig.flush();
  const Reply late = rig.done(submit_of(spec_of()), kAlice, id);
  EXPECT_EQ(rig.replies.at(first), rig.replies.at(early));
  EXPECT_EQ(rig.replies.at(first).at(0), late);
  EXPECT_EQ(rig.core.state().jobs().size(), 1U);
}

TEST(CoreRepeat, AnotherUsersNumberIsNotOurs) {
  Rig rig;
  const RequestId id{1, 2};
  EXPECT_EQ(rig.done(submit_of(spec_of()), kAlice, id).job, JobId(1));
  EXPECT_EQ(rig.done(submit_of(spec_of()), kBob, id).job, JobId(2));
}

TEST(CoreRepeat, AnAnswerIsForgottenAfterTenMinutes) {
  Rig rig;
  const RequestId id{1, 2};
  rig.done(submit_of(spec_of()), kAlice, id);
  rig.pass(Duration::minutes(11));
  rig.done(submit_of(spec_of()));  // event time goes on with events
  EXPECT_EQ(rig.done(submit_of(spec_of()), kAlice, id).job, JobId(3));
}

// ---- batches ----

TEST(CoreBatch, AllOfItOrNone) {
  Rig rig;
  auto bad = spec_of();
  bad->text.set(JobText::kPartition, "nowhere");
  const auto token =
      rig.ask({submit_of(spec_of()), submit_of(std::move(bad))}, kAlice, RequestId{3, 3});
  rig.flush();
  const std::vector<Reply>& replies = rig.replies.at(token);
  ASSERT_EQ(replies.size(), 2U);
  EXPECT_EQ(replies[1].error->code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(replies[0].error.has_value())
      << "job " << replies[0].job.value() << " was never made";
  EXPECT_EQ(replies[0].job, JobId(0));
  EXPECT_EQ(rig.core.state().jobs().size(), 0U);
  // Nothing happened, so nothing is remembered under its number.
  EXPECT_EQ(rig.done(submit_of(spec_of()), kAlice, RequestId{3, 3}).job, JobId(1));
}

TEST(CoreBatch, AStepStandsAlone) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId running = rig.done(submit_of(spec_of())).job;
  const auto both =
      rig.ask({submit_of(spec_of()), PreparedStep{running, std::make_shared<StepSpec>(), {}}});
  rig.flush();
  ASSERT_EQ(rig.replies.at(both).size(), 2U);
  for (const Reply& reply : rig.replies.at(both))
    EXPECT_EQ(reply.error->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(rig.core.state().next_job(), JobId(running.value() + 1)) << "nothing of it was done";
}

TEST(CoreBatch, JobsOfOneBatchGetIdsInOrderAndShareBlobs) {
  Rig rig;
  const auto token = rig.ask({submit_of(spec_of("a")), submit_of(spec_of("b"))});
  rig.flush();
  EXPECT_EQ(rig.replies.at(token).at(0).job, JobId(1));
  EXPECT_EQ(rig.replies.at(token).at(1).job, JobId(2));
  EXPECT_EQ(rig.job(JobId(1)).spec->script, rig.job(JobId(2)).spec->script);
  EXPECT_EQ(rig.core.state().blobs().record(rig.job(JobId(1)).spec->script)->references, 2U);
}

// ---- a full disk ----

TEST(CoreBatch, JobsThatAskForTheSameHaveOneRequest) {
  Rig rig;
  const auto spec_with = [](std::uint32_t cpus) {
    auto spec = spec_of();
    spec->request.edit()->cpus_per_task = cpus;
    return spec;
  };
  const JobId first = rig.done(submit_of(spec_with(2))).job;
  const JobId equal = rig.done(submit_of(spec_with(2))).job;
  const JobId other = rig.done(submit_of(spec_with(3))).job;
  const auto request_of = [&](JobId job) { return rig.job(job).spec->request; };
  EXPECT_TRUE(request_of(equal).is_one_with(request_of(first)));
  EXPECT_FALSE(request_of(other).is_one_with(request_of(first)));
}

TEST(CoreRefusal, NewWorkIsRefusedAndEndsAreTaken) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId running = rig.done(submit_of(spec_of("running"))).job;
  rig.core.refuse_new_work(
      Error{ErrorCode::kResourceExhausted, "Unable to write to the controller's disk", "no room"});
  EXPECT_EQ(rig.done(submit_of(spec_of())).error->code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(rig.done(PreparedStep{running, std::make_shared<StepSpec>(), {}}).error->code,
            ErrorCode::kResourceExhausted);
  rig.step_done(0, rig.batch_step(running), ExitStatus::exited(3));
  EXPECT_EQ(rig.job(running).state, JobState::kFailed);
  rig.core.refuse_new_work(std::nullopt);
  EXPECT_FALSE(rig.done(submit_of(spec_of())).error.has_value());
}

// ---- a job's way ----

TEST(CoreJob, RunsAndItsEndIsAcknowledgedOnceDurable) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const Reply reply = rig.done(submit_of(spec_of()));
  EXPECT_TRUE(reply.is_started);
  const StepId step = rig.batch_step(reply.job);
  StepDone report;
  report.id = step;
  report.tasks = {ExitStatus::exited(7)};
  rig.name_launch(report);
  rig.core.on_agent(NodeIndex(0), report, rig.now);
  rig.core.end_turn(rig.now);
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(0), 0U);
  rig.flush();
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(0), 1U);
  EXPECT_EQ(rig.job(reply.job).state, JobState::kFailed);
  EXPECT_EQ(rig.job(reply.job).exit, ExitStatus::exited(7));
  EXPECT_EQ(rig.job(reply.job).reason, PendingReason::kNonZeroExitCode);
  EXPECT_EQ(rig.history.size(), 2U);  // the step and the attempt
  // Told twice, acknowledged twice, ended once.
  const auto batches = rig.journal.size();
  rig.hear(0, report);
  EXPECT_EQ(rig.count_sent<AcknowledgeStep>(0), 2U);
  EXPECT_EQ(rig.journal.size(), batches);
}

TEST(CoreJob, FreedRoomGoesToTheNextInTheSameTurn) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const auto whole_node = [] {
    auto spec = spec_of();
    spec->request.edit()->task_count = 4;
    return spec;
  };
  const JobId first = rig.done(submit_of(whole_node())).job;
  const JobId second = rig.done(submit_of(whole_node())).job;
  rig.plan();
  EXPECT_TRUE(rig.job(second).is_pending());
  rig.step_done(0, rig.batch_step(first));
  EXPECT_EQ(rig.job(second).state, JobState::kRunning);
}

TEST(CoreJob, AThrottleThatWasLoweredSinceThePlanHoldsForElementsOfTheirOwn) {
  Rig rig;
  rig.connect_all();
  PreparedSubmit submit = submit_of(spec_of());
  submit.array = ArraySpec{Bitmap::range(0, 4), 2};
  submit.spec = [] {
    auto held = spec_of();
    held->is_held = true;
    return held;
  }();
  const JobId array = rig.done(std::move(submit)).job;
  for (const std::size_t index : {0U, 1U})
    rig.done(testing::control_of(JobVerb::kRelease,
                                 testing::element_of(array, Bitmap::range(index, 1))));
  auto planned = rig.planner->plan(rig.now);
  ASSERT_TRUE(planned.has_value());
  ASSERT_EQ(planned->plan->starts.size(), 2U);
  EXPECT_FALSE(
      rig.done(UpdateObject{
                   UpdateKind::kJob, std::to_string(array.value()), {{"ArrayTaskThrottle", "1"}}})
          .error);
  rig.core.on_plan(*planned, rig.now);
  rig.core.end_turn(rig.now);
  rig.flush();
  std::size_t running = 0;
  rig.core.state().jobs().for_each(
      [&](const Job& job) { running += job.state == JobState::kRunning ? 1 : 0; });
  EXPECT_EQ(running, 1U);
}

TEST(CoreJob, CancelledWhileRunningKeepsItsNodesUntilTheyAreClean) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.done(cancel_of(job));
  EXPECT_TRUE(rig.job(job).is_completing());
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 1U);
  EXPECT_FALSE(rig.core.state().nodes().at(NodeIndex(0)).used_cpus.empty());
  rig.step_done(0, rig.batch_step(job), ExitStatus::signalled(SIGTERM));
  EXPECT_FALSE(rig.job(job).is_completing());
  EXPECT_EQ(rig.job(job).state, JobState::kCancelled);
  EXPECT_EQ(rig.job(job).cancelled_by, kAlice.user);
  EXPECT_TRUE(rig.core.state().nodes().at(NodeIndex(0)).used_cpus.empty());
}

JobId running_job(Rig& rig) {
  rig.connect_all();
  rig.plan();
  const JobId id = rig.done(submit_of(spec_of())).job;
  EXPECT_EQ(rig.job(id).state, JobState::kRunning);
  return id;
}

TEST(CoreJob, WhoEndsItsOwnJobHasTheAnswerFirst) {
  Rig rig;
  const JobId id = running_job(rig);
  ControlJobs requeue = control_of(JobVerb::kRequeue, selector_of(id));
  requeue.asked_from = id;
  EXPECT_FALSE(rig.done(requeue).error);
  EXPECT_TRUE(rig.job(id).is_completing());
  rig.pass(Duration::milliseconds(900));
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 0U);
  rig.pass(Duration::milliseconds(200));
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 1U);
  rig.step_done(0, rig.batch_step(id), ExitStatus::signalled(SIGTERM));
  EXPECT_EQ(rig.job(id).attempt, 1U);
}

TEST(CoreJob, WhoEndsAnothersJobNeedNotWait) {
  Rig rig;
  const JobId id = running_job(rig);
  CancelJobs cancel = cancel_of(id);
  cancel.asked_from = JobId(id.value() + 1);
  rig.done(cancel);
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 1U);
}

TEST(CoreJob, AScriptThatExitsOnceItHasAskedForItsEndIsToldNothing) {
  Rig rig;
  const JobId id = running_job(rig);
  CancelJobs cancel = cancel_of(id);
  cancel.asked_from = id;
  rig.done(cancel);
  rig.step_done(0, rig.batch_step(id));
  EXPECT_EQ(rig.job(id).state, JobState::kCancelled);
  rig.pass(Duration::seconds(2));
  EXPECT_EQ(rig.count_sent<TerminateJob>(0), 0U);
}

/// A running job sends itself SIGUSR1: its script alone, or all of it.
void signal_oneself(Rig& rig, bool is_script_alone) {
  const JobId id = running_job(rig);
  CancelJobs signal = cancel_of(id);
  signal.signal = SIGUSR1;
  signal.batch_only = is_script_alone;
  signal.full = !is_script_alone;
  signal.asked_from = id;
  rig.done(signal);
}

TEST(CoreJob, ASignalToTheScriptAloneCannotReachWhoAsks) {
  Rig rig;
  signal_oneself(rig, true);
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 1U);
}

TEST(CoreJob, ASignalToTheAskersOwnJobWaitsForItsAnswerAlone) {
  Rig rig;
  signal_oneself(rig, false);
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 0U);
  rig.pass(Duration::milliseconds(100));
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 1U);
}

TEST(CoreJob, RequeueOfARunningJobStartsAnotherAttempt) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  const StepId step = rig.batch_step(job);
  rig.done(control_of(JobVerb::kRequeue, selector_of(job)));
  rig.step_done(0, step, ExitStatus::signalled(SIGTERM));
  rig.plan();
  EXPECT_EQ(rig.job(job).attempt, 1U);
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  // What the earlier attempt still says changes nothing.
  rig.step_done(0, step, ExitStatus::exited(9));
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
}

TEST(CoreJob, TheTimeLimitEndsIt) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(2);
  const JobId job = rig.done(submit_of(std::move(spec))).job;
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.live(Duration::seconds(119));
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  rig.pass(Duration::seconds(1));
  EXPECT_EQ(rig.job(job).state, JobState::kTimeout);
  EXPECT_EQ(rig.last_sent<TerminateJob>().cause, "DUE TO TIME LIMIT");
}

TEST(CoreJob, AnAllocationLivesByItsLease) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const auto wait = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      rig.hear(0, Heartbeat{});
      rig.hear(1, Heartbeat{});
      rig.pass(Duration::seconds(1));
    }
  };
  wait(50);
  rig.done(RenewLease{job});
  wait(50);
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  wait(15);
  EXPECT_EQ(rig.job(job).state, JobState::kCancelled);
}

TEST(CoreJob, LeavesMemoryAfterItsAge) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.step_done(0, rig.batch_step(job));
  rig.pass(rig.core.state().settings().min_job_age - Duration::seconds(1));
  EXPECT_NE(rig.core.state().jobs().find(job), nullptr);
  rig.pass(Duration::seconds(2));
  EXPECT_EQ(rig.core.state().jobs().find(job), nullptr);
}

TEST(CoreJob, AnExitThatOneNodeToldIsNotLostWithTheController) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->kind = JobKind::kRun;
  spec->request.edit()->min_nodes = 2;
  spec->request.edit()->task_count = 2;
  spec->time_limit = Duration::minutes(1);
  PreparedSubmit submit = submit_of(std::move(spec));
  auto step = std::make_shared<StepSpec>();
  step->min_nodes = step->task_count = 2;
  submit.first_step = step;
  const JobId job = rig.done(std::move(submit)).job;
  rig.done(cancel_of(job));
  StepDone part;
  part.id = StepId{job, 0, 0};
  part.tasks = {ExitStatus::exited(15)};
  part.usage = Usage{100, 10, 5};
  rig.hear(0, part);
  ASSERT_TRUE(rig.job(job).is_completing());
  Rig next(2, rig.stored());
  next.connect(1, {KnownStep{part.id, StepPhase::kRunning}});
  part.tasks = {ExitStatus::exited(0)};
  part.usage = Usage{1, 1, 1};
  next.hear(1, part);
  const StepState& ended = next.job(job).run->steps.at(0);
  EXPECT_FALSE(ended.is_running());
  EXPECT_EQ(ended.exit, ExitStatus::exited(15));
  EXPECT_EQ(ended.usage, (Usage{101, 11, 5}));
}

TEST(CoreJob, APartThatIsToldAgainCountsOnce) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate(2);
  const StepId id = rig.begin_step(job, 2);
  rig.done(cancel_of(job));
  StepDone part;
  part.id = id;
  part.usage = Usage{100, 10, 5};
  rig.hear(0, part);
  Rig next(2, rig.stored());
  next.connect_all();
  next.hear(0, part);
  next.hear(1, part);
  EXPECT_EQ(next.job(job).run->steps.at(0).usage, (Usage{200, 20, 5}));
}

// ---- steps ----

TEST(CoreStep, WaitsForBusyCpusAndIsAnsweredWhenTheyAreFree) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const auto step = std::make_shared<StepSpec>();
  const Reply first = rig.done(PreparedStep{job, step, {}});
  ASSERT_TRUE(first.step.has_value());
  const auto waiting = rig.ask({PreparedStep{job, step, {}}}, kAlice, RequestId{5, 5});
  rig.flush();
  EXPECT_FALSE(rig.replies.contains(waiting));
  rig.step_done(0, *first.step);
  ASSERT_TRUE(rig.replies.contains(waiting));
  EXPECT_EQ(rig.replies.at(waiting).at(0).step->step, 1U);
}

TEST(CoreStep, WaitingStepsAreRefusedWhenTheJobEnds) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const auto step = std::make_shared<StepSpec>();
  rig.done(PreparedStep{job, step, {}});
  const auto waiting = rig.ask({PreparedStep{job, step, {}}});
  rig.done(cancel_of(job));
  ASSERT_TRUE(rig.replies.contains(waiting));
  EXPECT_EQ(rig.replies.at(waiting).at(0).error->message,
            "Job/step already completing or completed");
}

TEST(CoreStep, ImmediateIsRefusedInsteadOfWaiting) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const auto step = std::make_shared<StepSpec>();
  rig.done(PreparedStep{job, step, {}});
  const auto hasty = std::make_shared<StepSpec>(*step);
  hasty->is_immediate = true;
  EXPECT_EQ(rig.done(PreparedStep{job, hasty, {}}).error->code, ErrorCode::kFailedPrecondition);
}

// ---- nodes ----

TEST(CoreNode, UnknownNamesAreRefused) {
  Rig rig;
  RegisterNode hello;
  hello.node_name = "stranger";
  const auto index = rig.core.on_register(hello, rig.now);
  ASSERT_FALSE(index.has_value());
  EXPECT_EQ(index.error().code, ErrorCode::kNotFound);
  EXPECT_NE(index.error().message.find("stranger"), std::string::npos);
}

TEST(CoreNode, LessThanConfiguredIsInvalidWithItsReason) {
  Rig rig;
  RegisterNode hello;
  hello.node_name = "n0";
  hello.cpus = 2;
  hello.memory_mib = 1000;
  ASSERT_TRUE(rig.core.on_register(hello, rig.now).has_value());
  const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
  EXPECT_NE(status.conditions & node_condition::kInvalid, 0);
  EXPECT_EQ(status.reason, "Low CPUs (found 2, configured 4)");
}

TEST(CoreNode, SilenceIsMarkedThenDownThenBack) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  const auto conditions = [&] {
    return rig.core.state().nodes().at(NodeIndex(0)).status.conditions;
  };
  rig.pass(Duration::seconds(5));
  EXPECT_EQ(conditions() & node_condition::kNotResponding, 0);
  rig.pass(Duration::seconds(1));
  EXPECT_NE(conditions() & node_condition::kNotResponding, 0);
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
  rig.hear(0, Heartbeat{});
  EXPECT_EQ(conditions() & node_condition::kNotResponding, 0);
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  EXPECT_NE(conditions() & node_condition::kDown, 0);
  EXPECT_EQ(rig.job(job).attempt, 1U);  // failed, and back in the queue
  EXPECT_TRUE(rig.job(job).is_pending());
}

TEST(CoreNode, AStepOfALostRunIsEndedBeforeTheNodeIsUsedAgain) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  const StepId step = rig.batch_step(job);
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "resume"}}}, kRoot);
  rig.connect(0, {KnownStep{step, StepPhase::kRunning}});
  rig.plan();
  EXPECT_TRUE(rig.job(job).is_pending());
  const auto& fence = rig.last_sent<TerminateJob>();
  EXPECT_EQ(fence.attempt, 0U);
  EXPECT_EQ(fence.kill_wait, Duration());
  rig.hear(0, JobClean{job, 0});
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
}

TEST(CoreNode, AFrozenNodeIsRidOfLostRunsBeforeItIsUsedAgain) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  ASSERT_TRUE(rig.job(job).is_pending());
  const auto& order = rig.last_sent<TerminateJob>();
  EXPECT_EQ(order.attempt, 0U);
  EXPECT_EQ(order.kill_wait, Duration());
  // It wakes up, on the connection that it always had; an operator is quick to take it back.
  rig.hear(0, Heartbeat{});
  rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "resume"}}}, kRoot);
  rig.plan();
  EXPECT_TRUE(rig.job(job).is_pending()) << "started beside what is left of its lost run";
  rig.hear(0, JobClean{job, 0});
  rig.plan();
  EXPECT_EQ(rig.job(job).state, JobState::kRunning);
}

TEST(CoreNode, SilenceThatBroughtANodeDownIsForgivenAsReturnToServiceSays) {
  for (const int policy : {0, 1, 2}) {
    SCOPED_TRACE(policy);
    auto config = testing::config_of(1);
    config->settings.return_to_service = static_cast<std::uint8_t>(policy);
    Rig rig(config);
    rig.connect_all();
    rig.pass(config->settings.slurmd_timeout + Duration::seconds(1));
    const NodeStatus& status = rig.core.state().nodes().at(NodeIndex(0)).status;
    EXPECT_NE(status.conditions & node_condition::kDown, 0);
    EXPECT_EQ(status.reason, "Not responding");
    rig.hear(0, Heartbeat{});
    EXPECT_EQ((status.conditions & node_condition::kDown) != 0, policy == 0);
    EXPECT_EQ(status.conditions & node_condition::kNotResponding, 0);
    EXPECT_EQ(status.reason.empty(), policy != 0);
    // What an operator took down stays down.
    rig.done(UpdateObject{UpdateKind::kNode, "n0", {{"State", "down"}, {"Reason", "fan"}}}, kRoot);
    rig.pass(Duration::seconds(10));
    rig.hear(0, Heartbeat{});
    EXPECT_NE(status.conditions & node_condition::kDown, 0);
  }
}

TEST(CoreNode, AnotherBootFailsWhatRanThereAtOnce) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->given |= given_option::kRequeue;
  spec->is_requeue = false;
  const JobId job = rig.done(submit_of(std::move(spec))).job;
  rig.connect(0, {}, "another boot");
  EXPECT_EQ(rig.job(job).state, JobState::kNodeFail);
  EXPECT_EQ(*rig.job(job).detail, "node n0 restarted");
}

TEST(CoreNode, AStepThatTheNodeNeverGotIsSentAgain) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  rig.core.on_agent_lost(NodeIndex(0));
  const JobId job = rig.done(submit_of(spec_of())).job;
  ASSERT_EQ(rig.job(job).state, JobState::kRunning);
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 0U);
  rig.connect(0);
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.connect(0, {KnownStep{rig.batch_step(job), StepPhase::kRunning}});
  EXPECT_EQ(rig.count_sent<LaunchStep>(0), 1U);
}

TEST(CoreNode, BlobsThatLeftTheCacheAreFetchedBeforeALaunch) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId job = rig.done(submit_of(spec_of())).job;
  Rig next(2, rig.stored());
  next.connect_all();
  ASSERT_EQ(next.fetched.size(), 1U);
  EXPECT_EQ(next.count_sent<LaunchStep>(0), 0U);
  next.core.on_blob(next.fetched[0], Bytes(std::make_shared<const std::string>("#!/bin/sh\n")));
  ASSERT_EQ(next.count_sent<LaunchStep>(0), 1U);
  EXPECT_EQ(*next.last_sent<LaunchStep>().script, "#!/bin/sh\n");
  EXPECT_EQ(next.job(job).state, JobState::kRunning);
}

TEST(CoreNode, ALaunchGathersBlobsThatDoNotFitTheCacheTogether) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const auto large = [](char fill) {
    return std::make_shared<const std::string>(BlobCache::kBytesMax - 10, fill);
  };
  PreparedSubmit submit = submit_of(spec_of());
  submit.script = PreparedBlob{std::string(32, 's'), large('s')};
  submit.environment = PreparedBlob{std::string(32, 'e'), large('e')};
  rig.done(std::move(submit));
  for (int turn = 0; turn < 4 && !rig.fetched.empty(); ++turn) {
    for (const BlobId blob : std::exchange(rig.fetched, {}))
      rig.core.on_blob(blob, Bytes(large(blob == rig.job(JobId(1)).spec->script ? 's' : 'e')));
  }
  ASSERT_EQ(rig.count_sent<LaunchStep>(0), 1U);
  EXPECT_EQ(rig.last_sent<LaunchStep>().script->front(), 's');
  EXPECT_EQ(rig.last_sent<LaunchStep>().environment->front(), 'e');
}

// ---- the passing of time ----

TEST(CoreTime, TheWarningIsSentOnceInARun) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto spec = spec_of();
  spec->signal_number = 10;
  spec->signal_seconds = 50;
  spec->signal_batch_only = true;
  spec->time_limit = Duration::minutes(1);
  const JobId job = rig.done(submit_of(spec)).job;
  ASSERT_EQ(rig.job(job).state, JobState::kRunning);
  rig.hear(0, StepRunning{rig.batch_step(job)});
  rig.pass(Duration::seconds(11));
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 1U);
  rig.done(UpdateObject{UpdateKind::kJob, std::to_string(job.value()), {{"Comment", "x"}}}, kRoot);
  rig.pass(Duration::seconds(1));
  EXPECT_EQ(rig.count_sent<SignalStep>(0), 1U);
  Rig next(2, rig.stored());
  next.connect(0, {KnownStep{next.batch_step(job), StepPhase::kRunning}});
  next.pass(Duration::seconds(1));
  EXPECT_EQ(next.count_sent<SignalStep>(0), 0U);
}

TEST(CoreTime, AWaitingJobIsGivenUpWhenItCanNoLongerMeetItsDeadline) {
  Rig rig;
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(10);
  spec->deadline = rig.now + Duration::minutes(15);
  const JobId job = rig.done(submit_of(spec)).job;
  rig.pass(Duration::minutes(4));
  EXPECT_TRUE(rig.job(job).is_pending());
  rig.pass(Duration::minutes(2));
  EXPECT_EQ(rig.job(job).state, JobState::kDeadline);
}

// ---- configurations that change ----

TEST(CoreConfig, NodesAndPartitionsMayChangeTheirPlaces) {
  Rig rig(3);
  rig.connect_all();
  rig.plan();
  auto other = spec_of();
  other->text.set(JobText::kPartition, "other");
  const JobId job = rig.done(submit_of(other)).job;
  ASSERT_EQ(rig.job(job).state, JobState::kRunning);
  auto config = std::make_shared<ClusterConfig>(*testing::config_of(3));
  std::swap(config->nodes[0], config->nodes[2]);
  config->nodes.erase(config->nodes.begin() + 1);  // n1 is gone
  NodeConfig fresh = config->nodes[0];
  fresh.name = "fresh";
  config->nodes.insert(config->nodes.begin(), fresh);
  std::swap(config->partitions[0], config->partitions[1]);
  config->partitions[0].nodes = {NodeIndex(0), NodeIndex(1)};  // fresh and n2
  Rig next(config, rig.stored());
  const ClusterState& state = next.core.state();
  EXPECT_EQ(state.nodes().at(NodeIndex(0)).config.name, "n0");
  EXPECT_EQ(state.nodes().at(NodeIndex(3)).config.name, "fresh");
  EXPECT_NE(state.nodes().at(NodeIndex(1)).status.conditions & node_condition::kDown, 0);
  EXPECT_EQ(state.nodes().at(NodeIndex(1)).status.reason, "not in slurm.conf any more");
  EXPECT_EQ(state.partition(next.job(job).partition).name, "other");
  EXPECT_EQ(state.partition(*state.find_partition("other")).nodes,
            (std::vector{NodeIndex(2), NodeIndex(3)}));
  // Named again, it may be used again.
  Rig last(testing::config_of(3), next.stored());
  EXPECT_EQ(last.core.state().nodes().at(NodeIndex(1)).status.reason, "");
  EXPECT_EQ(last.core.state().partition(*last.core.state().find_partition("main")).nodes.size(),
            3U);
}

}  // namespace
}  // namespace muster
