#include "controller/prepare.h"

#include <fmt/format.h>

#include "controller/filter_lists.h"
#include "controller/frontend/job_numbers.h"
#include "controller/frontend/job_texts.h"
#include "controller/prepare_experiment.h"
#include "slurm/array_text.h"
#include "slurm/dependency_text.h"
#include "text/digest.h"
#include "text/launch_size.h"

namespace muster {
namespace {

PreparedBlob prepared_blob(Bytes bytes) {
  if (bytes == nullptr || bytes->empty()) return {};
  return PreparedBlob{sha256(*bytes), std::move(bytes)};
}

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

Result<PreparedRequest> prepare_submit(SubmitJob submit, const Identity& identity,
                                       const CallerNames& names, const ClusterSettings& settings,
                                       LastBlob& environments) {
  if (submit.spec == nullptr)
    return fail(ErrorCode::kInvalidArgument, "a submission without a job");
  TRY(check_script(submit, settings));
  TRY(check_environment_of(submit.environment));
  TRY(frontend::check_texts(*submit.spec));
  TRY(frontend::check_numbers(*submit.spec));
  if (submit.first_step != nullptr) {
    TRY(frontend::check_texts(*submit.first_step));
    TRY(frontend::check_numbers(*submit.first_step));
  }
  PreparedSubmit prepared;
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
  spec.user = identity.user;
  spec.group = identity.group;
  spec.text.set(JobText::kUserName, names.user);
  spec.text.set(JobText::kGroupName, names.group);
  spec.script = spec.environment = BlobId();
  spec.trial = TrialId();
  spec.runs_before = 0;
  spec.text.set(JobText::kAdminComment, "");
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
  TRY(frontend::check_texts(*create.spec));
  TRY(frontend::check_numbers(*create.spec));
  PreparedStep prepared;
  prepared.job = create.job;
  prepared.spec = std::make_shared<StepSpec>(*create.spec);
  prepared.spec->environment = BlobId();
  TRY(check_environment_of(create.environment));
  prepared.environment = environments.prepared(std::move(create.environment));
  return PreparedRequest(std::move(prepared));
}

}  // namespace

PreparedBlob LastBlob::prepared(Bytes bytes) {
  const bool is_known = bytes != nullptr && last_.bytes != nullptr && *bytes == *last_.bytes;
  if (is_known) return last_;
  PreparedBlob fresh = prepared_blob(std::move(bytes));
  if (fresh.bytes != nullptr) last_ = fresh;
  return fresh;
}

Result<PreparedRequest> prepare(Request request, const Identity& identity, const CallerNames& names,
                                const ClusterSettings& settings, LastBlob& environments) {
  if (auto* submit = get_if<SubmitJob>(&request)) {
    return prepare_submit(std::move(*submit), identity, names, settings, environments);
  }
  if (auto* create = get_if<CreateStep>(&request))
    return prepare_step(std::move(*create), environments);
  if (auto* experiment = get_if<CreateExperiment>(&request)) {
    return PreparedRequest(
        TRY(prepare_experiment(std::move(*experiment), identity, names, environments)));
  }
  if (auto* cancel = get_if<CancelJobs>(&request)) TRY(sort_lists(cancel->filter));
  if (const auto* import = get_if<ImportExperiment>(&request))
    TRY(check_import(import->experiment));
  if (const auto* operate = get_if<OperateSearch>(&request)) TRY(check_operations(operate->input));
  if (auto* store = get_if<StoreDocument>(&request); store != nullptr && !store->is_import)
    store->document.user_name = names.user;
  return visit(
      [](auto& other) -> Result<PreparedRequest> {
        using Kind = std::decay_t<decltype(other)>;
        if constexpr (std::is_same_v<Kind, SubmitJob> || std::is_same_v<Kind, CreateStep> ||
                      std::is_same_v<Kind, CreateExperiment> ||
                      std::is_same_v<Kind, ContinueExperiment>) {
          return fail(ErrorCode::kInternal, "prepared elsewhere");
        } else if constexpr (std::is_same_v<Kind, UpdateObject>) {
          return PreparedRequest(PreparedUpdate(std::move(other)));
        } else {
          return PreparedRequest(std::move(other));
        }
      },
      request);
}

}  // namespace muster
