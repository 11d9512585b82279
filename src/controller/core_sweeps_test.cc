// What concerns many jobs is done part by part: nobody else's turn waits for the end of it, and a
// crash in its midst loses nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/check.h"
#include "controller/testing.h"
#include "state/views.h"

namespace muster {
namespace {

using testing::cancel_of;
using testing::config_of;
using testing::control_of;
using testing::element_of;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Rig;
using testing::selector_of;
using testing::spec_of;
using testing::submit_of;

/// What one turn may do to jobs beside what came in for each; a job's end may be two events.
constexpr std::size_t kPerTurn = 256;

template <class Kind>
std::size_t count_of(const EventBatchRef& batch) {
  return static_cast<std::size_t>(std::ranges::count_if(
      batch->events, [](const Event& event) { return holds_alternative<Kind>(event.body); }));
}
template <class Kind>
std::size_t most_in_a_batch(const Rig& rig) {
  std::size_t most = 0;
  for (const EventBatchRef& batch : rig.journal) most = std::max(most, count_of<Kind>(batch));
  return most;
}

/// A cluster without connected nodes, in which so many jobs wait.
struct Waiting : Rig {
  explicit Waiting(std::size_t count) {
    for (std::size_t left = count; left > 0;) {
      std::vector<PreparedRequest> requests(std::min<std::size_t>(left, 500), PreparedRequest());
      for (PreparedRequest& request : requests) request = submit_of(spec_of());
      left -= requests.size();
      ask(std::move(requests));
      flush();
    }
  }
  std::size_t pending() const {
    std::size_t count = 0;
    core.state().jobs().for_each([&](const Job& job) { count += job.is_pending() ? 1 : 0; });
    return count;
  }
};

CancelJobs cancel_all() {
  CancelJobs cancel;
  cancel.filter.uids = {1000};
  return cancel;
}

// ---- cancel ----

TEST(CoreSweep, OthersHaveTheirTurnsWhileAThousandJobsAreCancelled) {
  Waiting rig(1000);
  const auto token = rig.ask({cancel_all()}, kRoot);
  rig.flush();
  ASSERT_TRUE(rig.core.has_work());
  EXPECT_FALSE(rig.replies.contains(token));
  EXPECT_EQ(rig.pending(), 1000 - kPerTurn);
  // Somebody else is answered in between, and what he submits is not met by the filter.
  const Reply other = [&] {
    const auto asked = rig.ask({submit_of(spec_of("new"))});
    rig.flush();
    return rig.replies.at(asked).at(0);
  }();
  EXPECT_EQ(rig.work(), 3U);
  EXPECT_EQ(rig.replies.at(token).at(0).outcomes.size(), 1000U);
  EXPECT_EQ(rig.pending(), 1U);
  EXPECT_TRUE(rig.job(other.job).is_pending());
  EXPECT_LE(most_in_a_batch<JobEnding>(rig), kPerTurn);
}

TEST(CoreSweep, ALongListOfIdsIsOneAnswerInItsOrder) {
  Waiting rig(600);
  CancelJobs cancel;
  for (std::uint32_t id = 600; id > 0; --id) cancel.filter.jobs.push_back(selector_of(JobId(id)));
  cancel.filter.jobs.push_back(selector_of(JobId(600)));  // named twice: done once
  cancel.filter.jobs.push_back(selector_of(JobId(601)));
  const Reply reply = rig.done(cancel);
  ASSERT_EQ(reply.outcomes.size(), 602U);
  EXPECT_EQ(reply.outcomes[0].job.job, JobId(600));
  EXPECT_FALSE(reply.outcomes[600].error);
  EXPECT_EQ(reply.outcomes[601].error->message, "Invalid job id specified");
  EXPECT_EQ(rig.pending(), 0U);
}

TEST(CoreSweep, AShortRequestDoesNotWaitForTheEndOfALongOne) {
  Waiting rig(2000);
  rig.ask({cancel_all()}, kRoot);
  rig.flush();
  const auto token = rig.ask({control_of(JobVerb::kHold, selector_of(JobId(1999)))});
  rig.flush();
  EXPECT_TRUE(rig.replies.contains(token));
  EXPECT_TRUE(rig.core.has_work());
}

TEST(CoreSweep, WhatIsNotStoredYetHoldsBackTheNextPart) {
  Waiting rig(2000);
  rig.ask({cancel_all()}, kRoot);
  for (int turns = 0; rig.core.has_work(); ++turns) {
    ASSERT_LT(turns, 3);
    rig.core.on_work(rig.now);
    rig.core.end_turn(rig.now);
  }
  EXPECT_GT(rig.pending(), 1000U);
  rig.flush();
  EXPECT_TRUE(rig.core.has_work());
  rig.work();
  EXPECT_EQ(rig.pending(), 0U);
}

TEST(CoreSweep, WhoAsksAgainMeanwhileHasTheSameAnswer) {
  Waiting rig(600);
  const RequestId id{7, 7};
  const auto first = rig.ask({cancel_all()}, kAlice, id);
  rig.flush();
  const auto second = rig.ask({cancel_all()}, kAlice, id);
  rig.flush();
  EXPECT_FALSE(rig.replies.contains(second));
  rig.work();
  EXPECT_EQ(rig.replies.at(first).at(0).outcomes.size(), 600U);
  EXPECT_EQ(rig.replies.at(first), rig.replies.at(second));
  EXPECT_EQ(rig.done(cancel_all(), kAlice, id), rig.replies.at(first).at(0));
}

TEST(CoreSweep, AfterACrashTheRestIsDoneWhenItIsAskedForAgain) {
  Waiting rig(600);
  const RequestId id{7, 7};
  rig.ask({cancel_all()}, kAlice, id);
  rig.flush();
  Rig next(2, rig.stored());
  EXPECT_FALSE(next.core.has_work());
  const Reply reply = next.done(cancel_all(), kAlice, id);
  EXPECT_EQ(reply.outcomes.size(), 600 - kPerTurn);
  next.core.state().jobs().for_each(
      [](const Job& job) { EXPECT_EQ(job.state, JobState::kCancelled); });
}

TEST(CoreSweep, ElementsOfAnArraySplitOffPartByPart) {
  Rig rig;
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 1000);
  const JobId array = rig.done(submit).job;
  CancelJobs cancel;
  cancel.filter.jobs = {element_of(array, Bitmap::range(0, 600))};
  EXPECT_FALSE(rig.done(cancel).outcomes.at(0).error);
  EXPECT_LE(most_in_a_batch<ArraySplit>(rig), kPerTurn);
  EXPECT_EQ(rig.job(array).array->remaining.indices.count(), 400U);
  // All that remains is the record itself: nothing need split.
  const auto before = rig.core.state().jobs().size();
  cancel.filter.jobs = {element_of(array, Bitmap::range(600, 400))};
  EXPECT_FALSE(rig.done(cancel).outcomes.at(0).error);
  EXPECT_EQ(rig.core.state().jobs().size(), before);
  EXPECT_EQ(rig.job(array).state, JobState::kCancelled);
}

TEST(CoreSweep, JobsThatLeaveMemoryMeanwhileArePassedOver) {
  constexpr std::uint32_t kMany = 1500;
  constexpr std::uint32_t kEnded = 1000;
  Waiting rig(kMany);
  CancelJobs early;
  for (std::uint32_t id = 1; id <= kEnded; ++id)
    early.filter.jobs.push_back(selector_of(JobId(id)));
  rig.done(early);
  ControlJobs hold;
  hold.verb = JobVerb::kRelease;
  for (std::uint32_t id = 1; id <= kMany; ++id) hold.jobs.push_back(selector_of(JobId(id)));
  const auto token = rig.ask({hold});
  rig.core.on_history(rig.core.state().seq());
  rig.live(rig.core.state().settings().min_job_age + Duration::seconds(10));
  rig.work();
  ASSERT_TRUE(rig.replies.contains(token));
  EXPECT_FALSE(rig.replies.at(token).at(0).error);
  EXPECT_EQ(rig.replies.at(token).at(0).outcomes.size(), kMany);
}

TEST(CoreSweep, ElementsThatLeaveMemoryWhileAnEditGoesOnDoNotEndIt) {
  constexpr std::size_t kMany = 900;
  Rig rig;
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, kMany);
  const JobId array = rig.done(submit).job;
  CancelJobs cancel;
  cancel.filter.jobs = {element_of(array, Bitmap::range(0, 700))};
  rig.done(cancel);
  // The whole array is named: the records are known when the edit begins.
  const auto token = rig.ask(
      {UpdateObject{UpdateKind::kJob, std::to_string(array.value()), {{"Comment", "late"}}}});
  rig.core.on_history(rig.core.state().seq());
  rig.live(rig.core.state().settings().min_job_age + Duration::seconds(10));
  rig.work();
  ASSERT_TRUE(rig.replies.contains(token));
  EXPECT_FALSE(rig.replies.at(token).at(0).error);
}

// ---- control, update ----

TEST(CoreSweep, AnEditOfElementsOfWhichOneIsNotThereIsDoneAndNamesIt) {
  Rig rig;
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 5);
  const JobId array = rig.done(submit).job;
  const std::string name = std::to_string(array.value()) + "_[3-6]";
  const Reply reply = rig.done(UpdateObject{UpdateKind::kJob, name, {{"Comment", "late"}}});
  EXPECT_FALSE(reply.error);
  ASSERT_EQ(reply.outcomes.size(), 1U);
  EXPECT_EQ(reply.outcomes[0].job, element_of(array, Bitmap::range(5, 2)));
  EXPECT_EQ(reply.outcomes[0].error->message, "Invalid job id specified");
  EXPECT_EQ(rig.job(array).array->remaining.indices.count(), 3U);
  const std::string none = std::to_string(array.value()) + "_[8-9]";
  EXPECT_EQ(rig.done(UpdateObject{UpdateKind::kJob, none, {{"Comment", "x"}}}).error->message,
            "Invalid job id specified");
}

TEST(CoreSweep, AThousandEndedJobsAreRequeuedPartByPart) {
  Waiting rig(1000);
  rig.done(cancel_all());
  ControlJobs control;
  control.verb = JobVerb::kRequeue;
  for (std::uint32_t id = 1; id <= 1000; ++id) control.jobs.push_back(selector_of(JobId(id)));
  const Reply reply = rig.done(control);
  EXPECT_EQ(reply.outcomes.size(), 1000U);
  for (const JobOutcome& outcome : reply.outcomes) EXPECT_FALSE(outcome.error);
  EXPECT_EQ(rig.pending(), 1000U);
  EXPECT_LE(most_in_a_batch<JobRequeued>(rig), kPerTurn);
}

TEST(CoreSweep, AnEditOfAllElementsIsDonePartByPartOrRefusedAtOnce) {
  Rig rig;
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 1000);
  const JobId array = rig.done(submit).job;
  const std::string name = std::to_string(array.value()) + "_[0-899]";
  const std::size_t jobs = rig.core.state().jobs().size();
  EXPECT_EQ(rig.done(UpdateObject{UpdateKind::kJob, name, {{"Priority", "999"}}}).error->code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(rig.core.state().jobs().size(), jobs) << "a refusal leaves no element split off";
  EXPECT_FALSE(rig.done(UpdateObject{UpdateKind::kJob, name, {{"Comment", "late"}}}).error);
  EXPECT_LE(most_in_a_batch<JobChanged>(rig), kPerTurn);
  EXPECT_EQ(rig.core.state().jobs().size(), jobs + 900);
}

TEST(CoreSweep, NobodyIsEditedByAnother) {
  Waiting rig(600);
  CancelJobs cancel;
  for (std::uint32_t id = 1; id <= 600; ++id) cancel.filter.jobs.push_back(selector_of(JobId(id)));
  for (const JobOutcome& outcome : rig.done(cancel, kBob).outcomes)
    EXPECT_EQ(outcome.error->code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(rig.pending(), 600U);
}

// ---- batches ----

TEST(CoreSweep, ABatchIsAtomicAndThereforeShort) {
  Waiting rig(20);
  rig.ask({cancel_all(), submit_of(spec_of())});
  rig.flush();
  EXPECT_EQ(rig.replies.rbegin()->second.at(0).error->code, ErrorCode::kInvalidArgument);
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 10'000);
  const JobId array = rig.done(submit).job;
  CancelJobs wide;
  wide.filter.jobs = {element_of(array, Bitmap::range(0, 5000))};
  const auto token = rig.ask({wide, cancel_of(JobId(1))});
  rig.flush();
  EXPECT_EQ(rig.replies.at(token).at(0).error->message,
            "the requests of one batch concern too many jobs");
  EXPECT_TRUE(rig.job(JobId(1)).is_pending());
}

// ---- what one event means for many ----

TEST(CoreSweep, ThoseWhoWaitedForOneJobAreReleasedPartByPart) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  const JobId first = rig.done(submit_of(spec_of("first"))).job;
  for (int i = 0; i < 1000; ++i) {
    PreparedSubmit submit = submit_of(spec_of("after"));
    submit.dependencies.terms.push_back(
        DependencyTerm{DependencyKind::kAfterOk, first, {}, {}, {}});
    rig.ask({submit});
  }
  rig.flush();
  rig.step_done(0, rig.batch_step(first));
  const auto eligible = [](const Rig& one) {
    std::size_t count = 0;
    one.core.state().jobs().for_each([&](const Job& job) {
      count += job.dependencies != nullptr && job.eligible_time.is_set() ? 1 : 0;
    });
    return count;
  };
  EXPECT_EQ(eligible(rig), kPerTurn);
  // The next controller goes on with it by itself.
  Rig next(2, rig.stored());
  next.work();
  EXPECT_EQ(eligible(next), 1000U);
  rig.work();
  EXPECT_EQ(eligible(rig), 1000U);
  EXPECT_LE(most_in_a_batch<JobChanged>(rig), kPerTurn);
}

constexpr std::uint32_t kNodes = 100;
constexpr std::size_t kJobs = std::size_t{4} * kNodes;

/// A cluster on which as many jobs run as it has CPUs.
struct Full : Rig {
  Full() : Rig(kNodes) {
    connect_all();
    plan();
    for (std::size_t i = 0; i < kJobs; ++i) ask({submit_of(spec_of())});
    flush();
    plan();
    confirm_launches();
    CHECK(running_on(*this) == kJobs);
  }
  static std::size_t running_on(const Rig& rig) {
    std::size_t count = 0;
    rig.core.state().jobs().for_each(
        [&](const Job& job) { count += job.state == JobState::kRunning ? 1 : 0; });
    return count;
  }
};

TEST(CoreSweep, JobsOfNodesThatAreTakenDownEndPartByPartAlsoAcrossACrash) {
  Full rig;
  rig.ask({UpdateObject{UpdateKind::kNode, "n[0-99]", {{"State", "down"}, {"Reason", "flood"}}}},
          kRoot);
  rig.flush();
  EXPECT_EQ(Full::running_on(rig), kJobs - kPerTurn);
  Rig next(kNodes, rig.stored());
  next.work();
  EXPECT_EQ(Full::running_on(next), 0U);
  rig.work();
  EXPECT_EQ(Full::running_on(rig), 0U);
}

TEST(CoreSweep, NodesThatFallSilentTogetherAreGivenUpPartByPart) {
  Full rig;
  const std::size_t before = rig.journal.size();
  rig.pass(rig.core.state().settings().slurmd_timeout + Duration::seconds(1));
  rig.work();
  for (const Node& node : rig.core.state().nodes().all())
    EXPECT_TRUE(node.jobs.empty()) << node.config.name;
  for (std::size_t i = before; i < rig.journal.size(); ++i)
    EXPECT_LE(count_of<JobEnding>(rig.journal[i]), kPerTurn + 4);
}

// ---- steps ----

TEST(CoreSteps, LeaveTheRecordOnceHistoryHasThem) {
  Rig rig(1);
  rig.connect_all();
  rig.plan();
  const JobId job = rig.allocate();
  const auto step = std::make_shared<StepSpec>();
  rig.is_history_behind = true;
  const auto run_steps = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const StepId id = *rig.done(PreparedStep{job, step, {}}).step;
      StepDone report;
      report.id = id;
      report.usage = Usage{10, 1, 1};
      report.tasks = {ExitStatus::exited(i == 3 ? 9 : 0)};
      rig.hear(0, report);
    }
  };
  run_steps(300);
  rig.live(Duration::seconds(2));
  EXPECT_EQ(rig.job(job).run->steps.size(), 300U) << "history has none of them yet";
  rig.is_history_behind = false;
  rig.live(Duration::seconds(2));
  const JobRun& run = *rig.job(job).run;
  EXPECT_EQ(run.steps.size(), 64U);
  EXPECT_EQ(run.steps.front().id.step, 236U) << "the last ones stay";
  EXPECT_EQ(run.forgotten.count, 236U);
  EXPECT_EQ(run.forgotten.exit, ExitStatus::exited(9));
  run_steps(1);
  rig.live(Duration::seconds(2));
  EXPECT_EQ(run.steps.back().id.step, 300U) << "the latest stays";
  EXPECT_EQ(run.steps.front().id.step, 237U);
  const JobView view = view_of(rig.job(job), rig.core.state(), QueryDetail::kFull);
  EXPECT_EQ(view.usage, (Usage{3010, 301, 1})) << "the largest memory of a step";
  EXPECT_EQ(view.derived_exit, ExitStatus::exited(9));
  // Numbers go on, and so does the state after a restart.
  Rig next(1, rig.stored());
  EXPECT_EQ(next.core.state().jobs().find(job)->run->forgotten, rig.job(job).run->forgotten);
  next.connect(0);
  EXPECT_EQ(next.done(PreparedStep{job, step, {}}).step->step, 301U);
}

// ---- eviction ----

TEST(CoreSweep, JobsThatLeaveMemoryTogetherLeaveItPartByPart) {
  constexpr std::size_t kMany = 3500;
  constexpr std::size_t kPerEviction = 1000;
  Waiting rig(kMany);
  rig.done(cancel_all());
  ASSERT_EQ(rig.pending(), 0U);
  rig.core.on_history(rig.core.state().seq());
  rig.live(rig.core.state().settings().min_job_age + Duration::seconds(10));
  EXPECT_EQ(rig.core.state().jobs().size(), 0U);
  std::size_t most = 0;
  for (const EventBatchRef& batch : rig.journal) {
    for (const Event& event : batch->events) {
      if (const auto* evicted = get_if<JobsEvicted>(&event.body))
        most = std::max(most, evicted->jobs.size());
    }
  }
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, kPerEviction);
}

/// Two nodes of a thousand processors each.
struct LargeNodes : Rig {
  LargeNodes() : Rig(config()) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      RegisterNode hello = hello_of(i);
      hello.cpus = 1000;
      CHECK(greet(hello).has_value());
    }
    plan();
  }
  static std::shared_ptr<ClusterConfig> config() {
    auto config = testing::config_of(2);
    for (NodeConfig& node : config->nodes) node.cpus = node.cores_per_socket = 1000;
    return config;
  }
  std::size_t running() const {
    std::size_t count = 0;
    core.state().jobs().for_each([&](const Job& job) { count += job.run != nullptr ? 1 : 0; });
    return count;
  }
};

/// A try looks at every node: a turn makes so many, and what is left has the next ones.
TEST(CoreStarts, ManyAtOnceTakeSeveralTurnsAndOthersHaveTheirs) {
  LargeNodes rig;
  PreparedSubmit submit = submit_of(spec_of());
  submit.array.emplace();
  submit.array->indices = Bitmap::range(0, 1500);
  rig.ask({submit});
  rig.flush();
  EXPECT_EQ(rig.running(), 512U);
  EXPECT_TRUE(rig.core.has_work());
  EXPECT_GE(rig.work(), 2U);
  EXPECT_EQ(rig.running(), 1500U);
  EXPECT_FALSE(rig.core.has_work());
}

/// A turn tries 512 jobs and keeps 256 for the next one. All others are in the next plan.
TEST(CoreStarts, InARushTheRestWaitsForThePlan) {
  LargeNodes rig;
  std::vector<PreparedRequest> rush(600, submit_of(spec_of()));
  const auto held = spec_of();
  held->is_held = true;
  rush.insert(rush.end(), 300, submit_of(held));  // nobody's places
  rush.insert(rush.end(), 400, submit_of(spec_of()));
  rig.ask(rush);
  rig.flush();
  EXPECT_EQ(rig.running(), 512U);
  EXPECT_TRUE(rig.core.has_work());
  rig.work();
  EXPECT_EQ(rig.running(), 768U);
  EXPECT_FALSE(rig.core.has_work());
  rig.plan();
  EXPECT_EQ(rig.running(), 1000U);
}

/// Room for nobody is looked at for every shape that waits, a part of them a turn.
TEST(CoreStarts, RoomThatAppearedIsOfferedInTurns) {
  Rig rig;
  rig.connect_all();
  rig.plan();
  auto wide = spec_of();
  wide->request.edit()->min_nodes = 2;
  wide->request.edit()->task_count = 2;
  rig.done(submit_of(wide));
  for (std::uint64_t i = 0; i < 1200; ++i) {
    auto spec = spec_of();
    spec->request.edit()->cpus_per_task = 4;
    spec->time_limit = Duration::minutes(static_cast<std::int64_t>(10 + i));
    rig.done(submit_of(spec));
  }
  rig.plan();
  for (const char* state : {"drain", "resume"}) {
    rig.ask({UpdateObject{UpdateKind::kNode, "n[0-1]", {{"State", state}, {"Reason", "test"}}}},
            kRoot);
    rig.flush();
  }
  EXPECT_TRUE(rig.core.has_work());
  EXPECT_GE(rig.work(), 1U);
  EXPECT_FALSE(rig.core.has_work());
}

}  // namespace
}  // namespace muster
