// Requests that a controller accepts, and ones that are nearly right.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/rng.h"
#include "model/request.h"

namespace muster::fuzz {

/// The configuration of an experiment whose search makes four trials.
extern const char* const kSearchConfig;

std::shared_ptr<JobSpec> job_spec(JobKind kind, const std::string& name);
/// Returns a submission, with a script if the job is a batch job.
SubmitJob submit_of(std::shared_ptr<JobSpec> spec);
CreateExperiment experiment_of(std::string config);

/// A request that is right, of a kind that the wire knows; or one with a few words and numbers of
/// it changed.
Request likely_request(Rng& rng);
/// What of a request arrives at the controller, when a client has sent it: only what the wire has a
/// field for. Nullopt: it has none for it.
std::optional<Request> through_the_wire(const Request& request);

}  // namespace muster::fuzz
