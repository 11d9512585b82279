// Parses the texts of a job that ask for resources, once, where a job comes in or is changed.
// Whoever plans, starts or shows a job uses the parsed request.
#pragma once

#include "base/result.h"
#include "model/job_spec.h"

namespace muster {

/// True when any text of the job asks for resources: without one, the lists of its request are
/// empty.
bool asks_by_text(const JobSpec& spec);

/// Sets the lists of `spec.request` to what the job's texts say; its numbers stay. It is called
/// after every change of such a text. Errors: kInvalidArgument with Slurm's text for a malformed
/// feature, gres or node list; the request is then as it was.
Status parse_request(JobSpec& spec);

}  // namespace muster
