// Conditions on a job that need the state, asked by submission and by update alike. Texts of errors
// are Slurm's, since scripts compare what commands print.
#include "admission/job_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "admission/job_numbers.h"
#include "base/saturating.h"
#include "slurm/hostlist.h"
#include "state/resource_need.h"

namespace muster::admission {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

std::uint64_t limit_of(std::uint64_t of_partition, std::uint64_t of_cluster) {
  // 0: the partition sets none. Source: slurm.conf(5), MaxMemPerNode.
  return of_partition != 0 ? of_partition : of_cluster;
}

Error too_much_memory(const PartitionConfig& partition, const char* what, std::uint64_t limit,
                      std::uint64_t wanted) {
  return Error{ErrorCode::kInvalidArgument, "Memory required by task is not available",
               fmt::format("partition {} allows {} MiB per {} and {} are asked for", partition.name,
                           limit, what, wanted)};
}

}  // namespace

Result<std::vector<PartitionIndex>> choose_partitions(const ClusterState& state,
                                                      std::string_view wanted) {
  std::vector<PartitionIndex> chosen;
  if (wanted.empty()) {
    for (std::size_t i = 0; i < state.partitions().size(); ++i) {
      if (state.partitions()[i].is_default)
        chosen.push_back(PartitionIndex(static_cast<std::uint32_t>(i)));
    }
    if (chosen.empty()) {
      return fail(ErrorCode::kInvalidArgument, "No partition specified or system default partition",
                  "name one with -p, or set Default=YES on a PartitionName line");
    }
    return chosen;
  }
  // <=: an empty name, as behind a last comma, is an unknown one.
  for (std::size_t begin = 0; begin <= wanted.size();) {
    const std::size_t end = std::min(wanted.find(',', begin), wanted.size());
    const std::string_view name = wanted.substr(begin, end - begin);
    const auto index = state.find_partition(name);
    // One unknown name refuses the whole list.
    if (!index) {
      return fail(ErrorCode::kInvalidArgument, ErrorCause::kUnknownPartition,
                  "Invalid partition name specified",
                  fmt::format("invalid partition specified: {}", name));
    }
    chosen.push_back(*index);
    begin = end + 1;
  }
  return chosen;
}

Status check_access(const PartitionConfig& partition, const JobSpec& spec,
                    const Identity& identity) {
  // Source: slurm.conf(5), State: DRAIN and INACTIVE let no job in; DOWN does, and starts none.
  if (partition.state == PartitionState::kDrain || partition.state == PartitionState::kInactive) {
    return fail(
        ErrorCode::kFailedPrecondition, "Required partition not available (inactive or drain)",
        fmt::format("partition {} is {}", partition.name, partition_state_name(partition.state)));
  }
  // Source: slurm.conf(5), RootOnly.
  if (partition.is_root_only && !identity.is_operator) {
    return fail(ErrorCode::kPermissionDenied, "Access/permission denied",
                fmt::format("partition {} takes jobs from root alone", partition.name));
  }
  const std::string_view account = spec.get(JobText::kAccount);
  if ((!partition.allow_accounts.empty() && !contains(partition.allow_accounts, account)) ||
      contains(partition.deny_accounts, account)) {
    return fail(ErrorCode::kPermissionDenied,
                "Invalid account or account/partition combination specified",
                fmt::format("account '{}' may not use partition {}", account, partition.name));
  }
  // The group that the job runs with, or any that its user is in.
  const bool is_member = contains(partition.allow_groups, spec.get(JobText::kGroupName)) ||
                         std::ranges::any_of(identity.groups, [&](const std::string& group) {
                           return contains(partition.allow_groups, group);
                         });
  if (!partition.allow_groups.empty() && !identity.is_operator && !is_member) {
    return fail(ErrorCode::kPermissionDenied, "User's group not permitted to use this partition",
                fmt::format("partition {} is for groups {}", partition.name,
                            fmt::join(partition.allow_groups, ",")));
  }
  // Without accounts no association could name a default QOS.
  const std::string_view qos = spec.get(JobText::kQos).empty() ? "normal" : spec.get(JobText::kQos);
  if (!partition.allow_qos.empty() && !contains(partition.allow_qos, qos)) {
    return fail(ErrorCode::kPermissionDenied, "Invalid qos specification",
                fmt::format("partition {} is for QOS {}", partition.name,
                            fmt::join(partition.allow_qos, ",")));
  }
  return {};
}

Status check_limits(const PartitionConfig& partition, const JobSpec& spec,
                    const ClusterSettings& settings) {
  // Source: slurm.conf(5), EnforcePartLimits: without it the job waits until the limits allow it.
  if (!settings.is_enforce_part_limits) return {};
  if (spec.time_limit > partition.max_time) {
    return fail(ErrorCode::kInvalidArgument,
                "Requested time limit is invalid (missing or exceeds some limit)",
                fmt::format("partition {} allows {} minutes", partition.name,
                            partition.max_time.seconds() / 60));
  }
  if ((partition.max_nodes != 0 && spec.request->min_nodes > partition.max_nodes) ||
      (spec.request->max_nodes != 0 && spec.request->max_nodes < partition.min_nodes)) {
    return fail(ErrorCode::kInvalidArgument, "Node count specification invalid",
                fmt::format("partition {} takes {} to {} nodes per job", partition.name,
                            partition.min_nodes,
                            partition.max_nodes == 0 ? std::string("any number of")
                                                     : std::to_string(partition.max_nodes)));
  }
  return {};
}

Status check_memory(const PartitionConfig& partition, const ResourceRequest& need,
                    const ClusterSettings& settings) {
  const std::uint64_t per_node =
      limit_of(partition.max_memory_per_node_mib, settings.max_memory_per_node_mib);
  if (per_node == 0 || need.memory_scope == MemoryScope::kDefault) return {};
  std::uint64_t wanted = need.memory_mib;
  // At least so many CPUs come to lie on one node.
  if (need.memory_scope == MemoryScope::kPerCpu) {
    const std::uint64_t cpus =
        std::uint64_t{std::max(1U, need.cpus_per_task)} * std::max(1U, need.tasks_per_node);
    wanted = saturating_product(wanted, cpus);
  }
  if (wanted > per_node) return fail(too_much_memory(partition, "node", per_node, wanted));
  return {};
}

TimePoint eligible_from(TimePoint now, const JobSpec& spec, const DependencySet* dependencies) {
  // Source: sbatch(1), --begin, and --dependency for after:ID+MINUTES.
  return std::max(
      {now, spec.begin_time, dependencies == nullptr ? TimePoint() : dependencies->not_before()});
}

Status check_dependency(const ClusterState& state, const DependencyTerm& term) {
  if (term.kind == DependencyKind::kSingleton) return {};
  // Ids rise: what lies below next_job() was allotted once.
  if (term.job.value() == 0 || term.job >= state.next_job()) {
    return fail(ErrorCode::kInvalidArgument, "Job dependency problem",
                fmt::format("there is no job {}", term.job.value()));
  }
  if (term.state != DependencyState::kUnfulfilled) return {};  // history knew
  // after and afterany need no outcome: a job that is gone is over.
  const bool is_any_end_good =
      term.kind == DependencyKind::kAfter || term.kind == DependencyKind::kAfterAny;
  const bool is_here =
      state.jobs().find(term.job) != nullptr || state.jobs().elements(term.job) != nullptr;
  if (is_any_end_good || is_here) return {};
  return fail(ErrorCode::kInvalidArgument, "Job dependency problem",
              fmt::format("job {} ended more than MinJobAge ago, and history does not decide it: "
                          "see sacct -j {} and leave the dependency out",
                          term.job.value(), term.job.value()));
}

namespace {

Status check_features(const FeatureConstraint& constraint, const char* message,
                      const ClusterState& state) {
  // Any node with the feature will do, also one that is down.
  for (const auto& alternative : constraint.alternatives) {
    for (const std::string& feature : alternative) {
      const bool is_known = std::ranges::any_of(state.nodes().all(), [&](const Node& node) {
        return contains(node.config.features, feature);
      });
      if (!is_known)
        return fail(ErrorCode::kInvalidArgument, message,
                    fmt::format("no node has the feature '{}'", feature));
    }
  }
  return {};
}

}  // namespace

Status check_request(const ClusterState& state, const ResourceRequest& need) {
  // Nothing times anything is nothing: such a job would have memory that nobody counts.
  if (need.memory_scope == MemoryScope::kPerGpu && need.tasks_per_gpu == 0 && !wants_gpu(need)) {
    return fail(ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
                fmt::format("{} MiB for each GPU, and no GPU is asked for: add --gpus or "
                            "--gres=gpu, or ask by --mem",
                            need.memory_mib));
  }
  if (need.max_nodes != 0 && need.required_nodes.size() > need.max_nodes) {
    return fail(ErrorCode::kInvalidArgument, "Node count specification invalid",
                fmt::format("{} nodes are required by name ({}), and at most {} may be used: allow "
                            "as many, or name fewer",
                            need.required_nodes.size(), sorted_hostlist(need.required_nodes),
                            need.max_nodes));
  }
  for (const auto* names : {&need.required_nodes, &need.excluded_nodes}) {
    for (const std::string& name : *names) {
      if (!state.nodes().find_by_name(name)) {
        return fail(ErrorCode::kInvalidArgument, "Invalid node name specified",
                    fmt::format("there is no node {}", name));
      }
    }
  }
  for (const auto* amounts : {&need.gres_per_node, &need.gres_per_job, &need.gres_per_task}) {
    for (const GresAmount& amount : *amounts) {
      // An amount of 0 asks for nothing and need not exist.
      if (amount.count != 0 && !contains(state.settings().gres_types, amount.name)) {
        return fail(ErrorCode::kInvalidArgument, "Invalid generic resource (gres) specification",
                    fmt::format("there is no generic resource '{}'; GresTypes has: {}", amount.name,
                                fmt::join(state.settings().gres_types, ",")));
      }
    }
  }
  TRY(check_features(need.features, "Invalid feature specification", state));
  return check_features(need.preferred, "Invalid preferred feature specification", state);
}

}  // namespace muster::admission
