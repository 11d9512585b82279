// What runs say and ask through the gateway: in which order it is kept, who hears of it, and who is
// refused.
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <deque>

#include "controller/testing.h"
#include "gateway/gateway.h"
#include "platform/config/prepare_experiment.h"
#include "platform/search/search_role.h"
#include "records/page_codec.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Rig;

/// A core with a running trial, and the gateway over a replica of it. Reports wait until the test
/// says that they are stored.
class Desk final : public GatewayPort {
 public:
  Desk()
      : io_(kj::setupAsyncIo()),
        replica_("host", "test"),
        gateway(*this, io_.provider->getTimer(), replica_) {
    role_.load(rig.core.state());
    rig.connect_all();
    CreateExperiment create;
    create.config =
        "{name: e, entrypoint: train, max_restarts: 3, hyperparameters: {lr: 1}, searcher: {name: "
        "single, metric: loss}}";
    create.job = testing::spec_of("base");
    LastBlob last;
    rig.done(
        prepare_experiment(std::move(create), kAlice, CallerNames{"alice", "users"}, last).value());
    run_until_idle();
  }
  ~Desk() noexcept override = default;

  // ---- GatewayPort ----
  TimePoint now() override { return rig.now; }
  void command(Command command) override {
    told.push_back(command.requests);
    const std::uint64_t token = command.token;
    rig.core.on_command(std::move(command), rig.now);
    rig.core.end_turn(rig.now);
    rig.flush();
    follow();
    gateway.on_reply(token, rig.replies.at(token));
  }
  void forecast(Command) override {}
  kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId>) override {
    return std::map<JobId, Reasons>();
  }
  kj::Promise<Result<HistorySlice>> history(UserId, HistoryListing) override {
    return Result<HistorySlice>(fail(ErrorCode::kUnavailable, "no history here"));
  }
  kj::Promise<Result<std::string>> blob(BlobId) override {
    return Result<std::string>(std::string());
  }
  kj::Promise<CallerNames> names(UserId, GroupId) override {
    return CallerNames{"alice", "users", {}};
  }
  kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint) override {
    return Result<std::string>("token of " + owner.name);
  }
  kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) override {
    stored.push_back(std::move(report));
    auto paf = kj::newPromiseAndFulfiller<Result<ReportOutcome>>();
    waiting_.push_back(kj::mv(paf.fulfiller));
    return kj::mv(paf.promise);
  }
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion>) override {
    return Result<MetricAnswers>(fail(ErrorCode::kUnavailable, "no metrics are stored here"));
  }
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion) override {
    return Result<TokenAnswer>(fail(ErrorCode::kUnavailable, "no tokens are stored here"));
  }
  void forget_trials(std::vector<TrialId>) override {}
  void begin_metrics(TrialId, std::uint32_t run, std::int64_t steps) override {
    begun.emplace_back(run, steps);
  }
  kj::Promise<Result<LogPage>> read_logs(LogQuery, Duration) override {
    return Result<LogPage>(LogPage());
  }
  void wake_log_readers(LogOwner) override {}

  /// The oldest report that waits is stored.
  void finish(ReportOutcome outcome) {
    waiting_.front()->fulfill(outcome);
    waiting_.pop_front();
  }
  bool is_waiting() const { return !waiting_.empty(); }
  void run_until_idle() {
    for (int i = 0; i < 10; ++i) {
      follow();
      for (const SearchDecision& decision : role_.decide(rig.now)) rig.done(decision, kRoot);
      rig.plan();
    }
    follow();
  }
  void follow() {
    for (; seen_ < rig.published.size(); ++seen_) {
      role_.apply(*rig.published[seen_]);
      DurableUpdate update;
      update.batch = rig.published[seen_];
      gateway.on_update(update);
    }
  }
  MetricReport report(const char* group, double loss, std::uint32_t run = 1,
                      std::int64_t steps = 4) const {
    MetricReport made;
    made.trial = TrialId(1);
    made.run = run;
    made.group = group;
    made.steps_completed = steps;
    made.metrics = {{"loss", loss}};
    return made;
  }
  template <class T>
  T wait(kj::Promise<T> promise) {
    return promise.wait(io_.waitScope);
  }
  bool is_ready(kj::Promise<std::optional<Error>>& promise) { return promise.poll(io_.waitScope); }
  const Trial& trial() const { return *rig.core.state().experiments().find(TrialId(1)); }

  Rig rig{2};
  std::vector<std::vector<PreparedRequest>> told;
  std::vector<MetricReport> stored;
  std::vector<std::pair<std::uint32_t, std::int64_t>> begun;

 private:
  kj::AsyncIoContext io_;
  QueryReplica replica_;
  SearchRole role_;
  std::size_t seen_ = 0;
  std::deque<kj::Own<kj::PromiseFulfiller<Result<ReportOutcome>>>> waiting_;

 public:
  Gateway gateway;
};

TEST(TrialCalls, AReportIsStoredThenToldThenAnswered) {
  Desk desk;
  auto answer = desk.gateway.report(kAlice, desk.report("validation", 0.5));
  EXPECT_FALSE(desk.is_ready(answer)) << "it is not stored yet";
  EXPECT_TRUE(desk.told.empty()) << "a search must not know what a crash may take back";
  desk.finish(ReportOutcome::kStored);
  EXPECT_FALSE(desk.wait(kj::mv(answer)));
  ASSERT_EQ(desk.told.size(), 1U);
  EXPECT_EQ(desk.trial().metric, 0.5);
}

TEST(TrialCalls, ARepeatIsToldAgain) {
  // The first answer may have been lost between the store and the search.
  Desk desk;
  auto answer = desk.gateway.report(kAlice, desk.report("validation", 0.5));
  desk.finish(ReportOutcome::kRepeated);
  EXPECT_FALSE(desk.wait(kj::mv(answer)));
  EXPECT_EQ(desk.trial().metric, 0.5);
}

TEST(TrialCalls, TrainingIsNotTold) {
  Desk desk;
  auto answer = desk.gateway.report(kAlice, desk.report("training", 0.5));
  desk.finish(ReportOutcome::kStored);
  EXPECT_FALSE(desk.wait(kj::mv(answer)));
  EXPECT_TRUE(desk.told.empty());
}

TEST(TrialCalls, WhatTheStoreRefusesReachesNoSearch) {
  for (const ReportOutcome outcome :
       {ReportOutcome::kConflict, ReportOutcome::kStale, ReportOutcome::kInvalid}) {
    Desk desk;
    auto answer = desk.gateway.report(kAlice, desk.report("validation", 0.5));
    desk.finish(outcome);
    EXPECT_TRUE(desk.wait(kj::mv(answer)));
    EXPECT_TRUE(desk.told.empty());
  }
}

TEST(TrialCalls, StrangersAndOtherRunsAreRefusedBeforeAnythingIsStored) {
  Desk desk;
  EXPECT_EQ(desk.wait(desk.gateway.report(kBob, desk.report("validation", 0.5)))->code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(desk.wait(desk.gateway.report(kAlice, desk.report("validation", 0.5, 2)))->message,
            "invalid run id, 2 (reported) != 1 (expected)");
  MetricReport unknown = desk.report("validation", 0.5);
  unknown.trial = TrialId(9);
  EXPECT_EQ(desk.wait(desk.gateway.report(kAlice, unknown))->code, ErrorCode::kNotFound);
  EXPECT_TRUE(desk.stored.empty());
}

TEST(TrialCalls, ASearcherMetricThatIsNoNumberIsRefusedBeforeItIsStored) {
  Desk desk;
  MetricReport report = desk.report("validation", 0);
  report.metrics = {{"loss", JsonText{"\"high\""}}};
  EXPECT_EQ(desk.wait(desk.gateway.report(kAlice, report))->code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(desk.stored.empty());
}

TEST(TrialCalls, ARunsMetricsBeginWhereItsCheckpointIs) {
  Desk desk;
  desk.rig.done(RecordCheckpoint{
      {"a", TrialId(1), 1, 40, CheckpointState::kCompleted, {}, 0, "{}", "{}"}, false});
  const auto send = [&](std::uint32_t run) {
    auto answer = desk.gateway.report(kAlice, desk.report("training", 1, run, 41));
    desk.finish(ReportOutcome::kStored);
    EXPECT_FALSE(desk.wait(kj::mv(answer)));
  };
  send(1);
  EXPECT_TRUE(desk.begun.empty())
      << "the first run goes on from nothing, not even from its own checkpoint";
  desk.rig.step_done(desk.rig.job(desk.trial().job).run->allocation->nodes.front().node.value(),
                     desk.rig.batch_step(desk.trial().job), ExitStatus::exited(1));
  desk.run_until_idle();
  send(2);
  send(2);
  EXPECT_EQ(desk.begun, (std::vector<std::pair<std::uint32_t, std::int64_t>>{{2, 40}})) << "once";
}

TEST(TrialCalls, WhoWaitsHearsOfTheStopAtOnce) {
  Desk desk;
  const TrialRun run{TrialId(1), 1};
  EXPECT_FALSE(desk.wait(desk.gateway.wait_stop(kAlice, run, 0 * kj::SECONDS)).value());
  auto waiting = desk.gateway.wait_stop(kAlice, run, 60 * kj::SECONDS);
  desk.rig.done(ControlExperiments{ExperimentVerb::kPause, {ExperimentId(1)}});
  desk.follow();
  EXPECT_TRUE(desk.wait(kj::mv(waiting)).value());
  EXPECT_TRUE(desk.wait(desk.gateway.wait_stop(kAlice, run, 60 * kj::SECONDS)).value())
      << "and who asks later";
  EXPECT_FALSE(desk.wait(desk.gateway.wait_stop(kBob, run, 60 * kj::SECONDS)).has_value());
  EXPECT_FALSE(
      desk.wait(desk.gateway.wait_stop(kAlice, {TrialId(1), 2}, 60 * kj::SECONDS)).has_value());
}

TEST(TrialCalls, WhoWaitsForARunThatEndsIsToldSo) {
  Desk desk;
  auto waiting = desk.gateway.wait_stop(kAlice, {TrialId(1), 1}, 60 * kj::SECONDS);
  desk.rig.done(ControlExperiments{ExperimentVerb::kKill, {ExperimentId(1)}});
  desk.follow();
  EXPECT_FALSE(desk.wait(kj::mv(waiting)).has_value()) << "at once, before its processes are gone";
}

TEST(TrialCalls, ATokenEndsWithItsRun) {
  Desk desk;
  TokenClaims claims;
  claims.scope = TokenScope::kTask;
  claims.job = desk.trial().job;
  claims.run = 1;
  EXPECT_TRUE(desk.gateway.check_token(claims).has_value());
  claims.run = 2;
  EXPECT_FALSE(desk.gateway.check_token(claims).has_value()) << "of a run that is not there yet";
  claims.scope = TokenScope::kOwner;
  EXPECT_TRUE(desk.gateway.check_token(claims).has_value()) << "the job lives";
  claims.job = JobId(99);
  EXPECT_FALSE(desk.gateway.check_token(claims).has_value());
  claims.scope = TokenScope::kUser;
  EXPECT_TRUE(desk.gateway.check_token(claims).has_value());
}

TEST(TrialCalls, AReportOfTheCommandLineIsStoredToo) {
  Desk desk;
  const auto send = [&](double loss) {
    ReportTrial report{TrialId(1), 1, 0, {{"loss", loss}}};
    std::vector<Request> requests;
    requests.emplace_back(std::move(report));
    auto answer = desk.gateway.submit(kAlice, std::move(requests), RequestId());
    desk.finish(ReportOutcome::kStored);
    EXPECT_FALSE(desk.wait(kj::mv(answer)).front().error);
  };
  send(0.5);
  send(0.25);
  send(0.5);
  ASSERT_EQ(desk.stored.size(), 3U);
  EXPECT_EQ(desk.stored[0].group, "validation");
  EXPECT_NE(desk.stored[0].key, desk.stored[1].key)
      << "without steps its content tells it from others";
  EXPECT_EQ(desk.stored[0].key, desk.stored[2].key) << "and a repeat is one";
}

}  // namespace
}  // namespace muster
