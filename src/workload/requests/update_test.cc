#include <fmt/format.h>
#include <gtest/gtest.h>

#include "admission/testing.h"
#include "slurm/request_text.h"
#include "slurm/update_keys.h"
#include "workload/requests/job_requests.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::kAlice;
using testing::kBob;
using testing::kRoot;
using testing::Log;
using testing::spec_of;

struct Updated {
  std::optional<Error> error;
  std::vector<EventBody> events;
};
Updated update(const Log& log, UpdateKind kind, const std::string& name,
               std::vector<std::pair<std::string, std::string>> values, const Identity& who) {
  Draft draft(log.state());
  const Reply reply = requests::update(draft, UpdateObject{kind, name, std::move(values)}, who);
  return {reply.error, draft.events};
}
/// Of one job, by its owner.
JobChanged change_of(const Log& log, JobId job, const std::string& key, const std::string& value,
                     const Identity& who = kAlice) {
  const Updated updated =
      update(log, UpdateKind::kJob, std::to_string(job.value()), {{key, value}}, who);
  EXPECT_FALSE(updated.error) << updated.error->text();
  EXPECT_EQ(updated.events.size(), 1U);
  return updated.events.empty() ? JobChanged() : get<JobChanged>(updated.events[0]);
}
Error refusal_of(const Log& log, JobId job, const std::string& key, const std::string& value,
                 const Identity& who = kAlice) {
  const Updated updated =
      update(log, UpdateKind::kJob, std::to_string(job.value()), {{key, value}}, who);
  EXPECT_TRUE(updated.error) << key << "=" << value << " is taken";
  return updated.error.value_or(Error());
}

// ---- keys ----

TEST(UpdateKeys, EachThatIsListedIsKnown) {
  Log log;
  const std::string job = std::to_string(log.submit(spec_of()).value());
  const std::string node = log.state().nodes().all().front().config.name;
  const std::pair<UpdateKind, std::string> objects[] = {
      {UpdateKind::kJob, job}, {UpdateKind::kNode, node}, {UpdateKind::kPartition, "main"}};
  for (const auto& [kind, name] : objects) {
    EXPECT_FALSE(update_keys(kind).empty());
    for (const std::string_view key : update_keys(kind)) {
      const Updated updated = update(log, kind, name, {{std::string(key), "1"}}, kRoot);
      EXPECT_TRUE(!updated.error || !updated.error->message.starts_with("Unsupported"))
          << key << ": " << updated.error->text();
    }
    EXPECT_TRUE(update(log, kind, name, {{"Nonsense", "1"}}, kRoot)
                    .error->message.starts_with("Unsupported"));
  }
}

// ---- jobs ----

TEST(UpdateJob, ChangesWhatIsNamed) {
  Log log;
  const JobId job = log.submit(spec_of());
  EXPECT_EQ(change_of(log, job, "TimeLimit", "1:00:00").time_limit, Duration::hours(1));
  EXPECT_EQ(change_of(log, job, "timelimit", "+5").time_limit, Duration::minutes(15));
  EXPECT_EQ(change_of(log, job, "timelimit", "-5").time_limit, Duration::minutes(5));
  EXPECT_EQ(change_of(log, job, "Nice", "10").priority, -9);
  EXPECT_EQ(change_of(log, job, "Priority", "7", kRoot).priority, 7);
  EXPECT_EQ(change_of(log, job, "Partition", "other").partitions, std::vector{PartitionIndex(1)});
  EXPECT_EQ(change_of(log, job, "NumNodes", "1-2").spec->request->max_nodes, 2U);
  EXPECT_EQ(change_of(log, job, "JobName", "new").spec->name(), "new");
  EXPECT_FALSE(change_of(log, job, "Requeue", "0").spec->is_requeue);
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  EXPECT_EQ(change_of(log, array, "ArrayTaskThrottle", "3").array_throttle, 3U);
  EXPECT_EQ(change_of(log, job, "Comment", "hello").spec->get(JobText::kComment), "hello");
}

TEST(UpdateJob, FromNoLimitNothingIsCounted) {
  Log log;
  const JobId job = log.submit(spec_of());
  JobChanged unlimited;
  unlimited.job = job;
  unlimited.time_limit = Duration::infinite();
  log.add({unlimited});
  for (const char* value : {"-10", "+10"}) {
    EXPECT_EQ(refusal_of(log, job, "TimeLimit", value).message,
              "Requested time limit is invalid (missing or exceeds some limit)");
  }
  EXPECT_EQ(change_of(log, job, "TimeLimit", "10").time_limit, Duration::minutes(10));
}

TEST(UpdateJob, TheMemoryRulesOfItsPartitionAreAppliedAnew) {
  Log log;
  const JobId job = log.submit_with_memory(200);
  log.set_max_memory_per_cpu(PartitionIndex(1), 100);
  const JobSpecRef moved = change_of(log, job, "Partition", "other").spec;
  EXPECT_EQ(moved->request->cpus_per_task, 2U);
  EXPECT_EQ(moved->asked.memory_mib, 200U);
  log.start(job, {testing::grant_of(0, 0, 1)});
  EXPECT_EQ(change_of(log, job, "JobName", "runs").spec->request->memory_mib, 200U);
}

TEST(UpdateJob, TheThrottleIsTheArraysWhicheverElementIsNamed) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 1});
  const JobId element = log.state().next_job();
  log.add({ArraySplit{array, 1, element}});
  log.start(element, {testing::grant_of(0, 0, 1)});
  for (const std::string& name :
       {fmt::format("{}", array.value()), fmt::format("{}_1", array.value()),
        fmt::format("{}_[2-3]", array.value()), fmt::format("{}", element.value())}) {
    const Updated updated =
        update(log, UpdateKind::kJob, name, {{"ArrayTaskThrottle", "3"}}, kAlice);
    ASSERT_FALSE(updated.error) << name << ": " << updated.error->text();
    ASSERT_EQ(updated.events.size(), 1U) << name << ": however many elements it names";
    for (const EventBody& event : updated.events) {
      EXPECT_EQ(get<JobChanged>(event).job, array) << name << ": no element splits off or changes";
      EXPECT_EQ(get<JobChanged>(event).array_throttle, 3U);
    }
  }
  EXPECT_TRUE(update(log, UpdateKind::kJob, fmt::format("{}_77", array.value()),
                     {{"ArrayTaskThrottle", "3"}}, kAlice)
                  .error)
      << "there is none";
  EXPECT_NE(refusal_of(log, log.submit(spec_of()), "ArrayTaskThrottle", "3")
                .text()
                .find("is not an array"),
            std::string::npos);
}

TEST(UpdateJob, AnEditedTextIsBoundedAsASubmittedOne) {
  Log log;
  const JobId job = log.submit(spec_of());
  EXPECT_NE(refusal_of(log, job, "Comment", std::string(std::size_t{40} << 20, 'x'))
                .text()
                .find("comment"),
            std::string::npos);
  EXPECT_NE(refusal_of(log, job, "JobName", "a\nb").text().find("control characters"),
            std::string::npos);
  EXPECT_NE(refusal_of(log, job, "MailUser", "-X!id").text().find("begins with a dash"),
            std::string::npos);
  EXPECT_EQ(
      change_of(log, job, "Comment", std::string(1024, 'x')).spec->get(JobText::kComment).size(),
      1024U);
}

TEST(UpdateJob, RefusesWithTheCause) {
  Log log;
  const JobId job = log.submit(spec_of());
  EXPECT_EQ(refusal_of(log, job, "Priority", "9").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refusal_of(log, job, "Nice", "-1").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refusal_of(log, job, "Partition", "nowhere").message,
            "Invalid partition name specified");
  EXPECT_EQ(refusal_of(log, job, "NumNodes", "2-1").message, "Node count specification invalid");
  EXPECT_EQ(refusal_of(log, job, "TimeLimit", "-10").message,
            "Requested time limit is invalid (missing or exceeds some limit)");
  EXPECT_EQ(refusal_of(log, job, "Requeue", "yes").code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refusal_of(log, job, "Wings", "2").detail.find("'Wings'"), std::string::npos);
  EXPECT_EQ(refusal_of(log, job, "Comment", "x", kBob).code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(refusal_of(log, JobId(99), "Comment", "x").message, "Invalid job id specified");
  EXPECT_EQ(update(log, UpdateKind::kJob, "twelve", {}, kAlice).error->message,
            "Invalid job id specified");
}

TEST(UpdateJob, AnUpdatedJobPassesWhatASubmissionPasses) {
  Log log;
  const JobId job = log.submit(spec_of());
  PartitionConfig closed = log.state().partition(PartitionIndex(1));
  closed.is_root_only = true;
  log.add({PartitionChanged{PartitionIndex(1), closed}});
  EXPECT_EQ(refusal_of(log, job, "Partition", "other").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(change_of(log, job, "Partition", "other", kRoot).partitions,
            std::vector{PartitionIndex(1)});
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"ReqNodeList", "node["},
                                                        {"ReqNodeList", "nosuch"},
                                                        {"ExcNodeList", "nosuch"},
                                                        {"Features", "[x"},
                                                        {"Features", "nosuch"},
                                                        {"NumNodes", "4294967297"},
                                                        {"ArrayTaskThrottle", "3"},
                                                        {"Priority", "9223372041149743103"}}) {
    EXPECT_FALSE(refusal_of(log, job, key, value).message.empty());
  }
  EXPECT_EQ(refusal_of(log, job, "AdminComment", "mine").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(change_of(log, job, "AdminComment", "ours", kRoot).spec->get(JobText::kAdminComment),
            "ours");
}

TEST(UpdateJob, TasksThatWereCountedByNodesFollowTheirNumber) {
  Log log;
  const auto tasks = [&](std::uint32_t nodes, std::uint32_t per_node, std::uint32_t count,
                         std::uint32_t given, const char* value) {
    auto spec = spec_of();
    spec->request.edit()->min_nodes = nodes;
    spec->request.edit()->max_nodes = nodes;
    spec->request.edit()->tasks_per_node = per_node;
    spec->request.edit()->task_count = count;
    spec->given = given;
    return change_of(log, log.submit(spec), "NumNodes", value).spec->request->task_count;
  };
  EXPECT_EQ(tasks(2, 0, 2, 0, "1"), 1U) << "-N2: a task on each";
  EXPECT_EQ(tasks(1, 2, 2, 0, "2"), 4U) << "-N1 --ntasks-per-node=2";
  EXPECT_EQ(tasks(2, 2, 4, 0, "1-2"), 2U);
  EXPECT_EQ(tasks(2, 0, 2, given_option::kTaskCount, "1"), 2U) << "-n2 is what it says";
  EXPECT_EQ(tasks(2, 0, 5, 0, "1"), 5U) << "counted by something else";
}

TEST(UpdateJob, MoreRequiredNodesThanItMayHaveAreRefusedWhicheverIsChanged) {
  Log log;
  auto spec = spec_of();
  spec->request.edit()->max_nodes = 1;
  const Error list = refusal_of(log, log.submit(spec), "ReqNodeList", "n[0-1]");
  EXPECT_EQ(list.message, "Node count specification invalid");
  EXPECT_NE(list.detail.find("2 nodes are required by name (n[0-1]), and at most 1"),
            std::string::npos)
      << list.detail;
  auto named = spec_of();
  named->text.set(JobText::kNodeList, "n[0-1]");
  ASSERT_TRUE(parse_request(*named).has_value());
  const JobId job = log.submit(named);
  EXPECT_EQ(refusal_of(log, job, "NumNodes", "1").message, "Node count specification invalid");
  EXPECT_EQ(change_of(log, job, "NumNodes", "2").spec->request->max_nodes, 2U);
}

// ---- priority ----

TEST(UpdateJobPriority, ZeroHoldsAsAHoldOfThatPersonDoes) {
  Log log;
  auto spec = spec_of();
  spec->priority = 7;
  spec->nice = 3;
  const JobId job = log.submit(spec);
  const JobChanged by_owner = change_of(log, job, "Priority", "0");
  EXPECT_EQ(by_owner.flags, job_flag::kUserHeld);
  EXPECT_EQ(by_owner.reason, PendingReason::kJobHeldUser);
  EXPECT_EQ(by_owner.priority, 0);
  EXPECT_EQ(by_owner.spec->priority, 0U) << "as it is submitted with --priority=0";
  EXPECT_EQ(by_owner.spec->nice, 3) << "what a release gives it back";
  const JobChanged by_operator = change_of(log, job, "Priority", "0", kRoot);
  EXPECT_EQ(by_operator.flags, job_flag::kAdminHeld);
  EXPECT_EQ(by_operator.reason, PendingReason::kJobHeldAdmin);
  EXPECT_EQ(refusal_of(log, job, "Priority", "0", kBob).code, ErrorCode::kPermissionDenied);
}

TEST(UpdateJobPriority, AnOwnerHoldsAlsoAJobWhosePriorityIsBelowZero) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.add({change_of(log, job, "Nice", "100")});
  EXPECT_EQ(change_of(log, job, "Priority", "0").flags, job_flag::kUserHeld);
}

TEST(UpdateJobPriority, AnOperatorsReleasesEitherHold) {
  for (const Identity& holder : {kAlice, kRoot}) {
    Log log;
    const JobId job = log.submit(spec_of());
    log.add({change_of(log, job, "Priority", "0", holder)});
    log.submit(spec_of());  // time passes
    EXPECT_EQ(refusal_of(log, job, "Priority", "1").code, ErrorCode::kPermissionDenied);
    const JobChanged released = change_of(log, job, "Priority", "5", kRoot);
    EXPECT_EQ(released.flags, 0);
    EXPECT_EQ(released.priority, 5);
    EXPECT_EQ(released.reason, PendingReason::kNone);
    EXPECT_EQ(released.eligible_time, log.state().time());
    log.add({released});
    EXPECT_FALSE(log.job(job).is_held());
  }
}

TEST(UpdateJobPriority, AnOwnersDoesNotReleaseAJobThatWasRequeuedIntoAHold) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  log.end(job, JobState::kFailed, true);
  log.add({JobRequeued{job, log.state().time(), job_flag::kRequeueHeld}});
  EXPECT_EQ(refusal_of(log, job, "Priority", "1").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(change_of(log, job, "Priority", "1", kRoot).flags, 0);
}

TEST(UpdateJobPriority, ClearsTheNiceValue) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.add({change_of(log, job, "Nice", "10")});
  const JobChanged change = change_of(log, job, "Priority", "8", kRoot);
  EXPECT_EQ(change.priority, 8);
  EXPECT_EQ(change.spec->nice, 0);
  EXPECT_FALSE(change.flags) << "it was not held";
}

TEST(UpdateJobPriority, OfARunningJobHoldsItShouldItComeBack) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  const JobChanged held = change_of(log, job, "Priority", "0");
  EXPECT_EQ(held.flags, job_flag::kUserHeld);
  EXPECT_FALSE(held.reason) << "it does not wait";
}

TEST(UpdateJobPriority, HoldsAndReleasesOneElementOfAnArray) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  const std::string element = fmt::format("{}_1", array.value());
  const Updated held = update(log, UpdateKind::kJob, element, {{"Priority", "0"}}, kAlice);
  ASSERT_EQ(held.events.size(), 2U);
  const JobId split = get<ArraySplit>(held.events[0]).element;
  log.add(held.events);
  EXPECT_TRUE(log.job(split).is_held());
  EXPECT_FALSE(log.job(array).is_held());
  const Updated whole =
      update(log, UpdateKind::kJob, std::to_string(array.value()), {{"Priority", "4"}}, kRoot);
  ASSERT_FALSE(whole.error) << whole.error->text();
  log.add(whole.events);
  EXPECT_FALSE(log.job(split).is_held());
}

// ---- texts ----

TEST(UpdateJob, AppendsWhereAFieldTakesThat) {
  Log log;
  const JobId job = log.submit(spec_of());
  const auto comment = [&](const char* key, const char* value) {
    const JobChanged change = change_of(log, job, key, value, kRoot);
    return std::string(change.spec->get(JobText::kAdminComment));
  };
  EXPECT_EQ(comment("AdminComment+", "a"), "a");
  log.add({change_of(log, job, "AdminComment", "one", kRoot)});
  EXPECT_EQ(comment("admincomment+", ",two"), "one,two");
  EXPECT_EQ(refusal_of(log, job, "AdminComment+", "mine").code, ErrorCode::kPermissionDenied);
  for (const char* key : {"AdminComment-", "Comment+", "Features+", "Nice+", "Dependency-"}) {
    EXPECT_NE(refusal_of(log, job, key, "x", kRoot).text().find(" takes no "), std::string::npos)
        << key;
  }
  EXPECT_NE(refusal_of(log, job, "Wings+", "x").detail.find("'Wings+'"), std::string::npos);
  EXPECT_TRUE(update(log, UpdateKind::kNode, "n0", {{"Comment+", "x"}}, kRoot).error);
}

TEST(UpdateJob, APartitionThatHasClosedMeanwhileDoesNotForbidAComment) {
  Log log;
  const JobId job = log.submit(spec_of());
  PartitionConfig closed = log.state().partition(PartitionIndex(0));
  closed.state = PartitionState::kDrain;
  log.add({PartitionChanged{PartitionIndex(0), closed}});
  EXPECT_EQ(change_of(log, job, "Comment", "hello").spec->get(JobText::kComment), "hello");
}

TEST(UpdateJob, HistoryDecidesADependencyOnAJobThatHasLeftMemory) {
  Log log;
  const JobId gone = log.submit(spec_of());
  log.end(gone, JobState::kFailed, true);
  log.add({JobsEvicted{{gone}}});
  const JobId job = log.submit(spec_of());
  const std::string text = "afterok:" + std::to_string(gone.value());
  EXPECT_NE(refusal_of(log, job, "Dependency", text).detail.find("MinJobAge"), std::string::npos);
  PreparedUpdate known(
      UpdateObject{UpdateKind::kJob, std::to_string(job.value()), {{"Dependency", text}}});
  known.past.push_back({DependencyKind::kAfterOk, gone, {}, {}, DependencyState::kFailed});
  Draft draft(log.state());
  const Reply reply = requests::update(draft, known, kAlice);
  ASSERT_FALSE(reply.error) << reply.error->text();
  EXPECT_EQ(get<JobChanged>(draft.events.at(0)).dependencies->terms.at(0).state,
            DependencyState::kFailed);
}

TEST(UpdateJob, OneBadValueLeavesTheOthersUndone) {
  Log log;
  const JobId job = log.submit(spec_of());
  const Updated updated = update(log, UpdateKind::kJob, std::to_string(job.value()),
                                 {{"Comment", "x"}, {"Wings", "2"}}, kAlice);
  EXPECT_TRUE(updated.error);
  EXPECT_TRUE(updated.events.empty());
}

TEST(UpdateJob, ARunningJobKeepsWhatItRunsWith) {
  Log log;
  const JobId job = log.submit(spec_of());
  log.start(job, {grant_of(0, 0, 1)});
  EXPECT_EQ(refusal_of(log, job, "Partition", "other").message,
            "Job is no longer pending execution");
  EXPECT_EQ(refusal_of(log, job, "Dependency", "").message, "Job is no longer pending execution");
  EXPECT_EQ(refusal_of(log, job, "TimeLimit", "1:00:00").code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(change_of(log, job, "TimeLimit", "1:00:00", kRoot).time_limit, Duration::hours(1));
  EXPECT_EQ(change_of(log, job, "TimeLimit", "5").time_limit, Duration::minutes(5));
  log.end(job, JobState::kCompleted, true);
  EXPECT_EQ(refusal_of(log, job, "Comment", "x").message,
            "Job/step already completing or completed");
}

TEST(UpdateJob, DependenciesMayNotGoRound) {
  Log log;
  const JobId a = log.submit(spec_of());
  const JobId b = log.submit(spec_of());
  const auto text = [](JobId job) { return "afterok:" + std::to_string(job.value()); };
  log.add({change_of(log, b, "Dependency", text(a))});
  EXPECT_NE(refusal_of(log, a, "Dependency", text(b)).detail.find("wait for itself"),
            std::string::npos);
  EXPECT_NE(refusal_of(log, a, "Dependency", text(a)).detail.find("wait for itself"),
            std::string::npos);
  EXPECT_NE(refusal_of(log, a, "Dependency", "afterok:99").detail.find("no job 99"),
            std::string::npos);
  EXPECT_FALSE(log.job(b).eligible_time.is_set());
  log.add({change_of(log, b, "Dependency", "")});
  EXPECT_TRUE(log.job(b).eligible_time.is_set());
  EXPECT_FALSE(change_of(log, a, "Dependency", text(b)).dependencies->terms.empty());
}

TEST(UpdateJob, AnotherWorkingDirectoryIsNotWhereItWasSubmitted) {
  Log log;
  const JobId job = log.submit(spec_of());
  const JobChanged change = change_of(log, job, "WorkDir", "/data");
  EXPECT_EQ(change.spec->get(JobText::kWorkDir), "/data");
  EXPECT_EQ(change.spec->get(JobText::kSubmitDir), "/tmp");
  EXPECT_EQ(refusal_of(log, job, "WorkDir", "data").message, "Invalid working directory");
}

TEST(UpdateJob, TheBeginMayBeMoved) {
  Log log;
  const JobId job = log.submit(spec_of());
  const auto later = log.state().time() + Duration::hours(1);
  const JobChanged change = change_of(log, job, "StartTime", std::to_string(later.seconds()));
  EXPECT_EQ(change.spec->begin_time.seconds(), later.seconds());
  EXPECT_EQ(change.eligible_time->seconds(), later.seconds());
  EXPECT_EQ(change_of(log, job, "StartTime", "1").eligible_time, log.state().time());
  EXPECT_EQ(refusal_of(log, job, "StartTime", "tomorrow").message, "Invalid time specified");
}

TEST(UpdateJob, ADependencyAndABeginTogether) {
  Log log;
  const JobId first = log.submit(spec_of());
  const JobId job = log.submit(spec_of());
  const auto later = log.state().time() + Duration::hours(1);
  const std::string begin = std::to_string(later.seconds());
  const std::string after = "afterok:" + std::to_string(first.value());
  using Values = std::vector<std::pair<std::string, std::string>>;
  const auto eligible = [&](Values values) {
    const Updated updated =
        update(log, UpdateKind::kJob, std::to_string(job.value()), std::move(values), kAlice);
    EXPECT_FALSE(updated.error);
    return get<JobChanged>(updated.events.at(0)).eligible_time;
  };
  EXPECT_EQ(eligible({{"Dependency", after}, {"StartTime", "1"}}), TimePoint::unset());
  EXPECT_EQ(eligible({{"StartTime", "1"}, {"Dependency", after}}), TimePoint::unset());
  log.add({change_of(log, job, "Dependency", after)});
  EXPECT_EQ(eligible({{"StartTime", begin}}), std::nullopt) << "its dependency decides";
  for (const Values& values : {Values{{"StartTime", begin}, {"Dependency", ""}},
                               Values{{"Dependency", ""}, {"StartTime", begin}}}) {
    EXPECT_EQ(eligible(values)->seconds(), later.seconds());
  }
}

TEST(UpdateJob, ElementsOfOneRecordMayWaitForEachOther) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 4), 0});
  const std::string name = std::to_string(array.value());
  const auto update_element = [&](int element, const std::string& value) {
    return update(log, UpdateKind::kJob, name + "_" + std::to_string(element),
                  {{"Dependency", value}}, kAlice);
  };
  EXPECT_TRUE(update_element(1, "afterok:" + name).error) << "the whole array has it too";
  EXPECT_TRUE(update_element(1, "afterok:" + name + "_1").error);
  const Updated done = update_element(1, "afterok:" + name + "_2");
  ASSERT_FALSE(done.error) << done.error->text();
  log.add(done.events);
  EXPECT_TRUE(update_element(2, "afterok:" + name + "_1").error);
}

TEST(UpdateJob, AnEarlierSingletonIsFoundThroughAnotherArraysElement) {
  Log log;
  const JobId array = log.submit(spec_of("s"), ArraySpec{Bitmap::range(0, 3), 0});
  log.add({change_of(log, array, "Dependency", "singleton")});
  const JobId first = log.state().next_job();
  log.add({ArraySplit{array, 0, first}});
  const JobId second = log.state().next_job();
  log.add({ArraySplit{array, 1, second}});
  const JobId single = log.submit(spec_of("s"));
  log.add({change_of(log, single, "Dependency", "singleton")});
  const std::string a = "afterok:" + std::to_string(single.value());
  const std::string b = "afterok:" + std::to_string(second.value());
  for (const std::string& value : {a, a + "," + b, b + "," + a}) {
    EXPECT_NE(refusal_of(log, first, "Dependency", value).detail.find("wait for itself"),
              std::string::npos)
        << value;
  }
}

TEST(UpdateJob, ASingletonWaitsForTheEarlierOnesOfItsNameToo) {
  Log log;
  const JobId a = log.submit(spec_of("one"));
  const JobId b = log.submit(spec_of("other"));
  log.add({change_of(log, b, "Dependency", "singleton")});
  const std::string after_b = "afterany:" + std::to_string(b.value());
  log.add({change_of(log, a, "Dependency", after_b)});
  EXPECT_NE(refusal_of(log, a, "JobName", "other").detail.find("wait for itself"),
            std::string::npos);
  EXPECT_NE(refusal_of(log, b, "JobName", "one").detail.find("wait for itself"), std::string::npos);
  log.add({change_of(log, a, "Dependency", "")});
  log.add({change_of(log, a, "JobName", "other")});
  EXPECT_NE(refusal_of(log, a, "Dependency", after_b).detail.find("wait for itself"),
            std::string::npos);
}

TEST(UpdateJob, OneElementOfAnArrayIsOneJob) {
  Log log;
  const JobId array = log.submit(spec_of(), ArraySpec{Bitmap::range(0, 3), 0});
  const Updated updated = update(log, UpdateKind::kJob, std::to_string(array.value()) + "_1",
                                 {{"Comment", "x"}}, kAlice);
  ASSERT_EQ(updated.events.size(), 2U);
  EXPECT_EQ(get<JobChanged>(updated.events[1]).job, get<ArraySplit>(updated.events[0]).element);
}

// ---- nodes ----

TEST(UpdateNode, IsForOperatorsAndWantsAReasonToDrain) {
  const Log log;
  EXPECT_EQ(update(log, UpdateKind::kNode, "n0", {{"State", "drain"}, {"Reason", "disk"}}, kAlice)
                .error->code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(update(log, UpdateKind::kNode, "n0", {{"State", "drain"}}, kRoot).error->message,
            "You must specify a reason when DOWNING or DRAINING a node. Request denied");
  const Updated both =
      update(log, UpdateKind::kNode, "n[0-1]", {{"State", "DRAIN"}, {"Reason", "disk"}}, kRoot);
  ASSERT_EQ(both.events.size(), 2U);
  const auto& second = get<NodeChanged>(both.events[1]);
  EXPECT_EQ(second.node, NodeIndex(1));
  EXPECT_EQ(second.set_conditions, node_condition::kDrainByOrder);
  EXPECT_EQ(second.reason, "disk");
  EXPECT_EQ(second.user, kRoot.user);
}

/// n0 under the present rules, in `conditions` with that reason.
void put_node(Log& log, int conditions, const std::string& reason, const std::string& fault = "") {
  if (log.state().rules() < kEventRules)
    log.add({EpochStarted{Epoch(log.state().epoch().value() + 1), "", kEventRules}});
  NodeChanged change;
  change.node = NodeIndex(0);
  change.set_conditions = static_cast<std::uint16_t>(conditions);
  change.reason = reason;
  change.fault = fault;
  log.add({change});
}

/// What the order makes of it.
NodeStatus after_order(Log& log, const std::string& state) {
  const Updated updated = update(log, UpdateKind::kNode, "n0", {{"State", state}}, kRoot);
  EXPECT_FALSE(updated.error.has_value()) << updated.error->text();
  log.add({get<NodeChanged>(updated.events.at(0))});
  return log.state().nodes().at(NodeIndex(0)).status;
}

constexpr int kOrdered = node_condition::kDownByOrder | node_condition::kDrainByOrder;
constexpr int kDownOrDrain = node_condition::kDown | node_condition::kDrain;

TEST(UpdateNode, ResumeClearsWhatAnOperatorSetAndTheReason) {
  Log log;
  put_node(log, kOrdered | node_condition::kFail, "new fan");
  const NodeStatus status = after_order(log, "resume");
  EXPECT_EQ(status.conditions & (kDownOrDrain | kOrdered | node_condition::kFail), 0);
  EXPECT_EQ(status.reason, "");
}

TEST(UpdateNode, AReasonOfBeforeIsNoneForAnotherOrder) {
  Log log;
  put_node(log, node_condition::kDownBySilence, "Not responding");
  for (const char* state : {"down", "drain", "fail"}) {
    const Updated updated = update(log, UpdateKind::kNode, "n0", {{"State", state}}, kRoot);
    ASSERT_TRUE(updated.error.has_value()) << state;
    EXPECT_EQ(updated.error->message,
              "You must specify a reason when DOWNING or DRAINING a node. Request denied");
  }
}

TEST(UpdateNode, UndrainLiftsTheDrainAlone) {
  Log log;
  put_node(log, kOrdered, "new fan");
  NodeStatus status = after_order(log, "undrain");
  EXPECT_EQ(status.conditions & kDownOrDrain, node_condition::kDown);
  EXPECT_EQ(status.reason, "new fan") << "it is down by the same order";
}

TEST(UpdateNode, WhatStandsBesideAnOrderIsShownWhenThatIsLifted) {
  for (const char* state : {"undrain", "resume"}) {
    Log log;
    put_node(log, node_condition::kDrainByFault, "Node fault: no room", "no room");
    put_node(log, node_condition::kDrainByOrder, "new fan", "no room");
    const NodeStatus status = after_order(log, state);
    EXPECT_EQ(status.conditions & kDownOrDrain, node_condition::kDrain) << state;
    EXPECT_EQ(status.reason, "Node fault: no room");
    EXPECT_EQ(status.reason_user, UserId());
  }
}

TEST(UpdateNode, WhatSlurmConfDoesNotNameIsNotResumed) {
  Log log;
  put_node(log, node_condition::kDownByAbsence, "not in slurm.conf any more");
  const Updated updated = update(log, UpdateKind::kNode, "n0", {{"State", "resume"}}, kRoot);
  ASSERT_TRUE(updated.error.has_value());
  EXPECT_EQ(updated.error->code, ErrorCode::kFailedPrecondition);
  EXPECT_NE(updated.error->detail.find("not in slurm.conf any more"), std::string::npos);
}

TEST(UpdateNode, RefusesWithTheCause) {
  const Log log;
  EXPECT_NE(
      update(log, UpdateKind::kNode, "n[0-5]", {{"Comment", "x"}}, kRoot).error->detail.find("n2"),
      std::string::npos);
  EXPECT_NE(update(log, UpdateKind::kNode, "n0", {{"State", "asleep"}}, kRoot)
                .error->detail.find("'asleep'"),
            std::string::npos);
  EXPECT_NE(update(log, UpdateKind::kNode, "n0", {{"Colour", "red"}}, kRoot)
                .error->detail.find("'Colour'"),
            std::string::npos);
  EXPECT_EQ(update(log, UpdateKind::kNode, "n0", {{"Weight", "heavy"}}, kRoot).error->message,
            "Invalid weight");
}

// ---- partitions ----

TEST(UpdatePartition, ChangesOneAndKeepsTheRest) {
  const Log log;
  const Updated updated =
      update(log, UpdateKind::kPartition, "other",
             {{"State", "down"}, {"MaxTime", "1:00"}, {"MaxNodes", "UNLIMITED"}, {"Hidden", "YES"}},
             kRoot);
  const auto& change = get<PartitionChanged>(updated.events.at(0));
  EXPECT_EQ(change.partition, PartitionIndex(1));
  EXPECT_EQ(change.config.state, PartitionState::kDown);
  EXPECT_EQ(change.config.max_time, Duration::minutes(1));
  EXPECT_EQ(change.config.max_nodes, 0U);
  EXPECT_TRUE(change.config.is_hidden);
  EXPECT_EQ(change.config.nodes, log.state().partition(PartitionIndex(1)).nodes);
}

TEST(UpdatePartition, ThereIsOneDefault) {
  Log log;
  const Updated updated = update(log, UpdateKind::kPartition, "other", {{"Default", "YES"}}, kRoot);
  ASSERT_EQ(updated.events.size(), 2U);
  EXPECT_FALSE(get<PartitionChanged>(updated.events[0]).config.is_default);
  EXPECT_TRUE(get<PartitionChanged>(updated.events[1]).config.is_default);
}

TEST(UpdatePartition, RefusesWithTheCause) {
  const Log log;
  EXPECT_EQ(update(log, UpdateKind::kPartition, "main", {{"State", "up"}}, kAlice).error->code,
            ErrorCode::kPermissionDenied);
  EXPECT_EQ(update(log, UpdateKind::kPartition, "none", {{"State", "up"}}, kRoot).error->message,
            "Invalid partition name specified");
  EXPECT_EQ(
      update(log, UpdateKind::kPartition, "main", {{"State", "sideways"}}, kRoot).error->message,
      "Invalid partition state");
  EXPECT_EQ(
      update(log, UpdateKind::kPartition, "main", {{"Hidden", "perhaps"}}, kRoot).error->message,
      "Invalid value");
  EXPECT_NE(update(log, UpdateKind::kPartition, "main", {{"Colour", "red"}}, kRoot)
                .error->detail.find("'Colour'"),
            std::string::npos);
}

TEST(UpdateStep, IsRefusedByName) {
  EXPECT_NE(update(Log(), UpdateKind::kStep, "1.0", {{"TimeLimit", "5"}}, kRoot)
                .error->detail.find("steps cannot be updated"),
            std::string::npos);
}

}  // namespace
}  // namespace muster
