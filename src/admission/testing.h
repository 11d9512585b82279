// Callers and prepared requests, for tests. Not for production code.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "engine/command.h"
#include "state/testing.h"

namespace muster::testing {

inline constexpr Identity kRoot{UserId(0), GroupId(0), true};
inline constexpr Identity kAlice{UserId(1000), GroupId(100), false};
inline constexpr Identity kBob{UserId(1001), GroupId(100), false};

PreparedSubmit submit_of(std::shared_ptr<JobSpec> spec, const std::string& script = "#!/bin/sh\n");
JobSelector selector_of(JobId job);
JobSelector element_of(JobId job, Bitmap indices);
ControlJobs control_of(JobVerb verb, JobSelector job);
CancelJobs cancel_of(JobId job);

}  // namespace muster::testing
