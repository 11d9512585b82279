#include "state/views.h"

#include <gtest/gtest.h>

#include "state/testing.h"
#include "state/trial_of_job.h"

namespace muster {
namespace {

using testing::at;
using testing::config_of;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

StepCreated step_with_key(JobId job, const std::string& key) {
  auto spec = std::make_shared<StepSpec>();
  spec->task_count = 3;
  spec->text.set(StepText::kName, "train");
  spec->text.set(StepText::kIoKey, key);
  auto layout = std::make_shared<StepLayout>();
  layout->nodes.push_back(grant_of(0, 0, 2));
  return {StepId{job, 0, 0}, std::move(spec), std::move(layout)};
}

TEST(ViewOfStep, DoesNotShowTheKeyOfItsStreams) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 2)});
  log.add({step_with_key(job, "secret")});
  const StepState& step = *log.job(job).run->find_step(0);
  const StepView view = view_of(step, log.job(job), log.state());
  EXPECT_EQ(view.spec->get(StepText::kIoKey), "");
  EXPECT_EQ(view.spec->get(StepText::kName), "train");
  EXPECT_EQ(view.spec->task_count, 3U);
  EXPECT_EQ(step.spec->get(StepText::kIoKey), "secret");  // what its supervisors are given
}

TEST(ViewOfStep, SharesTheSpecificationOfOneWithoutAKey) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 2)});
  log.add({step_with_key(job, "")});
  const StepState& step = *log.job(job).run->find_step(0);
  EXPECT_EQ(view_of(step, log.job(job), log.state()).spec, step.spec);
}

JobView seen(const Log& log, JobId job, TimePoint now = {}, const Reasons* reasons = nullptr) {
  return view_of(log.job(job), log.state(), QueryDetail::kFull, reasons, now);
}

/// Sets what is not changed by an event of its own.
void change(Log& log, JobId job, std::optional<std::uint16_t> flags,
            std::optional<PendingReason> reason) {
  JobChanged changed;
  changed.job = job;
  changed.flags = flags;
  changed.reason = reason;
  log.add({changed});
}

TEST(ViewOfJob, APendingOneShowsWhatItNeeds) {
  Log log;
  auto spec = spec_of();
  spec->request.edit()->min_nodes = 2;
  spec->request.edit()->task_count = 6;
  spec->request.edit()->cpus_per_task = 2;
  spec->request.edit()->memory_scope = MemoryScope::kPerCpu;
  spec->request.edit()->memory_mib = 10;
  spec->request.edit()->gres_per_node = {{"gpu", "", 1}};
  const JobView view = seen(log, log.submit(spec));
  EXPECT_EQ(view.node_count, 2U);
  EXPECT_EQ(view.cpu_count, 12U);
  EXPECT_EQ(view.requested_tres, "cpu=12,mem=120M,node=2,billing=12,gres/gpu=2");
  EXPECT_EQ(view.allocated_tres, "");
  EXPECT_EQ(view.node_list, "");
  EXPECT_EQ(view.memory_mib, 0U);
}

TEST(ViewOfJob, WhatItAskedForIsReadByTheRulesThatItStartedUnder) {
  Log log;
  const JobId job = log.submit_with_memory(250);
  log.start(job, {grant_of(0, 0, 1)});
  log.set_max_memory_per_cpu(PartitionIndex(0), 100);
  EXPECT_EQ(seen(log, job).requested_tres, "cpu=1,mem=250M,node=1,billing=1");
}

TEST(ViewOfJob, ARunningOneShowsWhatItHas) {
  Log log;
  const JobId job = log.submit(spec_of());
  NodeGrant grant = grant_of(0, 0, 3);
  grant.gres.push_back({"gpu", "", Bitmap::range(0, 2)});
  log.start(job, {grant, grant_of(1, 0, 1)});
  const JobView view = seen(log, job);
  EXPECT_EQ(view.node_list, "n[0-1]");
  EXPECT_EQ(view.batch_host, "n0");
  EXPECT_EQ(view.node_count, 2U);
  EXPECT_EQ(view.cpu_count, 4U);
  EXPECT_EQ(view.memory_mib, 200U);
  EXPECT_EQ(view.allocated_tres, "cpu=4,mem=200M,node=2,billing=4,gres/gpu=2");
  EXPECT_EQ(view.node_names, (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(view.grants.size(), 2U);
}

TEST(ViewOfJob, InARowLeavesOutWhatNoColumnShows) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 3)});
  const JobView view = view_of(log.job(job), log.state(), QueryDetail::kRow);
  EXPECT_EQ(view.node_list, "n0");
  EXPECT_TRUE(view.grants.empty() && view.node_names.empty());
  EXPECT_EQ(view.requested_tres + view.allocated_tres + view.std_out + view.std_in, "");
}

TEST(ViewOfJob, TheStateItselfKnowsWhyItIsHeld) {
  Log log;
  const JobId job = log.submit(spec_of());
  Reasons planner;
  planner.word = PendingReason::kResources;
  EXPECT_EQ(seen(log, job, {}, &planner).reasons.word, PendingReason::kResources);
  EXPECT_EQ(seen(log, job).reasons.word, PendingReason::kNone);
  change(log, job, job_flag::kUserHeld, {});
  EXPECT_EQ(seen(log, job, {}, &planner).reasons.word, PendingReason::kJobHeldUser);
  EXPECT_EQ(seen(log, job).priority, 0) << "what users see of a held job";
  change(log, job, job_flag::kRequeueHeld, PendingReason::kJobHoldMaxRequeue);
  EXPECT_EQ(seen(log, job).reasons.word, PendingReason::kJobHoldMaxRequeue);
  change(log, job, job_flag::kAdminHeld | job_flag::kUserHeld, {});
  EXPECT_EQ(seen(log, job).reasons.word, PendingReason::kJobHeldAdmin) << "the stronger";
  change(log, job, std::uint16_t{0}, PendingReason::kBadConstraints);
  EXPECT_EQ(seen(log, job, {}, &planner).reasons.word, PendingReason::kBadConstraints);
  EXPECT_EQ(seen(log, job).priority, 1) << "a job that is not held has one above 0";
}

TEST(ViewOfJob, WaitsForItsDependencyOrItsTime) {
  Log log;
  JobSubmitted event;
  event.job = log.state().next_job();
  event.spec = spec_of();
  event.partitions = {PartitionIndex(0)};
  event.dependencies.terms.push_back({DependencyKind::kAfterOk, JobId(1), {}, {}});
  log.add({event});
  const JobView depends = seen(log, event.job);
  EXPECT_EQ(depends.reasons.word, PendingReason::kDependency);
  EXPECT_EQ(depends.dependency, "afterok:1(unfulfilled)");
  auto later = spec_of();
  later->begin_time = at(100);
  const JobId job = log.submit(later);
  EXPECT_EQ(seen(log, job, at(99)).reasons.word, PendingReason::kBeginTime);
  EXPECT_EQ(seen(log, job, at(99)).reasons.expected_start, at(100));
  EXPECT_EQ(seen(log, job, at(100)).reasons.word, PendingReason::kNone)
      << "its time has come, though no event has";
}

TEST(ViewOfJob, AnArrayAtItsThrottleSaysSo) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 1});
  EXPECT_EQ(seen(log, array).array_remaining, "0-2");
  EXPECT_EQ(seen(log, array).array_remaining_count, 3U);
  EXPECT_EQ(seen(log, array).reasons.word, PendingReason::kNone);
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 0, element}});
  log.start(element, {grant_of(0, 0, 1)});
  const JobView view = seen(log, array);
  EXPECT_EQ(view.reasons.word, PendingReason::kJobArrayTaskLimit);
  ASSERT_EQ(view.reasons.details.size(), 1U);
  EXPECT_EQ(view.reasons.details[0].wanted, 2U);
  EXPECT_EQ(view.reasons.details[0].found, 1U);
  EXPECT_EQ(view.array_remaining, "1-2");
  EXPECT_EQ(seen(log, element).array_index, 0U);
  EXPECT_EQ(seen(log, element).array_remaining, "");
}

TEST(ViewOfJob, FilesAreAbsoluteAndExpandedWhereTheyCanBe) {
  Log log;
  auto spec = spec_of();
  const JobId plain = log.submit(spec);
  EXPECT_EQ(seen(log, plain).std_out, "/tmp/slurm-1.out");
  EXPECT_EQ(seen(log, plain).std_err, "/tmp/slurm-1.out") << "errors go with the output";
  EXPECT_EQ(seen(log, plain).std_in, "/dev/null");
  spec = spec_of("x");
  spec->text.set(JobText::kStdOut, "out/%x-%A_%a-%N");
  spec->text.set(JobText::kStdErr, "/var/%j");
  spec->text.set(JobText::kStdIn, "in");
  const JobId array = log.submit(spec, ArraySpec{Bitmap::range(4, 2), 0});
  EXPECT_EQ(seen(log, array).std_out, "/tmp/out/%x-%A_%a-%N") << "of no one element yet";
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 4, element}});
  log.start(element, {grant_of(1, 0, 1)});
  EXPECT_EQ(seen(log, element).std_out, "/tmp/out/x-2_4-n1");
  EXPECT_EQ(seen(log, element).std_err, "/var/3");
  EXPECT_EQ(seen(log, element).std_in, "/tmp/in");
  auto run = spec_of();
  run->kind = JobKind::kRun;
  EXPECT_EQ(seen(log, log.submit(run)).std_out, "") << "srun writes its own";
}

TEST(ViewOfJob, PartitionsAreAListUntilItStarts) {
  Log log;
  JobSubmitted event;
  event.job = log.state().next_job();
  event.spec = spec_of();
  event.partitions = {PartitionIndex(1), PartitionIndex(0)};
  log.add({event});
  EXPECT_EQ(seen(log, event.job).partition, "other,main");
  log.start(event.job, {grant_of(0, 0, 1)});
  EXPECT_EQ(seen(log, event.job).partition, "main");
}

TEST(ViewOfJob, StepsAddUpToUsageAndDerivedExit) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  for (const std::uint32_t number : {0U, 1U, kBatchStep})
    log.step(job, number, {grant_of(0, 0, 1)});
  const auto end = [&](std::uint32_t number, int code, Usage usage) {
    log.add({StepEnded{StepId{job, 0, number}, JobState::kFailed, ExitStatus::exited(code), usage,
                       ""}});
  };
  end(0, 5, {1, 1, 100});
  end(1, 2, {1, 1, 50});
  end(kBatchStep, 9, {1, 1, 10});
  const auto check = [&](const char* when) {
    EXPECT_EQ(seen(log, job).derived_exit, ExitStatus::exited(5)) << when;
    EXPECT_EQ(seen(log, job).usage, (Usage{3, 3, 100})) << when;
  };
  check("all there");
  log.add({StepsForgotten{job, {0}}});
  check("one forgotten");
}

TEST(ViewOfStep, CountsTasksAndNamesItself) {
  Log log;
  const JobId job = log.submit(spec_of("sim"));
  log.start(job, {grant_of(0, 0, 4), grant_of(1, 0, 4)});
  for (const std::uint32_t number : {kBatchStep, kExternStep, kInteractiveStep, 3U})
    log.step(job, number, {grant_of(0, 0, 2), grant_of(1, 0, 1)});
  const auto view = [&](std::uint32_t number) {
    return view_of(*log.job(job).run->find_step(number), log.job(job), log.state());
  };
  EXPECT_EQ(view(kBatchStep).name, "batch");
  EXPECT_EQ(view(kBatchStep).task_count, 1U) << "one script";
  EXPECT_EQ(view(kExternStep).name, "extern");
  EXPECT_EQ(view(kInteractiveStep).name, "interactive");
  EXPECT_EQ(view(3).task_count, 3U);
  EXPECT_EQ(view(3).cpu_count, 3U);
  EXPECT_EQ(view(3).node_list, "n[0-1]");
  EXPECT_EQ(view(3).allocated_tres, "cpu=3,mem=200M,node=2") << "steps are not billed";
  EXPECT_TRUE(view(3).time_limit.is_infinite()) << "the job's";
  EXPECT_EQ(part_on(*log.job(job).run->find_step(3), NodeIndex(1)), 1U);
  EXPECT_EQ(part_on(*log.job(job).run->find_step(3), NodeIndex(5)), std::nullopt);
}

TEST(ViewOfNode, SplitsItsDevicesByType) {
  auto config = config_of(1);
  config->nodes[0].gres = {{"gpu", "a100", 2, {}}, {"gpu", "h100", 2, {}}};
  Log log;
  log.add({ConfigApplied{config_of(2)}});
  config->nodes.push_back(config_of(2)->nodes[1]);
  log.add({ConfigApplied{config}});
  const JobId job = log.submit(spec_of());
  NodeGrant grant = grant_of(0, 0, 3);
  grant.gres.push_back({"gpu", "", Bitmap::range(1, 2)});
  log.start(job, {grant});
  NodeView view = view_of(NodeIndex(0), log.state());
  EXPECT_EQ(view.allocated_cpus, 3U);
  EXPECT_EQ(view.allocated_memory_mib, 100U);
  ASSERT_EQ(view.allocated_gres.size(), 2U);
  EXPECT_EQ(view.allocated_gres[0].type, "a100");
  EXPECT_EQ(view.allocated_gres[0].devices, Bitmap::range(1, 1));
  EXPECT_EQ(view.allocated_gres[1].devices, Bitmap::range(2, 1));
  EXPECT_FALSE(view.is_completing);
  EXPECT_EQ(view.partitions, (std::vector<std::string>{"main", "other"}));
  log.end(job, JobState::kFailed, false);
  EXPECT_TRUE(view_of(NodeIndex(0), log.state()).is_completing);
  EXPECT_FALSE(view_of(NodeIndex(1), log.state()).is_completing);
}

TEST(ViewOfPartition, SumsItsNodes) {
  const Log log;
  const PartitionView view = view_of(log.state().partition(PartitionIndex(0)), log.state());
  EXPECT_EQ(view.nodes, (std::vector<std::string>{"n0", "n1"}));
  EXPECT_EQ(view.total_cpus, 8U);
  EXPECT_EQ(view.tres, "cpu=8,mem=2000M,node=2,billing=8,gres/gpu=4");
}

TEST(ViewOfExperiment, CountsTrialsAndFindsTheBest) {
  Log log;
  testing::add_experiment(log);
  const Experiment& experiment = *log.state().experiments().find(ExperimentId(1));
  const ExperimentView full = view_of(experiment, log.state(), QueryDetail::kFull);
  EXPECT_EQ(full.trials.total(), 3U);
  EXPECT_EQ(full.trials.errored, 1U);
  EXPECT_EQ(full.trials.waiting, 1U) << "held at its target";
  EXPECT_EQ(full.trials.queued, 1U);
  EXPECT_EQ(full.best_trial, TrialId(1));
  EXPECT_EQ(full.best_metric, 0.5);
  EXPECT_EQ(full.spec, experiment.spec);
  const ExperimentView brief = view_of(experiment, log.state(), QueryDetail::kBrief);
  EXPECT_EQ(brief.spec->config, "");
  EXPECT_EQ(brief.spec->job, nullptr);
  EXPECT_EQ(brief.spec->metric, "loss");
}

TEST(ViewOfTrial, ShowsItsJobAndItsCheckpoints) {
  Log log;
  testing::add_experiment(log);
  const TrialView view = view_of(*log.state().experiments().find(TrialId(1)), log.state());
  EXPECT_EQ(view.job, JobId(1));
  EXPECT_EQ(view.job_state, JobState::kPending);
  EXPECT_EQ(view.runs, 1U) << "it is back in the queue after its first";
  EXPECT_EQ(view.latest_checkpoint, "a1") << "finished last";
  EXPECT_EQ(view.checkpoints, 2U);
  EXPECT_EQ(view.slots, 1U);
  EXPECT_EQ(view.log_retention_days, -1) << "its own";
  const Trial& third = *log.state().experiments().find(TrialId(3));
  EXPECT_EQ(view_of(third, log.state()).log_retention_days, 30) << "its experiment's";
  EXPECT_EQ(view_of(third, log.state()).latest_checkpoint, "");
}

TEST(TrialOfJob, HoldsItWhileThereIsNothingToTrain) {
  Log log;
  testing::add_experiment(log);
  const Job& job = log.job(JobId(3));
  const Trial* trial = trial_of(log.state(), job);
  ASSERT_NE(trial, nullptr);
  EXPECT_EQ(trial_hold(log.state(), *trial), 0);
  Trial changed = *trial;
  changed.is_waiting = true;
  EXPECT_EQ(trial_hold(log.state(), changed), job_flag::kTrialHeld);
  changed = *trial;
  changed.awaits_source = true;
  EXPECT_EQ(trial_hold(log.state(), changed), job_flag::kTrialHeld);
  ExperimentChanged pause;
  pause.experiment = ExperimentId(1);
  pause.state = ExperimentState::kPaused;
  log.add({pause});
  EXPECT_EQ(trial_hold(log.state(), *trial_of(log.state(), job)), job_flag::kTrialHeld);
  EXPECT_EQ(trial_of(log.state(), log.job(JobId(2))), nullptr) << "its trial is over";
  EXPECT_EQ(trial_of(log.state(), log.job(log.submit(spec_of()))), nullptr);
}

TEST(TrialOfJob, OtherSlotsAreOtherTasks) {
  const JobSpec spec = *spec_of();
  EXPECT_EQ(with_slots(spec, 3).request->task_count, 3U);
  EXPECT_EQ(spec.request->task_count, 1U);
}

}  // namespace
}  // namespace muster
