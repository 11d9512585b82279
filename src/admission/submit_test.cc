#include <gtest/gtest.h>

#include <functional>

#include "admission/submit.h"
#include "admission/testing.h"
#include "slurm/request_text.h"
#include "state/resource_need.h"

namespace muster {
namespace {

using testing::config_of;
using testing::kAlice;
using testing::kRoot;
using testing::Log;
using testing::spec_of;
using testing::submit_of;

/// A log whose configuration the test has changed.
struct LogWith : Log {
  explicit LogWith(const std::function<void(ClusterConfig&)>& change) {
    auto config = config_of(2);
    change(*config);
    add({ConfigApplied{config}});
  }
};

Result<Reply> submitted(Draft& draft, const PreparedSubmit& submit, const Identity& who) {
  auto reply = admission::submit(draft, submit, who);
  EXPECT_TRUE(reply.has_value() || draft.events.empty()) << "a refused submission leaves events";
  EXPECT_TRUE(reply.has_value() || draft.blobs.empty()) << "a refused submission leaves blobs";
  return reply;
}
Result<Reply> submitted(const Log& log, const PreparedSubmit& submit,
                        const Identity& who = kAlice) {
  Draft draft(log.state());
  return submitted(draft, submit, who);
}

JobSubmitted event_of(const Log& log, std::shared_ptr<JobSpec> spec, const Identity& who = kAlice) {
  Draft draft(log.state());
  const auto reply = submitted(draft, submit_of(std::move(spec)), who);
  EXPECT_TRUE(reply.has_value()) << reply.error().text();
  return reply.has_value() ? get<JobSubmitted>(draft.events.back()) : JobSubmitted();
}

// ---- what is drafted ----

TEST(Submit, AllotsTheNextIdInTheDefaultPartition) {
  Log log;
  log.submit(spec_of());
  const JobSubmitted event = event_of(log, spec_of());
  EXPECT_EQ(event.job, JobId(2));
  EXPECT_EQ(event.partitions, std::vector{PartitionIndex(0)});
  EXPECT_EQ(event.priority, 1);
  EXPECT_EQ(event.flags, 0);
  EXPECT_EQ(event.spec->script, BlobId(1));
}

TEST(Submit, KeepsTheOrderOfSeveralPartitions) {
  auto spec = spec_of();
  spec->text.set(JobText::kPartition, "other,main");
  EXPECT_EQ(event_of(Log(), spec).partitions, (std::vector{PartitionIndex(1), PartitionIndex(0)}));
}

TEST(Submit, TheLimitIsTheUsersElseThePartitionsDefaultElseItsMaximum) {
  const LogWith log([](ClusterConfig& config) {
    config.partitions[0].max_time = Duration::minutes(90);
    config.partitions[1].default_time = Duration::minutes(5);
  });
  EXPECT_EQ(event_of(log, spec_of()).time_limit, Duration::minutes(90));
  auto other = spec_of();
  other->text.set(JobText::kPartition, "other");
  EXPECT_EQ(event_of(log, other).time_limit, Duration::minutes(5));
  other->time_limit = Duration::minutes(7);
  EXPECT_EQ(event_of(log, other).time_limit, Duration::minutes(7));
}

TEST(Submit, AHeldJobHasNoPriorityAndAReason) {
  auto spec = spec_of();
  spec->is_held = true;
  const JobSubmitted event = event_of(Log(), spec);
  EXPECT_EQ(event.priority, 0);
  EXPECT_EQ(event.flags, job_flag::kUserHeld);
  EXPECT_EQ(event.reason, PendingReason::kJobHeldUser);
}

TEST(Submit, NiceLowersAndOperatorsSetPriority) {
  auto nice = spec_of();
  nice->nice = 100;
  EXPECT_EQ(event_of(Log(), nice).priority, -99);
  auto set = spec_of();
  set->priority = 77;
  set->nice = -5;
  EXPECT_EQ(event_of(Log(), set, kRoot).priority, 77);
}

TEST(Submit, WhatTheUserLeftOpenBecomesAFactOfTheJob) {
  const LogWith log([](ClusterConfig& config) {
    config.settings.is_job_requeue = false;
    config.settings.default_memory_per_cpu_mib = 300;
    config.partitions[1].default_memory_per_node_mib = 500;
  });
  const JobSubmitted event = event_of(log, spec_of());
  EXPECT_FALSE(event.spec->is_requeue);
  EXPECT_EQ(event.spec->request->memory_scope, MemoryScope::kPerCpu);
  EXPECT_EQ(event.spec->request->memory_mib, 300U);
  auto given = spec_of();
  given->given |= given_option::kRequeue;
  given->text.set(JobText::kPartition, "other");
  EXPECT_TRUE(event_of(log, given).spec->is_requeue);
  EXPECT_EQ(event_of(log, given).spec->request->memory_scope, MemoryScope::kPerNode);
}

TEST(Submit, OfSeveralPartitionsTheFirstOnesRulesAreShownAndWhatWasAskedForIsKept) {
  const LogWith log([](ClusterConfig& config) {
    config.partitions[0].default_memory_per_cpu_mib = 50;
    config.partitions[1].default_memory_per_cpu_mib = 500;
  });
  auto open = spec_of();
  open->text.set(JobText::kPartition,
                 log.state().partitions()[0].name + "," + log.state().partitions()[1].name);
  const JobSpecRef spec = event_of(log, open).spec;
  EXPECT_EQ(spec->request->memory_mib, 50U);
  EXPECT_EQ(spec->asked.memory_scope, MemoryScope::kDefault);
  EXPECT_EQ(spec->asked.cpus_per_task, 1U) << "or nothing would be kept";
  const auto in_second =
      resource_need(*spec, log.state().partitions()[1], log.state().settings()).value();
  EXPECT_EQ(in_second.memory_mib, 500U);
}

TEST(Submit, EqualScriptsAreOneBlobAndKnownOnesNone) {
  Log log;
  Draft draft(log.state());
  ASSERT_TRUE(admission::submit(draft, submit_of(spec_of("a"), "same"), kAlice).has_value());
  ASSERT_TRUE(admission::submit(draft, submit_of(spec_of("b"), "same"), kAlice).has_value());
  ASSERT_TRUE(admission::submit(draft, submit_of(spec_of("c"), "else"), kAlice).has_value());
  EXPECT_EQ(draft.blobs.size(), 2U);
  std::vector<EventBody> events = draft.events;
  log.add(std::move(events), draft.blobs);
  Draft later(log.state());
  ASSERT_TRUE(admission::submit(later, submit_of(spec_of("d"), "same"), kAlice).has_value());
  EXPECT_TRUE(later.blobs.empty());
  EXPECT_EQ(get<JobSubmitted>(later.events[0]).spec->script, BlobId(1));
}

// ---- what is refused ----

struct Refused {
  const char* name;
  std::function<void(ClusterConfig&)> configure;
  std::function<void(PreparedSubmit&)> ask;
  ErrorCode code;
  const char* message;
  const char* detail;
};

void text(PreparedSubmit& submit, JobText key, const char* value) {
  submit.spec->text.set(key, value);
  ASSERT_TRUE(parse_request(*submit.spec).has_value());
}
void as_it_is(ClusterConfig&) {}

TEST(Submit, RefusesWithTheCauseAndLeavesNothing) {
  const Refused cases[] = {
      {"partition", as_it_is, [](auto& s) { text(s, JobText::kPartition, "main,nowhere"); },
       ErrorCode::kInvalidArgument, "Invalid partition name specified", "nowhere"},
      {"no default", [](auto& c) { c.partitions[0].is_default = false; }, [](auto&) {},
       ErrorCode::kInvalidArgument, "No partition specified or system default partition", "-p"},
      {"drained", [](auto& c) { c.partitions[0].state = PartitionState::kDrain; }, [](auto&) {},
       ErrorCode::kFailedPrecondition, "Required partition not available (inactive or drain)",
       "main is DRAIN"},
      {"inactive", [](auto& c) { c.partitions[0].state = PartitionState::kInactive; }, [](auto&) {},
       ErrorCode::kFailedPrecondition, "Required partition not available (inactive or drain)",
       "main is INACTIVE"},
      {"root only", [](auto& c) { c.partitions[0].is_root_only = true; }, [](auto&) {},
       ErrorCode::kPermissionDenied, "Access/permission denied", "root alone"},
      {"account", [](auto& c) { c.partitions[0].allow_accounts = {"lab"}; },
       [](auto& s) { text(s, JobText::kAccount, "else"); }, ErrorCode::kPermissionDenied,
       "Invalid account or account/partition combination specified", "'else'"},
      {"denied account", [](auto& c) { c.partitions[0].deny_accounts = {"lab"}; },
       [](auto& s) { text(s, JobText::kAccount, "lab"); }, ErrorCode::kPermissionDenied,
       "Invalid account or account/partition combination specified", "'lab'"},
      {"group", [](auto& c) { c.partitions[0].allow_groups = {"wheel"}; }, [](auto&) {},
       ErrorCode::kPermissionDenied, "User's group not permitted to use this partition", "wheel"},
      {"nice", as_it_is, [](auto& s) { s.spec->nice = -1; }, ErrorCode::kPermissionDenied,
       "Access/permission denied", "--nice"},
      {"priority", as_it_is, [](auto& s) { s.spec->priority = 5; }, ErrorCode::kPermissionDenied,
       "Access/permission denied", "--priority"},
      {"time",
       [](auto& c) {
         c.settings.is_enforce_part_limits = true, c.partitions[0].max_time = Duration::minutes(10);
       },
       [](auto& s) { s.spec->time_limit = Duration::minutes(11); }, ErrorCode::kInvalidArgument,
       "Requested time limit is invalid (missing or exceeds some limit)", "10 minutes"},
      {"nodes",
       [](auto& c) { c.settings.is_enforce_part_limits = true, c.partitions[0].max_nodes = 1; },
       [](auto& s) { s.spec->request.edit()->min_nodes = 2; }, ErrorCode::kInvalidArgument,
       "Node count specification invalid", "0 to 1"},
      {"node name", as_it_is, [](auto& s) { text(s, JobText::kNodeList, "n0,n9"); },
       ErrorCode::kInvalidArgument, "Invalid node name specified", "n9"},
      {"excluded", as_it_is, [](auto& s) { text(s, JobText::kExcludeList, "n[7-8]"); },
       ErrorCode::kInvalidArgument, "Invalid node name specified", "n7"},
      {"more nodes by name than it may have", as_it_is,
       [](auto& s) {
         text(s, JobText::kNodeList, "n[0-1]"), s.spec->request.edit()->max_nodes = 1;
       },
       ErrorCode::kInvalidArgument, "Node count specification invalid", "at most 1"},
      {"gres", as_it_is, [](auto& s) { text(s, JobText::kGresPerNode, "warp:1"); },
       ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
       "GresTypes has: gpu"},
      {"feature", as_it_is, [](auto& s) { text(s, JobText::kFeatures, "fast&rare"); },
       ErrorCode::kInvalidArgument, "Invalid feature specification", "'rare'"},
      {"preference", as_it_is, [](auto& s) { text(s, JobText::kPrefer, "rare"); },
       ErrorCode::kInvalidArgument, "Invalid preferred feature specification", "'rare'"},
      {"dependency", as_it_is,
       [](auto& s) {
         s.dependencies.terms.push_back(
             DependencyTerm{DependencyKind::kAfterOk, JobId(99), {}, {}, {}});
       },
       ErrorCode::kInvalidArgument, "Job dependency problem", "99"},
      {"full", [](auto& c) { c.settings.max_job_count = 0; }, [](auto&) {},
       ErrorCode::kResourceExhausted, "Resource temporarily unavailable", "MaxJobCount=0"},
  };
  for (const Refused& one : cases) {
    SCOPED_TRACE(one.name);
    const LogWith log(one.configure);
    PreparedSubmit submit = submit_of(spec_of());
    one.ask(submit);
    const auto reply = submitted(log, submit);
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, one.code);
    EXPECT_EQ(reply.error().message, one.message);
    EXPECT_NE(reply.error().detail.find(one.detail), std::string::npos) << reply.error().detail;
  }
}

TEST(Submit, OperatorsPassTheDoorsThatAreClosedToUsers) {
  const LogWith log([](ClusterConfig& config) {
    config.partitions[0].is_root_only = true;
    config.partitions[0].allow_groups = {"wheel"};
  });
  EXPECT_TRUE(submitted(log, submit_of(spec_of()), kRoot).has_value());
}

TEST(Submit, LimitsOfAPartitionOnlyMakeTheJobWaitUnlessTheyAreEnforced) {
  const LogWith log(
      [](ClusterConfig& config) { config.partitions[0].max_time = Duration::minutes(10); });
  auto spec = spec_of();
  spec->time_limit = Duration::minutes(11);
  EXPECT_TRUE(submitted(log, submit_of(spec)).has_value());
}

TEST(Submit, MemoryBeyondTheLimitsIsRefusedOrHadByMoreCpus) {
  const LogWith log([](ClusterConfig& config) {
    config.settings.max_memory_per_node_mib = 800;
    config.partitions[1].max_memory_per_node_mib = 500;
    config.partitions[0].max_memory_per_cpu_mib = 100;
  });
  auto spec = spec_of();
  spec->request.edit()->memory_scope = MemoryScope::kPerNode;
  spec->request.edit()->memory_mib = 600;
  EXPECT_EQ(event_of(log, spec).spec->request->min_cpus_per_node, 6U);
  auto elsewhere = std::make_shared<JobSpec>(*spec);
  elsewhere->text.set(JobText::kPartition, "other");
  EXPECT_EQ(submitted(log, submit_of(elsewhere)).error().message,
            "Memory required by task is not available");
  auto per_cpu = spec_of();
  per_cpu->request.edit()->memory_scope = MemoryScope::kPerCpu;
  per_cpu->request.edit()->memory_mib = 250;
  const JobSubmitted event = event_of(log, per_cpu);
  EXPECT_EQ(event.spec->request->cpus_per_task, 3U);
  EXPECT_EQ(event.spec->request->memory_mib, 84U);
}

TEST(Submit, MemoryForEachGpuNeedsAGpu) {
  Log log;
  auto spec = spec_of();
  spec->request.edit()->memory_scope = MemoryScope::kPerGpu;
  spec->request.edit()->memory_mib = 100;
  EXPECT_EQ(submitted(log, submit_of(spec)).error().message,
            "Invalid generic resource (gres) specification");
  auto with_gpu = std::make_shared<JobSpec>(*spec);
  with_gpu->text.set(JobText::kGresPerNode, "gpu:1");
  EXPECT_EQ(event_of(log, with_gpu).spec->request->memory_scope, MemoryScope::kPerGpu);
}

TEST(Submit, QosAndGroupsOpenPartitions) {
  const LogWith log([](ClusterConfig& config) {
    config.partitions[0].allow_qos = {"q1"};
    config.partitions[1].allow_groups = {"lab"};
  });
  auto spec = spec_of();
  EXPECT_EQ(submitted(log, submit_of(spec)).error().message, "Invalid qos specification");
  spec->text.set(JobText::kQos, "q1");
  EXPECT_TRUE(submitted(log, submit_of(spec)).has_value());
  auto grouped = spec_of();
  grouped->text.set(JobText::kPartition, "other");
  EXPECT_EQ(submitted(log, submit_of(grouped)).error().code, ErrorCode::kPermissionDenied);
  Identity member = kAlice;
  member.groups = {"staff", "lab"};
  EXPECT_TRUE(submitted(log, submit_of(grouped), member).has_value());
}

TEST(Submit, AJobThatCannotEndBeforeItsDeadlineIsRefused) {
  const Log log;
  auto spec = spec_of();
  spec->deadline = log.state().time() + Duration::minutes(5);
  spec->time_limit = Duration::minutes(10);
  EXPECT_EQ(submitted(log, submit_of(spec)).error().message,
            "Requested time limit is invalid (missing or exceeds some limit)");
  spec->time_min = Duration::minutes(2);
  EXPECT_TRUE(submitted(log, submit_of(spec)).has_value());
  auto unlimited = spec_of();
  unlimited->deadline = spec->deadline;
  EXPECT_EQ(event_of(log, unlimited).time_limit, Duration::minutes(5));
}

TEST(Submit, OfAJobThatLeftMemoryOnlyItsEndIsKnown) {
  Log log;
  const JobId first = log.submit(spec_of());
  log.start(first, {testing::grant_of(0, 0, 1)});
  log.end(first, JobState::kFailed, true);
  const auto after = [&](DependencyKind kind) {
    PreparedSubmit submit = submit_of(spec_of());
    submit.dependencies.terms.push_back(DependencyTerm{kind, first, {}, {}, {}});
    return submitted(log, submit);
  };
  EXPECT_TRUE(after(DependencyKind::kAfterOk).has_value());
  log.add({JobsEvicted{{first}}});
  EXPECT_EQ(after(DependencyKind::kAfterOk).error().message, "Job dependency problem");
  EXPECT_EQ(after(DependencyKind::kAfterNotOk).error().message, "Job dependency problem");
  EXPECT_TRUE(after(DependencyKind::kAfterAny).has_value());
}

}  // namespace
}  // namespace muster
