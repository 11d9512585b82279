// Rights, partitions, needs, room, limit and dependencies are checked in this order; ids and blobs
// are allotted after all of them. A trial's job comes in here as well, under its owner's name
// (platform/requests/trial_jobs.cc).
#include <fmt/format.h>

#include <algorithm>

#include "admission/job_check.h"
#include "admission/job_numbers.h"
#include "admission/submit.h"
#include "state/resource_need.h"

namespace muster::admission {
namespace {

Duration effective_limit(const JobSpec& spec, const PartitionConfig& partition) {
  // Source: sbatch(1), --time: else the partition's DefaultTime, else its MaxTime.
  if (spec.time_limit != Duration()) return spec.time_limit;
  if (partition.default_time != Duration()) return partition.default_time;
  return partition.max_time;
}

/// Terms whose job is known. Of one that has left memory only that it has ended is known. Errors:
/// kInvalidArgument.
Result<DependencySet> resolve_dependencies(const ClusterState& state, DependencySet set) {
  for (const DependencyTerm& term : set.terms) TRY(check_dependency(state, term));
  return set;
}

Status check_rights(const JobSpec& spec, const Identity& identity) {
  // Source: sbatch(1), --nice and --priority.
  if (identity.is_operator) return {};
  if (spec.nice < 0) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied",
                "only an operator may use a negative --nice");
  }
  if (spec.priority != 0) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied",
                "only an operator may set --priority");
  }
  return {};
}

std::int64_t initial_priority(const JobSpec& spec) {
  if (spec.priority != 0) return spec.priority;
  // As a release counts it (workload/requests/holds.cc).
  return 1 - std::int64_t{spec.nice};
}

/// What the user left open becomes a fact of the job. Of several partitions the first one's rules
/// are shown while it waits, as Slurm does; a start in another applies that one's.
void fill_defaults(JobSpec& spec, const PartitionConfig& partition,
                   const ClusterSettings& settings) {
  if ((spec.given & given_option::kRequeue) == 0) spec.is_requeue = settings.is_job_requeue;
  apply_memory_rules(spec, partition, settings);
}

/// A job must be able to end before its deadline. One without a limit gets what time there is.
/// Source: sbatch(1), --deadline.
Result<Duration> limit_before_deadline(const JobSpec& spec, Duration limit, TimePoint now) {
  if (!spec.deadline.is_set()) return limit;
  const Duration left = spec.deadline - std::max(now, spec.begin_time);
  if (limit.is_infinite() && left >= Duration::minutes(1)) return left;
  // With --time-min it can do with that.
  const Duration least = spec.time_min != Duration() ? spec.time_min : limit;
  if (!least.is_infinite() && least <= left) return limit;
  return fail(ErrorCode::kInvalidArgument,
              "Requested time limit is invalid (missing or exceeds some limit)",
              "the job could not end before its --deadline");
}

}  // namespace

Result<Reply> submit(Draft& draft, const PreparedSubmit& submit, const Identity& identity) {
  const ClusterState& state = draft.state();
  const JobSpec& spec = *submit.spec;
  TRY(check_rights(spec, identity));
  const auto partitions = TRY(choose_partitions(state, spec.get(JobText::kPartition)));
  for (const PartitionIndex index : partitions) {
    TRY(check_access(state.partition(index), spec, identity));
    TRY(check_limits(state.partition(index), spec, state.settings()));
    const ResourceRequest need = TRY(resource_need(spec, state.partition(index), state.settings()));
    TRY(check_numbers(need));
    TRY(check_request(state, need));
    TRY(check_memory(state.partition(index), need, state.settings()));
  }
  // After the checks, which read what the user asked for by each partition's rules.
  fill_defaults(*submit.spec, state.partition(partitions.front()), state.settings());
  if (state.active_jobs() >= state.settings().max_job_count) {
    return fail(
        ErrorCode::kResourceExhausted, ErrorCause::kQueueFull, "Resource temporarily unavailable",
        fmt::format("MaxJobCount={} jobs are in the queue", state.settings().max_job_count));
  }
  const Duration limit = TRY(limit_before_deadline(
      spec, effective_limit(spec, state.partition(partitions.front())), draft.now()));
  JobSubmitted event;
  event.dependencies = TRY(resolve_dependencies(state, submit.dependencies));
  event.job = draft.allot_job();
  // A trial's job names what its experiment has stored already.
  if (submit.script.bytes != nullptr) submit.spec->script = draft.blob_for(submit.script);
  if (submit.environment.bytes != nullptr)
    submit.spec->environment = draft.blob_for(submit.environment);
  event.priority = spec.is_held ? 0 : initial_priority(spec);
  if (spec.is_held) event.flags = job_flag::kUserHeld, event.reason = PendingReason::kJobHeldUser;
  event.flags = static_cast<std::uint16_t>(event.flags | submit.hold);
  event.partitions = partitions;
  event.time_limit = limit;
  event.array = submit.array;
  event.spec = submit.spec;
  event.first_step = submit.first_step;
  Reply reply;
  reply.job = event.job;
  draft.add(std::move(event));
  return reply;
}

Result<Reply> submit(Draft& draft, const PreparedSubmit& request, const Identity& identity,
                     const Feasibility& feasibility) {
  Reply reply = TRY(submit(draft, request, identity));
  const auto& event = get<JobSubmitted>(draft.events.back());
  TRY(feasibility.check_satisfiable(*event.spec, event.partitions));
  return reply;
}

}  // namespace muster::admission
