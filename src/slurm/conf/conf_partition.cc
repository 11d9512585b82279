// Keys of PartitionName lines, and what of a partition follows from the cluster's own values.
// Limits by accounts are refused, since a job's account is what its owner says.

#include "slurm/conf/conf_partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "slurm/conf/conf_form.h"
#include "slurm/hostlist.h"

namespace muster {
namespace {

using namespace conf_form;
using Key = ConfKey<PartitionConfig>;

template <auto Member>
constexpr auto kMember = [](auto& partition) -> auto& {
  return partition.*Member;
};

template <auto Member, class Form>
constexpr Key row(std::string_view name) {
  return conf_row<PartitionConfig, kMember<Member>, Form>(name);
}
constexpr Key refused(std::string_view name, std::string_view neutral, std::string_view reason) {
  return {name, ConfHandling::kRefused, reason, neutral, nullptr, nullptr};
}

Status set_state(PartitionConfig& partition, std::string_view value) {
  for (const PartitionState state : {PartitionState::kUp, PartitionState::kDown,
                                     PartitionState::kDrain, PartitionState::kInactive}) {
    if (!equal_ignoring_case(value, partition_state_name(state))) continue;
    partition.state = state;
    return {};
  }
  return must_be("UP, DOWN, DRAIN or INACTIVE");
}

/// YES and YES:N let a job share its CPUs that asks for it with --oversubscribe; FORCE:1 is one job
/// at a time for each CPU.
std::string_view sharing_without_effect(std::string_view value) {
  const std::string word = lower(value);
  if (word == "yes" || word.starts_with("yes:"))
    return "jobs that ask for --oversubscribe get CPUs of their own as well";
  return word == "force:1" ? "CPUs are never given to two jobs at once" : "";
}
Status set_priority(PartitionConfig& partition, std::string_view value) {
  partition.priority_tier = TRY((Number<std::uint32_t, 0, 65533>::read(value)));
  // Slurm's older Priority set both of them.
  partition.priority_job_factor = partition.priority_tier;
  return {};
}

Status set_sharing(PartitionConfig& partition, std::string_view value) {
  partition.is_exclusive = equal_ignoring_case(value, "EXCLUSIVE");
  const bool is_apart = equal_ignoring_case(value, "NO") || !sharing_without_effect(value).empty();
  // A value that would give CPUs to two jobs is refused.
  if (partition.is_exclusive || is_apart) return {};
  return fail(ErrorCode::kUnimplemented, "not supported",
              "CPUs are never given to two jobs at once: write NO, or EXCLUSIVE for whole nodes");
}

constexpr std::string_view kNotYet = "it is not implemented: take the key out";
// Refused, as -A and -q are the job's own words and would open a partition to anybody.
constexpr std::string_view kNoAccounts =
    "accounts and QOS are not kept yet, and a job's own word for them (-A, -q) would open the "
    "partition to anybody: take the key out, or write AllowGroups=";
constexpr std::string_view kNoPower = "nodes are not powered up and down: take the key out";

constexpr auto kKeys = std::to_array<Key>({
    row<&PartitionConfig::nodes_text, Text>("Nodes"),
    row<&PartitionConfig::is_default, YesNo>("Default"),
    row<&PartitionConfig::is_hidden, YesNo>("Hidden"),
    row<&PartitionConfig::is_root_only, YesNo>("RootOnly"),
    {"State", ConfHandling::kHonoured, {}, {}, &set_state, nullptr},
    {"OverSubscribe",
     ConfHandling::kHonoured,
     {},
     {},
     &set_sharing,
     nullptr,
     {},
     &sharing_without_effect},
    {"Shared",
     ConfHandling::kHonoured,
     {},
     {},
     &set_sharing,
     nullptr,
     "write OverSubscribe=",
     &sharing_without_effect},
    {"Priority",
     ConfHandling::kHonoured,
     {},
     {},
     &set_priority,
     nullptr,
     "write PriorityTier= and PriorityJobFactor="},
    row<&PartitionConfig::max_time, TimeLimit>("MaxTime"),
    row<&PartitionConfig::default_time, OptionalTime>("DefaultTime"),
    row<&PartitionConfig::over_time_limit, Minutes>("OverTimeLimit"),
    row<&PartitionConfig::min_nodes, Number<std::uint32_t, 0, UINT32_MAX - 2>>("MinNodes"),
    row<&PartitionConfig::max_nodes, Limit<std::uint32_t>>("MaxNodes"),
    row<&PartitionConfig::max_cpus_per_node, Limit<std::uint32_t>>("MaxCPUsPerNode"),
    row<&PartitionConfig::priority_tier, Number<std::uint32_t, 0, 65533>>("PriorityTier"),
    row<&PartitionConfig::priority_job_factor, Number<std::uint32_t, 0, 65533>>(
        "PriorityJobFactor"),
    row<&PartitionConfig::default_memory_per_cpu_mib, Memory>("DefMemPerCPU"),
    row<&PartitionConfig::default_memory_per_node_mib, Memory>("DefMemPerNode"),
    row<&PartitionConfig::default_memory_per_gpu_mib, Memory>("DefMemPerGPU"),
    row<&PartitionConfig::max_memory_per_cpu_mib, Memory>("MaxMemPerCPU"),
    row<&PartitionConfig::max_memory_per_node_mib, Memory>("MaxMemPerNode"),
    row<&PartitionConfig::default_cpus_per_gpu, Number<std::uint32_t, 0, 65535>>("DefCpuPerGPU"),
    row<&PartitionConfig::allow_groups, NamesOrAll>("AllowGroups"),
    {"CpuBind",
     ConfHandling::kNoEffect,
     "tasks are bound as their options say",
     {},
     nullptr,
     nullptr},
    refused("AllowAccounts", "ALL", kNoAccounts),
    refused("DenyAccounts", "", kNoAccounts),
    refused("AllowQos", "ALL", kNoAccounts),
    refused("DenyQos", "", kNoAccounts),
    refused("QOS", "N/A", kNotYet),
    refused("AllocNodes", "ALL", kNotYet),
    refused("Alternate", "", kNotYet),
    refused("DisableRootJobs", "NO", kNotYet),
    refused("Exclusive", "NO", "write OverSubscribe=EXCLUSIVE for whole nodes"),
    refused("ExclusiveUser", "NO", kNotYet),
    refused("ExclusiveTopo", "NO", kNotYet),
    refused("GraceTime", "0", kNotYet),
    refused("PreemptMode", "OFF", kNotYet),
    refused("LLN", "NO", kNotYet),
    refused("MaxCPUsPerSocket", "UNLIMITED", kNotYet),
    refused("ReqResv", "NO", kNotYet),
    refused("SelectTypeParameters", "NONE", kNotYet),
    refused("Topology", "", kNotYet),
    refused("TRESBillingWeights", "", kNotYet),
    refused("PowerDownOnIdle", "NO", kNoPower),
    refused("ResumeTimeout", "", kNoPower),
    refused("SuspendTime", "INFINITE|-1", kNoPower),
    refused("SuspendTimeout", "", kNoPower),
});

Result<std::vector<NodeIndex>> find_nodes(const ClusterConfig& cluster, std::string_view text) {
  // Nodes are found by name: the file may name them in any order.
  std::map<std::string_view, NodeIndex> by_name;
  std::vector<std::string_view> known;
  for (const NodeConfig& node : cluster.nodes) {
    by_name.emplace(node.name, NodeIndex(static_cast<std::uint32_t>(by_name.size())));
    known.push_back(node.name);
  }
  std::vector<NodeIndex> nodes;
  for (const std::string& name : TRY(expand_hostlist(text))) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      // A misspelt node would be a partition that is smaller than meant.
      const auto nearest = nearest_word(name, known);
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Nodes={}: there is no node {}", text, name),
                  nearest ? fmt::format("is it {}?", *nearest) : "configure it by a NodeName line");
    }
    nodes.push_back(found->second);
  }
  return nodes;
}

Result<std::vector<NodeIndex>> resolve_nodes(const ClusterConfig& cluster, std::string_view text) {
  std::vector<NodeIndex> nodes;
  // ALL is every node, in the order of the file.
  if (equal_ignoring_case(text, "ALL")) {
    for (std::uint32_t i = 0; i < cluster.nodes.size(); ++i) nodes.emplace_back(i);
    return nodes;
  }
  nodes = TRY(find_nodes(cluster, text));
  // Sorted and once each: a partition's nodes are a set, and placing walks them in order.
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

// Takes the cluster's pair of values when the partition has neither.
void inherit(std::uint64_t& a, std::uint64_t& b, std::uint64_t cluster_a, std::uint64_t cluster_b) {
  if (a != 0 || b != 0) return;
  a = cluster_a;
  b = cluster_b;
}

}  // namespace

PartitionConfig default_partition() {
  PartitionConfig partition;
  // -1: the partition has no limit of its own, unlike 0.
  partition.over_time_limit = Duration::seconds(-1);
  return partition;
}

std::span<const ConfKey<PartitionConfig>> partition_conf_keys() { return kKeys; }

Status resolve_partition(const ClusterConfig& cluster, PartitionConfig& partition) {
  // Only once all lines have been read: a partition may stand before its nodes.
  partition.nodes = TRY(resolve_nodes(cluster, partition.nodes_text));
  if (partition.default_memory_per_cpu_mib != 0 && partition.default_memory_per_node_mib != 0) {
    return fail(ErrorCode::kInvalidArgument, "DefMemPerCPU and DefMemPerNode are both set",
                "set one of them");
  }
  const ClusterSettings& settings = cluster.settings;
  inherit(partition.default_memory_per_cpu_mib, partition.default_memory_per_node_mib,
          settings.default_memory_per_cpu_mib, settings.default_memory_per_node_mib);
  inherit(partition.max_memory_per_cpu_mib, partition.max_memory_per_node_mib,
          settings.max_memory_per_cpu_mib, settings.max_memory_per_node_mib);
  if (partition.default_memory_per_gpu_mib == 0) {
    partition.default_memory_per_gpu_mib = settings.default_memory_per_gpu_mib;
  }
  return {};
}

}  // namespace muster
