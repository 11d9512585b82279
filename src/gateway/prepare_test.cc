#include "gateway/prepare.h"

#include <gtest/gtest.h>

#include "admission/testing.h"
#include "text/digest.h"

namespace muster {
namespace {

using testing::kAlice;
using testing::spec_of;

const CallerNames kSubmitterNames{"alice", "staff"};

SubmitJob job_of(std::shared_ptr<JobSpec> spec = spec_of()) {
  SubmitJob submit;
  submit.spec = std::move(spec);
  submit.script = std::make_shared<const std::string>("#!/bin/sh\n");
  return submit;
}
Result<PreparedRequest> prepared_by(Request request, const Identity& identity,
                                    const CallerNames& names, const ClusterSettings& settings) {
  LastBlob environments;
  return prepare(std::move(request), identity, names, settings, environments);
}
Error refusal_of(SubmitJob submit, const ClusterSettings& settings = {}) {
  const auto prepared = prepared_by(std::move(submit), kAlice, kSubmitterNames, settings);
  EXPECT_FALSE(prepared.has_value());
  return prepared.has_value() ? Error() : prepared.error();
}

TEST(Prepare, TheIdentityIsTheTransportsWhateverTheClientClaims) {
  auto spec = spec_of();
  spec->user = UserId(0);
  spec->group = GroupId(0);
  spec->script = spec->environment = BlobId(55);
  spec->text.set(JobText::kUserName, "root");
  const auto prepared = prepared_by(job_of(spec), kAlice, kSubmitterNames, {});
  const auto& submit = get<PreparedSubmit>(*prepared);
  EXPECT_EQ(submit.spec->user, kAlice.user);
  EXPECT_EQ(submit.spec->group, kAlice.group);
  EXPECT_EQ(submit.spec->get(JobText::kUserName), "alice");
  EXPECT_EQ(submit.spec->get(JobText::kGroupName), "staff");
  EXPECT_EQ(submit.spec->script, BlobId());
  EXPECT_EQ(submit.spec->environment, BlobId());
  EXPECT_EQ(submit.script.digest, sha256("#!/bin/sh\n"));
  EXPECT_EQ(submit.environment.bytes, nullptr);
  EXPECT_EQ(spec->user, UserId(0));  // the client's own is left alone
}

TEST(Prepare, WhatOnlyTheControllerSetsIsNobodysToSend) {
  auto spec = spec_of();
  spec->kind = JobKind::kRun;
  spec->trial = TrialId(1);
  spec->runs_before = 7;
  spec->text.set(JobText::kAdminComment, "trusted");
  SubmitJob submit = job_of(spec);
  auto first = std::make_shared<StepSpec>();
  first->environment = BlobId(2);
  submit.first_step = first;
  const auto prepared = prepared_by(std::move(submit), kAlice, kSubmitterNames, {});
  const auto& job = get<PreparedSubmit>(*prepared);
  EXPECT_EQ(job.spec->trial, TrialId());
  EXPECT_EQ(job.spec->runs_before, 0U);
  EXPECT_EQ(job.spec->get(JobText::kAdminComment), "");
  ASSERT_NE(job.first_step, nullptr);
  EXPECT_EQ(job.first_step->environment, BlobId());
}

TEST(Prepare, NumbersHaveTheirBoundsAtEveryDoor) {
  auto job = spec_of();
  job->request.edit()->memory_mib = UINT64_MAX;
  auto step = std::make_shared<StepSpec>();
  step->task_count = UINT32_MAX;
  SubmitJob with_step = job_of();
  with_step.first_step = step;
  CreateExperiment experiment;
  experiment.config = "{name: e, entrypoint: t, searcher: {name: single, metric: loss}}";
  experiment.job = job;
  for (const Request& request :
       {Request(job_of(job)), Request(with_step), Request(CreateStep{JobId(1), step, nullptr}),
        Request(experiment)}) {
    const auto prepared = prepared_by(request, kAlice, kSubmitterNames, {});
    ASSERT_FALSE(prepared.has_value()) << request.index();
    EXPECT_NE(prepared.error().text().find("is too large"), std::string::npos)
        << prepared.error().text();
  }
}

TEST(Prepare, EqualEnvironmentsInARowAreOneBlob) {
  LastBlob environments;
  const auto bytes = [](const char* text) { return std::make_shared<const std::string>(text); };
  const PreparedBlob first = environments.prepared(bytes("A=1"));
  EXPECT_EQ(environments.prepared(bytes("A=1")).bytes, first.bytes);
  EXPECT_EQ(environments.prepared(nullptr).bytes, nullptr);
  const PreparedBlob again = environments.prepared(bytes("A=1"));
  EXPECT_EQ(again.bytes, first.bytes);
  EXPECT_EQ(again.digest, sha256("A=1"));
  const PreparedBlob other = environments.prepared(bytes("A=2"));
  EXPECT_EQ(other.digest, sha256("A=2"));
  EXPECT_NE(other.bytes, first.bytes);
}

TEST(Prepare, ParsesArrayAndDependency) {
  auto spec = spec_of();
  spec->text.set(JobText::kArray, "0-6:2%2");
  spec->text.set(JobText::kDependency, "afterok:12");
  const auto prepared = prepared_by(job_of(spec), kAlice, kSubmitterNames, {});
  const auto& submit = get<PreparedSubmit>(*prepared);
  EXPECT_EQ(submit.array->indices.count(), 4U);
  EXPECT_EQ(submit.array->throttle, 2U);
  EXPECT_EQ(submit.dependencies.terms.at(0).job, JobId(12));
}

TEST(Prepare, RefusesWhatNeedsNoStateToBeRefused) {
  SubmitJob without = job_of();
  without.script = nullptr;
  EXPECT_EQ(refusal_of(without).message, "Job script not specified");
  ClusterSettings small;
  small.max_script_size = 9;
  EXPECT_EQ(refusal_of(job_of(), small).message, "Job script exceeds size limit");
  small.max_script_size = 10;
  EXPECT_TRUE(prepared_by(job_of(), kAlice, kSubmitterNames, small).has_value());
  auto relative = spec_of();
  relative->text.set(JobText::kWorkDir, "here");
  EXPECT_EQ(refusal_of(job_of(relative)).message, "Invalid working directory");
  auto array = spec_of();
  array->text.set(JobText::kArray, "5-1");
  EXPECT_EQ(refusal_of(job_of(array)).code, ErrorCode::kInvalidArgument);
  auto dependency = spec_of();
  dependency->text.set(JobText::kDependency, "afterwards:1");
  EXPECT_EQ(refusal_of(job_of(dependency)).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal_of(SubmitJob()).code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(prepared_by(CreateStep{}, kAlice, kSubmitterNames, {}).has_value());
}

TEST(Prepare, TextsOfStepsAreBoundedAsThoseOfJobs) {
  const auto step_with = [](StepText key, std::string text) {
    auto step = std::make_shared<StepSpec>();
    step->text.set(key, text);
    return step;
  };
  const auto refusal = [&](StepText key, std::string text) {
    const auto prepared =
        prepared_by(CreateStep{JobId(1), step_with(key, std::move(text)), nullptr}, kAlice,
                    kSubmitterNames, {});
    return prepared.has_value() ? "" : prepared.error().text();
  };
  EXPECT_EQ(refusal(StepText::kName, std::string(1024, 'x')), "");
  EXPECT_NE(refusal(StepText::kName, std::string(1025, 'x')).find("step name"), std::string::npos);
  EXPECT_NE(refusal(StepText::kCommand, std::string(200'000, 'x')).find("command"),
            std::string::npos);
  EXPECT_NE(refusal(StepText::kName, "a\nb").find("control characters"), std::string::npos);
  EXPECT_EQ(refusal(StepText::kCommand, std::string("sh\0-c\0a\nb", 9)), "");
  EXPECT_EQ(refusal(StepText::kIoAddress, "unix:/tmp/io"), "");
  EXPECT_NE(refusal(StepText::kIoAddress, "db.example:80").find("unix:/PATH"), std::string::npos);
  auto spec = spec_of();
  spec->kind = JobKind::kRun;
  SubmitJob submit = job_of(spec);
  submit.first_step = step_with(StepText::kName, std::string(1025, 'x'));
  EXPECT_EQ(refusal_of(std::move(submit)).code, ErrorCode::kInvalidArgument);
}

TEST(Prepare, NamesAreOneLineAndAMailUserIsNoOption) {
  const auto refusal = [](JobText key, std::string_view text) {
    auto spec = spec_of();
    spec->text.set(key, text);
    const auto prepared = prepared_by(job_of(spec), kAlice, kSubmitterNames, {});
    return prepared.has_value() ? "" : prepared.error().text();
  };
  EXPECT_NE(refusal(JobText::kName, "x\x1b]0;title\a").find("job name: it has control characters"),
            std::string::npos);
  EXPECT_NE(refusal(JobText::kComment, "a\nb").find("comment"), std::string::npos);
  EXPECT_EQ(refusal(JobText::kComment, "a\tb"), "");
  EXPECT_EQ(refusal(JobText::kSubmitLine, "sbatch --wrap a\nb"), "");
  EXPECT_NE(refusal(JobText::kMailUser, "-A/etc/shadow").find("begins with a dash"),
            std::string::npos);
  EXPECT_EQ(refusal(JobText::kMailUser, "alice@example.org"), "");
}

TEST(Prepare, AnInteractiveJobNeedsNoScript) {
  auto spec = spec_of();
  spec->kind = JobKind::kInteractive;
  SubmitJob submit = job_of(spec);
  submit.script = nullptr;
  EXPECT_TRUE(prepared_by(submit, kAlice, kSubmitterNames, {}).has_value());
}

}  // namespace
}  // namespace muster
