// Jobs under an experiment's owner's name, for what only its owner may do: reading and deleting
// its files.

#include "api/determined/owner_job.h"

#include "api/determined/plain_job.h"
#include "api/http/replies.h"

namespace muster::api {

Caller acting_for_owner(Caller caller, const ExperimentSpec& spec) {
  // Not as an operator, whoever asked: the job may do what its owner may.
  caller.identity = Identity{spec.user, spec.job->group, false, {}};
  return caller;
}

kj::Promise<Result<JobId>> submit_for_owner(ApiPort& port, const Caller& owner, OwnerJob job) {
  // The environment with which the experiment ran, as its files lie where that says.
  const BlobId environment = job.spec->job->environment;
  auto stored = environment.value() == 0
                    ? kj::Promise<Result<std::string>>(Result<std::string>(std::string()))
                    : port.blob(environment);
  return stored.then([&port, owner, job = std::move(job)](
                         Result<std::string> block) -> kj::Promise<Result<JobId>> {
    if (!block.has_value()) return Result<JobId>(fail(block.error()));
    auto spec = service_job(*job.spec->job, job.kind);
    for (const JobText key : {JobText::kStdOut, JobText::kStdErr}) spec->text.set(key, job.output);
    SubmitJob submit;
    submit.spec = std::move(spec);
    submit.script = std::make_shared<const std::string>(service_script());
    submit.environment =
        std::make_shared<const std::string>(with_service(std::move(block).value(), job.wish));
    std::vector<Request> requests;
    requests.emplace_back(std::move(submit));
    return port.submit(owner, std::move(requests))
        .then([](std::vector<Reply> replies) -> Result<JobId> {
          if (const auto error = error_of(replies)) return fail(*error);
          return replies.front().job;
        });
  });
}

}  // namespace muster::api
