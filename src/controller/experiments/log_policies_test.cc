// What lines of trials' logs set off, and how long logs are kept.
#include <gtest/gtest.h>

#include "controller/experiments/testing.h"
#include "platform/rules/log_retention.h"
#include "records/batch_codec.h"
#include "search/searcher.h"
#include "state/views.h"
#include "text/launch_size.h"
#include "trials/experiment_form.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Lab;
using testing::random_search;

RecordLogMatch match_of(std::uint32_t run, LogAction action, std::uint32_t node = 0,
                        const std::string& policy = "p") {
  return RecordLogMatch{TrialId(1), NodeIndex(node), {run, policy, action, "", "it broke"}};
}
std::uint32_t node_of(const Lab& lab) {
  return lab.job(1).run->allocation->nodes.front().node.value();
}

TEST(LogPolicies, AMatchIsJournalledOnceForEachRunAndPolicy) {
  Lab lab;
  lab.create(random_search(1, 1));
  EXPECT_FALSE(lab.rig.done(match_of(1, LogAction::kLabel), kRoot).error);
  const std::size_t batches = lab.rig.journal.size();
  EXPECT_FALSE(lab.rig.done(match_of(1, LogAction::kLabel), kRoot).error);
  EXPECT_EQ(lab.rig.journal.size(), batches);
  lab.rig.done(match_of(1, LogAction::kLabel, 1, "q"), kRoot);
  ASSERT_EQ(lab.trial(1).log_matches.size(), 2U);
  EXPECT_EQ(lab.trial(1).log_matches[0], (LogMatch{1, "p", LogAction::kLabel, "n0", "it broke"}));
  EXPECT_EQ(lab.rig.done(match_of(2, LogAction::kLabel), kRoot).error->code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(lab.rig.done(match_of(1, LogAction::kLabel, 9, "r"), kRoot).error->code,
            ErrorCode::kInvalidArgument);
  lab.exit(1, ExitStatus::exited(1));
  EXPECT_TRUE(lab.runs(1)) << "a label changes nothing";
}

TEST(LogPolicies, AFailureAfterAMatchIsTheTrialsEnd) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot);
  EXPECT_TRUE(lab.runs(1)) << "the run may yet do well";
  lab.exit(1, ExitStatus::exited(1));
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_EQ(lab.trial(1).restarts, 0U);
  EXPECT_NE(
      lab.trial(1).detail.find("log policy \"p\" forbids another try: run 1 wrote \"it broke\""),
      std::string::npos)
      << lab.trial(1).detail;
}

TEST(LogPolicies, ARunThatDoesWellAfterAMatchIsComplete) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot);
  lab.exit(1);
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
}

TEST(LogPolicies, AMatchForbidsNothingWhereTheNodeWasAtFaultOrOfAnotherRun) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot);
  StepDone done;
  done.id = lab.rig.batch_step(lab.trial(1).job);
  done.is_node_fault = true;
  lab.rig.hear(node_of(lab), done);
  lab.run_until_idle();
  ASSERT_TRUE(lab.runs(1));
  lab.exit(1, ExitStatus::exited(1));  // of run 2
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  EXPECT_TRUE(lab.runs(1));
}

TEST(LogPolicies, AMatchOfARunThatHasFailedEndsTheNextOne) {
  for (const bool is_held : {false, true}) {
    Lab lab;
    lab.create(random_search(1, 1));
    if (is_held) lab.control(ExperimentVerb::kPause);
    lab.exit(1, ExitStatus::exited(1));
    EXPECT_EQ(lab.job(1).attempt, 1U);
    lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot);
    lab.run_until_idle();
    if (is_held) {  // it had been asked to stop: that is no failure
      EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
      continue;
    }
    const StepId step = lab.rig.batch_step(lab.trial(1).job);
    EXPECT_EQ(lab.rig.last_sent<TerminateJob>().job, lab.trial(1).job);
    lab.rig.step_done(node_of(lab), step, ExitStatus::signalled(SIGTERM));
    lab.run_until_idle();
    EXPECT_EQ(lab.trial(1).state, TrialState::kError);
    EXPECT_NE(lab.trial(1).detail.find("run 1 wrote"), std::string::npos) << lab.trial(1).detail;
    EXPECT_TRUE(is_final(lab.experiment().state));
  }
}

TEST(LogPolicies, AMatchWhileARunIsBeingCleanedUpEndsTheTrial) {
  Lab lab;
  lab.create(random_search(1, 1));
  const JobId job = lab.trial(1).job;
  const std::uint32_t node = node_of(lab);
  const StepId step = *lab.rig.done(PreparedStep{job, std::make_shared<StepSpec>(), {}}).step;
  lab.exit(1, ExitStatus::exited(1));  // the script has failed, and what it started is still there
  ASSERT_TRUE(lab.job(1).is_completing());
  ASSERT_EQ(lab.trial(1).restarts, 1U);
  lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot);
  EXPECT_EQ(lab.trial(1).state, TrialState::kActive);
  lab.rig.step_done(node, step, ExitStatus::signalled(SIGTERM));
  lab.run_until_idle();
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_EQ(lab.job(1).attempt, 0U);
}

TEST(LogPolicies, AnExcludedNodeIsLeftAloneFromTheNextStartOn) {
  Lab lab;
  lab.create(random_search(1, 1));
  const std::uint32_t first = node_of(lab);
  lab.rig.done(match_of(1, LogAction::kExcludeNode, first), kRoot);
  lab.run_until_idle();
  ASSERT_TRUE(lab.runs(1)) << "a run that goes on is left alone";
  EXPECT_EQ(lab.job(1).attempt, 0U);
  lab.exit(1, ExitStatus::exited(1));
  ASSERT_TRUE(lab.runs(1));
  EXPECT_EQ(lab.job(1).attempt, 1U);
  EXPECT_NE(node_of(lab), first);
  EXPECT_EQ(lab.job(1).spec->get(JobText::kExcludeList), "n" + std::to_string(first));
}

TEST(LogPolicies, ATrialWithoutANodeLeftEnds) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.rig.done(match_of(1, LogAction::kExcludeNode, 0), kRoot);
  lab.rig.done(match_of(1, LogAction::kExcludeNode, 1, "q"), kRoot);
  EXPECT_TRUE(lab.runs(1));
  lab.exit(1, ExitStatus::exited(1));
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_NE(lab.trial(1).detail.find("no nodes are left that it could run on: by its log policies "
                                     "(\"p\", \"q\") it does without n[0-1]"),
            std::string::npos)
      << lab.trial(1).detail;
}

TEST(LogPolicies, AQueuedTrialWithoutANodeLeftEndsAtOnce) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, resources: {slots_per_trial: 4}, searcher: {name: single, "
      "metric: loss}}");  // both nodes
  lab.exit(1, ExitStatus::exited(1));
  lab.control(ExperimentVerb::kPause);
  lab.exit(1, ExitStatus::exited(1));
  ASSERT_TRUE(lab.job(1).is_pending());
  lab.rig.done(match_of(1, LogAction::kExcludeNode, 1), kRoot);
  lab.run_until_idle();
  EXPECT_EQ(lab.trial(1).state, TrialState::kError);
  EXPECT_NE(lab.trial(1).detail.find("does without n1"), std::string::npos) << lab.trial(1).detail;
}

TEST(LogPolicies, AMatchOfATrialThatHasEndedIsALabel) {
  Lab lab;
  lab.create(random_search(1, 1));
  lab.exit(1);
  ASSERT_TRUE(lab.trial(1).is_over());
  EXPECT_FALSE(lab.rig.done(match_of(1, LogAction::kCancelRetries), kRoot).error);
  EXPECT_FALSE(lab.rig.done(match_of(1, LogAction::kExcludeNode, 0, "q"), kRoot).error);
  EXPECT_EQ(lab.trial(1).state, TrialState::kCompleted);
  EXPECT_EQ(lab.trial(1).log_matches.size(), 2U);
}

// ---- how long logs are kept ----

TEST(LogRetention, LogsGoWhenTheirDaysAfterTheExperimentsEndArePast) {
  Lab lab;
  lab.create(
      "{name: e, entrypoint: train, retention_policy: {log_retention_days: 7}, searcher: {name: "
      "single, metric: loss}}");
  const auto& state = lab.rig.core.state();
  const auto expired = [&](std::int64_t hours) {
    return expired_logs(state, lab.experiment().end_time + Duration::hours(hours));
  };
  const auto left = [&](std::int64_t hours) {
    return remaining_log_days(state, lab.trial(1),
                              lab.experiment().end_time + Duration::hours(hours));
  };
  EXPECT_TRUE(expired_logs(state, lab.rig.now + Duration::hours(24 * 365)).empty())
      << "it has not ended";
  EXPECT_EQ(remaining_log_days(state, lab.trial(1), lab.rig.now), 7);
  lab.exit(1);
  ASSERT_TRUE(is_final(lab.experiment().state));
  EXPECT_TRUE(expired(7 * 24 - 1).empty());
  EXPECT_EQ(left(0), 7);
  EXPECT_EQ(left(25), 6);
  EXPECT_EQ(expired(7 * 24), (std::vector<LogOwner>{{LogOwnerKind::kTrial, 1}}));
  EXPECT_EQ(left(7 * 24), 0);
  EXPECT_FALSE(lab.rig.done(SetLogRetention{ExperimentId(), TrialId(1), 30}).error);
  EXPECT_TRUE(expired(8 * 24).empty());
  EXPECT_EQ(left(24), 29);
  EXPECT_FALSE(lab.rig.done(SetLogRetention{ExperimentId(1), TrialId(), -1})
                   .error);  // the trial's own word goes with it
  EXPECT_TRUE(expired(1'000'000).empty());
  EXPECT_EQ(left(24), -1);
  lab.rig.done(SetLogRetention{ExperimentId(1), TrialId(), 0});
  EXPECT_EQ(expired(0).size(), 1U);
}

TEST(LogRetention, OfWhomAndForHowLong) {
  Lab lab;
  lab.create(random_search(1, 1));
  EXPECT_EQ(log_retention_of(lab.trial(1), lab.rig.core.state()), -1) << "the cluster's";
  const auto code = [&](SetLogRetention set, Identity who = kAlice) {
    return lab.rig.done(set, who).error->code;
  };
  EXPECT_EQ(code({ExperimentId(1), TrialId(), 32768}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({ExperimentId(1), TrialId(), -2}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({ExperimentId(2), TrialId(), 1}), ErrorCode::kNotFound);
  EXPECT_EQ(code({ExperimentId(), TrialId(2), 1}), ErrorCode::kNotFound);
  EXPECT_EQ(code({ExperimentId(), TrialId(1), 1}, kBob), ErrorCode::kPermissionDenied);
}

TEST(LogRetention, TheClusterSaysSoWhereNobodyElseDoes) {
  auto config = testing::config_of(1);
  config->settings.log_retention_days = 3;
  testing::Log log;
  ExperimentCreated created;
  created.experiment = log.state().next_experiment();
  auto spec = std::make_shared<ExperimentSpec>();
  spec->job = testing::spec_of("e");
  created.spec = spec;
  SearchDecided decided;
  decided.experiment = created.experiment;
  decided.first_trial = log.state().next_trial();
  decided.created = {{TrialIndex(0), 0, 0, "{}", {}, {}}};
  log.add({ConfigApplied{config}, created, decided});
  const TrialId id = decided.first_trial;
  EXPECT_EQ(log_retention_of(*log.state().experiments().find(id), log.state()), 3);
  log.add({LogRetentionSet{created.experiment, TrialId(), 30}});
  EXPECT_EQ(log_retention_of(*log.state().experiments().find(id), log.state()), 30);
}

}  // namespace
}  // namespace muster
