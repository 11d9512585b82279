// How large the numbers of jobs and steps may be. Clients of our own send none beyond; whoever
// writes the protocol by hand could otherwise have sums wrap around, and be given what is not
// there.
#pragma once

#include "base/result.h"
#include "model/job_spec.h"
#include "model/resource_request.h"
#include "model/step.h"

namespace muster::admission {

/// Of tasks, nodes, CPUs and devices: more than any cluster has, and products of two of them stay
/// far below 2^63.
inline constexpr std::uint32_t kCountMax = (1U << 24) - 1;
/// One exabyte.
inline constexpr std::uint64_t kMemoryMibMax = std::uint64_t{1} << 40;
/// Of limits: what Slurm can say in minutes.
inline constexpr Duration kLimitMax = Duration::minutes(UINT32_MAX);
/// Of begin times and deadlines: 9999-12-31 23:59:59.
inline constexpr TimePoint kTimeMax = TimePoint::from_seconds(253'402'300'799);

/// Asked at submission and after every edit. Errors: kInvalidArgument, naming the number, what it
/// is and what it may be.
Status check_numbers(const JobSpec& spec);
Status check_numbers(const StepSpec& spec);
/// Of generic resources, whose counts come from texts.
Status check_numbers(const ResourceRequest& need);

}  // namespace muster::admission
