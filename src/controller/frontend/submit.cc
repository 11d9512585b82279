#include <fmt/format.h>

#include <algorithm>

#include "controller/frontend/frontend.h"
#include "state/resource_need.h"

namespace muster::frontend {
namespace {

Result<std::vector<PartitionIndex>> choose_partitions(const ClusterState& state, std::string_view wanted) {
  std::vector<PartitionIndex> chosen;
  if (wanted.empty()) {
    for (std::size_t i = 0; i < state.partitions().size(); ++i) {
      if (state.partitions()[i].is_default) chosen.push_back(PartitionIndex(static_cast<std::uint32_t>(i)));
    }
    if (chosen.empty()) {
      return fail(ErrorCode::kInvalidArgument, "No partition specified or system default partition",
                  "name one with -p, or set Default=YES on a PartitionName line");
    }
    return chosen;
  }
  for (std::size_t begin = 0; begin <= wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string_view name = wanted.substr(begin, end - begin);
    const auto index = state.find_partition(name);
    if (!index) {
      return fail(ErrorCode::kInvalidArgument, "Invalid partition name specified",
                  fmt::format("invalid partition specified: {}", name));
    }
    chosen.push_back(*index);
    begin = end + 1;
  }
  return chosen;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

Status check_access(const PartitionConfig& partition, const JobSpec& spec, const Identity& identity) {
  if (partition.state == PartitionState::kDrain || partition.state == PartitionState::kInactive) {
    return fail(ErrorCode::kFailedPrecondition, "Required partition not available (inactive or drain)",
                fmt::format("partition {} is {}", partition.name, partition_state_name(partition.state)));
  }
  if (partition.is_root_only && !identity.is_operator) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied",
                fmt::format("partition {} takes jobs from root alone", partition.name));
  }
  const std::string_view account = spec.get(JobText::kAccount);
  if ((!partition.allow_accounts.empty() && !contains(partition.allow_accounts, account)) ||
      contains(partition.deny_accounts, account)) {
    return fail(ErrorCode::kPermissionDenied, "Invalid account or account/partition combination specified",
                fmt::format("account '{}' may not use partition {}", account, partition.name));
  }
  if (!partition.allow_groups.empty() && !identity.is_operator &&
      !contains(partition.allow_groups, spec.get(JobText::kGroupName))) {
    return fail(ErrorCode::kPermissionDenied, "User's group not permitted to use this partition",
                fmt::format("partition {} is for groups {}", partition.name, fmt::join(partition.allow_groups, ",")));
  }
  return {};
}

Duration effective_limit(const JobSpec& spec, const PartitionConfig& partition) {
  if (spec.time_limit != Duration()) return spec.time_limit;
  if (partition.default_time != Duration()) return partition.default_time;
  return partition.max_time;
}

Status check_limits(const PartitionConfig& partition, const JobSpec& spec, const ClusterSettings& settings) {
  if (!settings.is_enforce_part_limits) return {};
  if (spec.time_limit > partition.max_time) {
    return fail(ErrorCode::kInvalidArgument, "Requested time limit is invalid (missing or exceeds some limit)",
                fmt::format("partition {} allows {} minutes", partition.name, partition.max_time.seconds() / 60));
  }
  if ((partition.max_nodes != 0 && spec.min_nodes > partition.max_nodes) ||
      (spec.max_nodes != 0 && spec.max_nodes < partition.min_nodes)) {
    return fail(ErrorCode::kInvalidArgument, "Node count specification invalid",
                fmt::format("partition {} takes {} to {} nodes per job", partition.name, partition.min_nodes,
                            partition.max_nodes == 0 ? std::string("any number of") : std::to_string(partition.max_nodes)));
  }
  return {};
}

/// Terms whose job is known; one that never was is an error, one that has left memory counts as ended.
Result<DependencySet> resolve_dependencies(const ClusterState& state, DependencySet set) {
  for (DependencyTerm& term : set.terms) {
    if (term.kind == DependencyKind::kSingleton) continue;
    if (term.job.value() == 0 || term.job >= state.next_job()) {
      return fail(ErrorCode::kInvalidArgument, "Job dependency problem",
                  fmt::format("there is no job {}", term.job.value()));
    }
  }
  return set;
}

Status check_rights(const JobSpec& spec, const Identity& identity) {
  if (identity.is_operator) return {};
  if (spec.nice < 0) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied",
                "only an operator may use a negative --nice");
  }
  if (spec.priority != 0) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied", "only an operator may set --priority");
  }
  return {};
}

Status check_names(const ClusterState& state, const ResourceRequest& need) {
  for (const auto* names : {&need.required_nodes, &need.excluded_nodes}) {
    for (const std::string& name : *names) {
      if (!state.nodes().find_by_name(name)) {
        return fail(ErrorCode::kInvalidArgument, "Invalid node name specified", fmt::format("there is no node {}", name));
      }
    }
  }
  for (const auto* amounts : {&need.gres_per_node, &need.gres_per_job, &need.gres_per_task}) {
    for (const GresAmount& amount : *amounts) {
      if (amount.count != 0 && !contains(state.settings().gres_types, amount.name)) {
        return fail(ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
                    fmt::format("there is no generic resource '{}'; GresTypes has: {}", amount.name,
                                fmt::join(state.settings().gres_types, ",")));
      }
    }
  }
  for (const auto& alternative : need.features.alternatives) {
    for (const std::string& feature : alternative) {
      const bool is_known = std::ranges::any_of(state.nodes().all(), [&](const Node& node) {
        return contains(node.config.features, feature);
      });
      if (!is_known) {
        return fail(ErrorCode::kInvalidArgument, "Invalid feature specification",
                    fmt::format("no node has the feature '{}'", feature));
      }
    }
  }
  return {};
}

std::int64_t initial_priority(const JobSpec& spec) {
  if (spec.priority != 0) return spec.priority;
  return 1 - std::int64_t{spec.nice};
}

/// What the user left open becomes a fact of the job. The first partition's defaults count.
void fill_defaults(JobSpec& spec, const ResourceRequest& need, const ClusterSettings& settings) {
  if ((spec.given & given_option::kRequeue) == 0) spec.is_requeue = settings.is_job_requeue;
  if (spec.memory_scope != MemoryScope::kDefault) return;
  spec.memory_scope = need.memory_scope;
  spec.memory_mib = need.memory_mib;
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
    TRY(check_names(state, need));
    if (index == partitions.front()) fill_defaults(*submit.spec, need, state.settings());
  }
  if (state.active_jobs() >= state.settings().max_job_count) {
    return fail(ErrorCode::kResourceExhausted, "Resource temporarily unavailable",
                fmt::format("MaxJobCount={} jobs are in the queue", state.settings().max_job_count));
  }
  JobSubmitted event;
  event.dependencies = TRY(resolve_dependencies(state, submit.dependencies));
  event.job = draft.allot_job();
  submit.spec->script = draft.blob_for(submit.script);
  submit.spec->environment = draft.blob_for(submit.environment);
  event.priority = spec.is_held ? 0 : initial_priority(spec);
  if (spec.is_held) event.flags = job_flag::kUserHeld, event.reason = PendingReason::kJobHeldUser;
  event.partitions = partitions;
  event.time_limit = effective_limit(spec, state.partition(partitions.front()));
  event.array = submit.array;
  event.spec = submit.spec;
  event.first_step = submit.first_step;
  Reply reply;
  reply.job = event.job;
  draft.add(std::move(event));
  return reply;
}

}  // namespace muster::frontend
