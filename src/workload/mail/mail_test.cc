#include "workload/mail/mail.h"

#include <gtest/gtest.h>

#include "state/testing.h"

namespace muster {
namespace {

using testing::at;
using testing::grant_of;
using testing::Log;

std::shared_ptr<JobSpec> spec_with(const std::string& types, const std::string& user = "") {
  auto spec = testing::spec_of("train");
  spec->text.set(JobText::kUserName, "ada");
  spec->text.set(JobText::kMailType, types);
  spec->text.set(JobText::kMailUser, user);
  return spec;
}

/// The subjects that the newest batch calls for. Each batch here ends with the event that matters.
std::vector<std::string> subjects(const Log& log) {
  std::vector<std::string> texts;
  for (const Mail& mail : mails_about(log.batches().back()->events.back(), log.state()))
    texts.push_back(mail.subject);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Mail, TellsOfStartAndEndToThoseWhoAsked) {
  Log log;
  const JobId job = log.submit(spec_with("BEGIN,END", "ada@example.org"));
  EXPECT_EQ(subjects(log), Texts{});
  log.start(job, {grant_of(0, 0, 1)});
  EXPECT_EQ(subjects(log), Texts{"Slurm Job_id=1 Name=train Began, Queued time 00:00:01"});
  log.end(job, JobState::kCompleted, true);
  const std::vector<Mail> mails = mails_about(log.batches().back()->events.back(), log.state());
  ASSERT_EQ(mails.size(), 1U);
  EXPECT_EQ(mails[0].subject,
            "Slurm Job_id=1 Name=train Ended, Run time 00:00:01, COMPLETED, ExitCode 0");
  EXPECT_EQ(mails[0].to, "ada@example.org");
}

TEST(Mail, KeepsQuietWhereNobodyAsked) {
  Log log;
  for (const std::string types : {"", "NONE", "FAIL,REQUEUE,TIME_LIMIT"}) {
    const JobId job = log.submit(spec_with(types));
    log.start(job, {grant_of(0, 0, 1)});
    EXPECT_EQ(subjects(log), Texts{}) << types;
    log.end(job, JobState::kCompleted, true);
    EXPECT_EQ(subjects(log), Texts{}) << types;
  }
}

TEST(Mail, FailureGoesToTheUserNameWithoutAnAddress) {
  Log log;
  const JobId job = log.submit(spec_with("ALL"));
  log.start(job, {grant_of(0, 0, 1)});
  log.end(job, JobState::kFailed, true);
  const std::vector<Mail> mails = mails_about(log.batches().back()->events.back(), log.state());
  ASSERT_EQ(mails.size(), 1U);
  EXPECT_EQ(mails[0].subject,
            "Slurm Job_id=1 Name=train Failed, Run time 00:00:01, FAILED, ExitCode 0");
  EXPECT_EQ(mails[0].to, "ada");
}

TEST(Mail, RequeueIsToldInsteadOfTheEnd) {
  Log log;
  const JobId job = log.submit(spec_with("ALL"));
  log.start(job, {grant_of(0, 0, 1)});
  log.end(job, JobState::kNodeFail, true, true);
  EXPECT_EQ(subjects(log), Texts{});
  log.add({JobRequeued{job, at(10), 0}});
  EXPECT_EQ(subjects(log), Texts{"Slurm Job_id=1 Name=train Requeued"});
}

TEST(Mail, ATimeLimitHasItsOwnWord) {
  Log log;
  const JobId job = log.submit(spec_with("TIME_LIMIT,TIME_LIMIT_90,TIME_LIMIT_50"));
  EXPECT_EQ(mailed_time_shares(*log.job(job).spec), (std::vector<int>{50, 90}));
  log.start(job, {grant_of(0, 0, 1)});
  const TimePoint start = log.job(job).start_time;
  EXPECT_EQ(mail_about_time(log.job(job), 50, start + Duration::minutes(5)).subject,
            "Slurm Job_id=1 Name=train Reached 50% of time limit, Run time 00:05:00");
  log.end(job, JobState::kTimeout, true);
  EXPECT_EQ(subjects(log),
            Texts{"Slurm Job_id=1 Name=train Reached time limit, Run time 00:00:01"});
}

TEST(Mail, AnArrayIsToldOfOnce) {
  Log log;
  const JobId array = log.submit(spec_with("ALL"), ArraySpec{Bitmap::range(0, 2), 0});
  log.add({ArraySplit{array, 0, log.state().next_job()}});
  const JobId first = JobId(array.value() + 1);
  log.start(first, {grant_of(0, 0, 1)});
  EXPECT_EQ(subjects(log), Texts{"Slurm Array Summary Job_id=1_* (1) Name=train Began"});
  log.start(array, {grant_of(0, 1, 1)});
  EXPECT_EQ(subjects(log), Texts{});
  log.end(array, JobState::kCompleted, true);
  EXPECT_EQ(subjects(log), Texts{});
  log.end(first, JobState::kFailed, true);
  EXPECT_EQ(subjects(log),
            Texts{"Slurm Array Summary Job_id=1_* (1) Name=train Failed, Mixed, ExitCode [0-0]"});
}

TEST(Mail, ArrayTasksAsksForEach) {
  Log log;
  const JobId array = log.submit(spec_with("BEGIN,ARRAY_TASKS"), ArraySpec{Bitmap::range(0, 2), 0});
  log.add({ArraySplit{array, 0, log.state().next_job()}});
  log.start(JobId(array.value() + 1), {grant_of(0, 0, 1)});
  EXPECT_EQ(subjects(log),
            Texts{"Slurm Array Task Job_id=1_0 (2) Name=train Began, Queued time 00:00:02"});
  log.start(array, {grant_of(0, 1, 1)});
  EXPECT_EQ(subjects(log),
            Texts{"Slurm Array Task Job_id=1_1 (1) Name=train Began, Queued time 00:00:03"});
}

}  // namespace
}  // namespace muster
