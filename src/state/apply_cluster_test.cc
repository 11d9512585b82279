// Epochs, configurations, nodes, partitions and steps of the clock: what their events do, under the
// rules of each version where those differ.
#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::config_of;
using testing::grant_of;
using testing::Log;
using testing::spec_of;

const NodeStatus& status_of(const Log& log, std::uint32_t node) {
  return log.state().nodes().at(NodeIndex(node)).status;
}

NodeRegistered registration_of(std::uint32_t node) {
  NodeRegistered event;
  event.node = NodeIndex(node);
  event.boot_id = "boot";
  event.boot_time = at(-100);
  event.agent_start_time = at(-50);
  event.version = "0.1";
  event.arch = "x86_64";
  event.os = "Linux 6";
  event.machine_id = "machine";
  event.clear_conditions = node_condition::kUnknown;
  return event;
}

/// The state by the rules of one version.
struct LogBy : Log {
  explicit LogBy(std::uint32_t rules) { add({EpochStarted{Epoch(2), "", rules}}); }
};

/// What stands and falls on a node, and in whose name.
NodeChanged changed_node(std::uint16_t set, std::uint16_t clear,
                         std::optional<std::string> reason = {}) {
  NodeChanged event;
  event.node = NodeIndex(0);
  event.set_conditions = set;
  event.clear_conditions = clear;
  event.reason = std::move(reason);
  event.user = UserId(9);
  return event;
}

TEST(EpochStarted, RisesAndNamesTheClusterOnce) {
  Log log;
  EXPECT_EQ(log.state().cluster_id(), "");
  log.add({EpochStarted{Epoch(5), "one", kEventRules}});
  EXPECT_EQ(log.state().epoch(), Epoch(5));
  EXPECT_EQ(log.state().cluster_id(), "one");
  EXPECT_EQ(log.state().rules(), kEventRules);
  log.add({EpochStarted{Epoch(6), "", kEventRules}});
  EXPECT_EQ(log.state().cluster_id(), "one");
  EXPECT_DEATH(log.add({EpochStarted{Epoch(6), "", kEventRules}}), "epoch 6 after 6");
  EXPECT_DEATH(log.add({EpochStarted{Epoch(7), "two", kEventRules}}),
               "cluster one would become two");
}

TEST(ConfigApplied, FirstJobIdIsForANewClusterAlone) {
  auto config = config_of(1);
  config->settings.first_job_id = 5000;
  ClusterState state;
  state.apply(Event{at(0), ConfigApplied{config}});
  EXPECT_TRUE(state.is_configured());
  EXPECT_EQ(state.next_job(), JobId(5000));
  config->settings.first_job_id = 1;
  state.apply(Event{at(1), ConfigApplied{config}});
  EXPECT_EQ(state.next_job(), JobId(5000)) << "numbers are never given twice";
}

TEST(ConfigApplied, KeepsConditionsAndGrantsOfNodesThatWereThere) {
  Log log(2);
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(1, 0, 2)});
  log.add({registration_of(1)});
  auto config = config_of(3);
  config->nodes[1].memory_mib = 4000;
  log.add({ConfigApplied{config}});
  const Node& node = log.state().nodes().at(NodeIndex(1));
  EXPECT_EQ(node.config.memory_mib, 4000U);
  EXPECT_EQ(node.used_cpus.count(), 2U);
  EXPECT_EQ(node.status.boot_id, "boot");
  EXPECT_EQ(log.state().nodes().find_by_name("n2"), NodeIndex(2));
  EXPECT_EQ(status_of(log, 2).conditions, node_condition::kUnknown) << "never registered";
  std::swap(config->nodes[0], config->nodes[1]);
  EXPECT_DEATH(log.add({ConfigApplied{config}}), "changed its place in the configuration");
}

TEST(NodeRegistered, HasWhatTheAgentSaid) {
  LogBy log(kEventRules);
  log.add({registration_of(0)});
  const NodeStatus& status = status_of(log, 0);
  EXPECT_EQ(status.conditions, 0);
  EXPECT_EQ(status.boot_time, at(-100));
  EXPECT_EQ(status.agent_start_time, at(-50));
  EXPECT_EQ(status.version, "0.1");
  EXPECT_EQ(status.arch, "x86_64");
  EXPECT_EQ(status.os, "Linux 6");
  EXPECT_EQ(status.machine_id, "machine");
  EXPECT_TRUE(log.state().nodes().at(NodeIndex(0)).can_accept_work());
}

TEST(NodeRegistered, AShortfallHasAReasonUntilItIsGone) {
  LogBy log(kEventRules);
  NodeRegistered event = registration_of(0);
  event.set_conditions = node_condition::kInvalid;
  event.reason = "Low RealMemory";
  event.shortfall = "Low RealMemory";
  log.add({event});
  EXPECT_EQ(status_of(log, 0).reason, "Low RealMemory");
  EXPECT_EQ(status_of(log, 0).reason_time, log.state().time());
  EXPECT_EQ(status_of(log, 0).shortfall, "Low RealMemory");
  EXPECT_FALSE(log.state().nodes().at(NodeIndex(0)).can_accept_work());
  event = registration_of(0);
  event.clear_conditions = node_condition::kInvalid;
  log.add({event});
  EXPECT_EQ(status_of(log, 0).reason, "");
  EXPECT_FALSE(status_of(log, 0).reason_time.is_set());
}

TEST(NodeRegistered, AnOrderOutlivesIt) {
  LogBy log(kEventRules);
  log.add({changed_node(node_condition::kDrainByOrder, 0, "bad fan")});
  EXPECT_NE(status_of(log, 0).conditions & node_condition::kDrain, 0) << "follows from its cause";
  log.add({registration_of(0)});
  EXPECT_EQ(status_of(log, 0).reason, "bad fan");
  EXPECT_EQ(status_of(log, 0).reason_user, UserId(9));
  log.add({changed_node(0, node_condition::kDrainByOrder, "")});
  EXPECT_EQ(status_of(log, 0).conditions & node_condition::kNoNewWork, 0);
  EXPECT_FALSE(status_of(log, 0).reason_time.is_set());
}

TEST(NodeChanged, EachFieldAlone) {
  LogBy log(kEventRules);
  const auto changed = [&](auto&& set) -> const Node& {
    NodeChanged change;
    change.node = NodeIndex(1);
    set(change);
    const std::uint64_t hash = log.state().nodes().hash();
    log.add({change});
    EXPECT_NE(log.state().nodes().hash(), hash) << "each shows in the hash";
    return log.state().nodes().at(NodeIndex(1));
  };
  EXPECT_EQ(changed([](NodeChanged& c) { c.weight = 7; }).config.weight, 7U);
  const std::vector<std::string> features = {"a100", "nvlink"};
  EXPECT_EQ(changed([&](NodeChanged& c) { c.features = features; }).config.features, features);
  EXPECT_EQ(changed([](NodeChanged& c) { c.comment = "rack 3"; }).status.comment, "rack 3");
  EXPECT_EQ(changed([](NodeChanged& c) { c.extra = "{}"; }).status.extra, "{}");
  EXPECT_EQ(changed([](NodeChanged& c) { c.fault = "Xid 79"; }).status.fault, "Xid 79");
  EXPECT_EQ(changed([](NodeChanged& c) { c.reason = "why"; }).status.reason, "why");
  EXPECT_EQ(log.state().nodes().at(NodeIndex(0)).config.weight, 1U) << "another node's";
  NodeChanged missing;
  missing.node = NodeIndex(2);
  EXPECT_DEATH(log.add({missing}), "no node 2");
}

TEST(NodeCauses, AreFoundWhereTheRuleBegins) {
  // By the rules before, the reason's text alone said who had a node down.
  LogBy log(2);
  log.add({changed_node(node_condition::kDrain, 0, "bad fan")});
  EXPECT_EQ(status_of(log, 0).conditions & node_condition::kDrainCauses, 0);
  log.add({EpochStarted{Epoch(3), "", 3}});
  EXPECT_EQ(status_of(log, 0).conditions & node_condition::kDrainCauses,
            node_condition::kDrainByOrder);
  ClusterState replayed;
  for (const EventBatchRef& batch : log.batches()) replayed.apply(*batch);
  EXPECT_EQ(replayed.hash(), log.state().hash());
}

TEST(NodeCauses, LiftingOneLeavesTheOther) {
  LogBy log(kEventRules);
  log.add({changed_node(node_condition::kDownByOrder | node_condition::kDownBySilence, 0, "gone")});
  log.add({changed_node(0, node_condition::kDownBySilence)});
  EXPECT_NE(status_of(log, 0).conditions & node_condition::kDown, 0);
  log.add({changed_node(0, node_condition::kDownByOrder)});
  EXPECT_EQ(status_of(log, 0).conditions & node_condition::kDown, 0);
}

TEST(PartitionChanged, ReplacesOneOrAddsTheNext) {
  Log log;
  PartitionConfig config = log.state().partition(PartitionIndex(0));
  config.max_nodes = 3;
  log.add({PartitionChanged{PartitionIndex(0), config}});
  EXPECT_EQ(log.state().partition(PartitionIndex(0)).max_nodes, 3U);
  config.name = "third";
  log.add({PartitionChanged{PartitionIndex(2), config}});
  EXPECT_EQ(log.state().find_partition("third"), PartitionIndex(2));
  EXPECT_EQ(log.state().find_partition("Third"), std::nullopt) << "names are exact";
  EXPECT_DEATH(log.add({PartitionChanged{PartitionIndex(4), config}}), "no partition 4");
  EXPECT_DEATH(log.state().partition(PartitionIndex(3)), "no partition 3");
}

TEST(ClockStepped, MovesWhatIsCountedFromAndNotWhatPeopleGave) {
  Log log;
  auto given = spec_of("given");
  given->begin_time = at(9000);
  const JobId waits = log.submit(given);
  const JobId runs = log.submit(spec_of());
  log.start(runs, {grant_of(0, 0, 1)});
  log.step(runs, 0, {grant_of(0, 0, 1)});
  log.add({StopRequested{runs, {StopCall::kPreempt, at(60)}}});
  JobSubmitted depends;
  depends.job = log.state().next_job();
  depends.spec = spec_of();
  depends.partitions = {PartitionIndex(0)};
  depends.dependencies.terms.push_back(
      {DependencyKind::kAfter, runs, {}, Duration::minutes(1), {}, at(100)});
  log.add({depends});
  const TimePoint submitted = log.job(runs).submit_time;
  const TimePoint end = log.job(runs).end_time;
  const Duration hour = Duration::hours(1);
  ClusterState moved;
  moved.copy_from(log.state());
  const TimePoint now = moved.time();
  moved.apply(Event{now, ClockStepped{hour}});
  const Job& job = *moved.jobs().find(runs);
  EXPECT_EQ(moved.time(), now + hour);
  EXPECT_EQ(job.submit_time, submitted + hour);
  EXPECT_EQ(job.end_time, end + hour);
  EXPECT_EQ(job.run->stop->deadline, at(60) + hour);
  EXPECT_EQ(job.run->find_step(0)->start_time, log.job(runs).run->find_step(0)->start_time + hour);
  EXPECT_FALSE(job.run->find_step(0)->end_time.is_set()) << "what was unset stays so";
  EXPECT_EQ(moved.jobs().find(waits)->eligible_time, at(9000)) << "--begin is the wall's time";
  EXPECT_EQ(moved.jobs().find(depends.job)->dependencies->terms.front().not_before, at(100) + hour);
  moved.apply(Event{moved.time(), ClockStepped{Duration() - hour}});
  EXPECT_EQ(moved.time(), now);
  EXPECT_EQ(moved.hash(), log.state().hash()) << "there and back";
}

TEST(RequestAnswered, IsFoundWithItsTime) {
  Log log;
  Reply refusal;
  refusal.error = Error{ErrorCode::kInvalidArgument, "no", ""};
  log.add({RequestAnswered{RequestId{1, 2}, UserId(5), {Reply{}, refusal}}});
  const auto answer = log.state().answers().find(RequestId{1, 2});
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->user, UserId(5));
  EXPECT_EQ(answer->time, log.state().time());
  ASSERT_EQ(answer->replies.size(), 2U);
  EXPECT_EQ(answer->replies[1].error->message, "no");
  EXPECT_FALSE(log.state().answers().find(RequestId{2, 1}).has_value());
}

}  // namespace
}  // namespace muster
