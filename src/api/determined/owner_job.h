// Submits jobs that do for a checkpoint's owner what the controller itself must not: touch files of
// users, hold keys to storage.
#pragma once

#include "api/http/api_port.h"
#include "trials/service_script.h"

namespace muster::api {

/// Returns the caller, acting for the owner of an experiment. Requires: he may; whoever asks has
/// been checked.
Caller acting_for_owner(Caller caller, const ExperimentSpec& spec);

/// What such a job does. `output`: where its output is written.
struct OwnerJob {
  ServiceKind kind = ServiceKind::kCheckpoint;
  ExperimentSpecRef spec;  ///< whose environment, folder and limits it has
  Json wish;
  std::string output = "/dev/null";
};
/// Submits the job. `owner`: as above. Errors: as a submission's.
kj::Promise<Result<JobId>> submit_for_owner(ApiPort& port, const Caller& owner, OwnerJob job);

}  // namespace muster::api
