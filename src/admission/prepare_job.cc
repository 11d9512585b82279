// What a client sends is copied where it may say it and overwritten where it may not: who the user
// is, ids of blobs and of a trial, an administrator's comment.
#include "admission/prepare_job.h"

#include <fmt/format.h>

#include "admission/job_numbers.h"
#include "admission/job_texts.h"
#include "slurm/array_text.h"
#include "slurm/dependency_text.h"
#include "slurm/request_text.h"
#include "text/launch_size.h"

namespace muster::admission {
namespace {

Status check_environment_of(const Bytes& environment) {
  return environment == nullptr ? Status() : check_environment(*environment);
}

Status check_script(const SubmitJob& submit, const ClusterSettings& settings) {
  if (submit.spec->kind != JobKind::kBatch) return {};
  if (submit.script == nullptr || submit.script->empty()) {
    return fail(ErrorCode::kInvalidArgument, "Job script not specified");
  }
  if (submit.script->size() > settings.max_script_size) {
    return fail(
        ErrorCode::kInvalidArgument, "Job script exceeds size limit",
        fmt::format("the script has {} bytes and the limit is {}: move data out of it, or raise "
                    "SchedulerParameters=max_script_size",
                    submit.script->size(), settings.max_script_size));
  }
  return {};
}

}  // namespace

Result<PreparedRequest> prepare_submit(SubmitJob submit, const Identity& identity,
                                       const CallerNames& names, const ClusterSettings& settings,
                                       LastBlob& environments) {
  if (submit.spec == nullptr)
    return fail(ErrorCode::kInvalidArgument, "a submission without a job");
  // Sizes first: nothing is parsed or copied before.
  TRY(check_script(submit, settings));
  TRY(check_environment_of(submit.environment));
  TRY(check_texts(*submit.spec));
  TRY(check_numbers(*submit.spec));
  if (submit.first_step != nullptr) {
    TRY(check_texts(*submit.first_step));
    TRY(check_numbers(*submit.first_step));
  }
  PreparedSubmit prepared;
  // A copy: the request's own specification is immutable.
  prepared.spec = std::make_shared<JobSpec>(*submit.spec);
  JobSpec& spec = *prepared.spec;
  if (spec.get(JobText::kWorkDir).empty() || spec.get(JobText::kWorkDir).front() != '/') {
    return fail(ErrorCode::kInvalidArgument, "Invalid working directory",
                fmt::format("'{}' is not an absolute path", spec.get(JobText::kWorkDir)));
  }
  if (!spec.get(JobText::kArray).empty()) {
    prepared.array = TRY(parse_array(spec.get(JobText::kArray), settings.max_array_size));
  }
  if (!spec.get(JobText::kDependency).empty()) {
    prepared.dependencies = TRY(parse_dependency(spec.get(JobText::kDependency)));
  }
  // From the connection, never from the request.
  spec.user = identity.user;
  spec.group = identity.group;
  spec.text.set(JobText::kUserName, names.user);
  spec.text.set(JobText::kGroupName, names.group);
  // These ids are allotted by the core.
  spec.script = spec.environment = BlobId();
  spec.trial = TrialId();
  spec.runs_before = 0;
  // Only an operator's update sets it.
  spec.text.set(JobText::kAdminComment, "");
  // Once, here: the planner reads the parsed request and no texts.
  TRY(parse_request(spec));
  prepared.script = prepared_blob(std::move(submit.script));
  prepared.environment = environments.prepared(std::move(submit.environment));
  if (submit.first_step != nullptr) {
    auto first_step = std::make_shared<StepSpec>(*submit.first_step);
    first_step->environment = BlobId();  // it has the job's
    prepared.first_step = std::move(first_step);
  }
  prepared.is_test_only = submit.is_test_only;
  return PreparedRequest(std::move(prepared));
}

Result<PreparedRequest> prepare_step(CreateStep create, LastBlob& environments) {
  if (create.spec == nullptr)
    return fail(ErrorCode::kInvalidArgument, "a step without a specification");
  TRY(check_texts(*create.spec));
  TRY(check_numbers(*create.spec));
  PreparedStep prepared;
  prepared.job = create.job;
  prepared.spec = std::make_shared<StepSpec>(*create.spec);
  // The core sets it from the blob below.
  prepared.spec->environment = BlobId();
  TRY(check_environment_of(create.environment));
  prepared.environment = environments.prepared(std::move(create.environment));
  return PreparedRequest(std::move(prepared));
}

}  // namespace muster::admission
