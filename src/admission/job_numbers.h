// Bounds the numbers of jobs and steps. Clients of our own send none beyond; whoever writes the
// protocol by hand could otherwise have sums wrap around, and be given what is not there.
#pragma once

#include "base/result.h"
#include "model/job_spec.h"
#include "model/resource_request.h"
#include "model/step.h"

namespace muster::admission {

/// The most memory: one exabyte.
inline constexpr std::uint64_t kMemoryMibMax = std::uint64_t{1} << 40;
/// The longest limit: what Slurm can say in minutes.
inline constexpr Duration kLimitMax = Duration::minutes(UINT32_MAX);
/// The latest begin time or deadline: 9999-12-31 23:59:59.
inline constexpr TimePoint kTimeMax = TimePoint::from_seconds(253'402'300'799);

/// Checks a job's numbers, at submission and after every edit. Errors: kInvalidArgument, naming the
/// number, what it is and what it may be.
Status check_numbers(const JobSpec& spec);
Status check_numbers(const StepSpec& spec);
/// Checks the numbers of generic resources, whose counts come from texts.
Status check_numbers(const ResourceRequest& need);

}  // namespace muster::admission
