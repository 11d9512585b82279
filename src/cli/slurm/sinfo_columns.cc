// sinfo's columns, and how nodes come together in lines: nodes for which every shown column has
// the same text are one group, as in Slurm, so that the columns that are asked for decide about
// the lines.

#include "cli/slurm/sinfo_columns.h"

#include <array>
#include <map>
#include <set>

#include "cli/lib/job_text.h"
#include "cli/lib/node_text.h"
#include "slurm/duration_text.h"
#include "slurm/hostlist.h"

namespace muster::cli {
namespace {

using Group = NodeGroup;
using Context = ShowContext;

const NodeView* first(const Group& group) {
  return group.nodes.empty() ? nullptr : group.nodes.front();
}

/// A text of the first node; all nodes of a group have the same.
template <auto Function>
std::string of_node(const Group& group, const Context& context) {
  const NodeView* node = first(group);
  // A partition without nodes.
  return node == nullptr ? "n/a" : Function(*node, context);
}

/// The least of the group, with "+" when some node has more.
template <auto Function>
std::string size(const Group& group, const Context&) {
  if (group.nodes.empty()) return "0";
  auto least = Function(*group.nodes.front());
  auto most = least;
  for (const NodeView* node : group.nodes) {
    least = std::min(least, Function(*node));
    most = std::max(most, Function(*node));
  }
  return fmt::format("{}{}", least, least == most ? "" : "+");
}

std::uint64_t cpus(const NodeView& node) { return node.config.cpus; }
std::uint64_t sockets(const NodeView& node) { return node.config.sockets; }
std::uint64_t cores(const NodeView& node) { return node.config.cores_per_socket; }
std::uint64_t threads(const NodeView& node) { return node.config.threads_per_core; }
std::uint64_t memory(const NodeView& node) { return node.config.memory_mib; }
std::uint64_t disk(const NodeView& node) { return node.config.tmp_disk_mib; }
std::uint64_t weight(const NodeView& node) { return node.config.weight; }
std::uint64_t free_memory(const NodeView& node) { return node.free_memory_mib; }
std::uint64_t used_memory(const NodeView& node) { return node.allocated_memory_mib; }
std::uint64_t port(const NodeView& node) { return node.config.port; }

using Text = std::string;
Text features(const NodeView& node, const Context&) {
  return or_null(join(node.config.features, ","));
}
Text gres(const NodeView& node, const Context&) { return or_null(node_gres(node)); }
Text gres_used(const NodeView& node, const Context&) { return or_null(node_gres_used(node)); }
Text reason(const NodeView& node, const Context&) {
  return node.status.reason.empty() ? "none" : node.status.reason;
}
Text reason_time(const NodeView& node, const Context& context) {
  return node.status.reason.empty() ? "Unknown" : context.time(node.status.reason_time, "Unknown");
}
Text reason_user(const NodeView& node, const Context&) {
  return node.status.reason.empty() ? "Unknown" : user_name(node.status.reason_user.value());
}
Text reason_user_id(const NodeView& node, const Context&) {
  return node.status.reason.empty()
             ? "Unknown"
             : fmt::format("{}({})", user_name(node.status.reason_user.value()),
                           node.status.reason_user.value());
}
Text state_code(const NodeView& node, const Context&) { return node_state_code(node); }
Text state_word(const NodeView& node, const Context&) { return node_state_word(node); }
// In small letters, as StateComplete of Slurm.
Text state_flags(const NodeView& node, const Context&) { return lower(node_state_flags(node)); }
Text host(const NodeView& node, const Context&) {
  return node.config.host_name.empty() ? node.config.name : node.config.host_name;
}
Text address(const NodeView& node, const Context&) {
  return node.config.address.empty() ? node.config.name : node.config.address;
}
Text version(const NodeView& node, const Context&) { return or_null(node.status.version); }
Text comment(const NodeView& node, const Context&) { return or_null(node.status.comment); }
Text extra(const NodeView& node, const Context&) { return or_null(node.status.extra); }

Text shape(const Group& group, const Context& context) {
  return fmt::format("{}:{}:{}", size<sockets>(group, context), size<cores>(group, context),
                     size<threads>(group, context));
}
Text loads(const Group& group, const Context&) {
  const NodeView* node = first(group);
  return node == nullptr ? "N/A" : node_load(*node);
}

/// Allocated, idle, other.
std::array<std::uint64_t, 3> node_counts(const Group& group) {
  std::array<std::uint64_t, 3> counts{};
  for (const NodeView* node : group.nodes) {
    const bool is_busy = is_allocated(*node) || node->is_completing;
    // Out of use, unless something still runs on it and it is not down.
    ++counts[!is_available(*node) &&
                     !(is_busy && (node->status.conditions & node_condition::kDown) == 0)
                 ? 2
             : is_busy ? 0
                       : 1];
  }
  return counts;
}
Text nodes_ai(const Group& group, const Context&) {
  const auto counts = node_counts(group);
  return fmt::format("{}/{}", counts[0], counts[1]);
}
Text nodes_aiot(const Group& group, const Context&) {
  const auto counts = node_counts(group);
  return fmt::format("{}/{}/{}/{}", counts[0], counts[1], counts[2], group.nodes.size());
}
Text cpus_aiot(const Group& group, const Context&) {
  std::uint64_t used = 0, idle = 0, other = 0;
  for (const NodeView* node : group.nodes) {
    // A node made smaller may have more in use than it has.
    const std::uint64_t rest =
        node->config.cpus - std::min(node->config.cpus, node->allocated_cpus);
    used += node->allocated_cpus;
    // CPUs of a node that takes no work are not idle.
    (is_available(*node) ? idle : other) += rest;
  }
  return fmt::format("{}/{}/{}/{}", used, idle, other, used + idle + other);
}
Text node_count(const Group& group, const Context&) {
  return fmt::format("{}", group.nodes.size());
}
std::int64_t node_count_number(const Group& group, const Context&) {
  return static_cast<std::int64_t>(group.nodes.size());
}
Text node_list(const Group& group, const Context&) {
  std::vector<std::string> names;
  for (const NodeView* node : group.nodes) names.push_back(node->config.name);
  return sorted_hostlist(std::move(names));
}
std::int64_t state_number(const Group& group, const Context&) {
  return group.nodes.empty() ? 0 : node_state_number(*group.nodes.front());
}

// ---- of the partition ----

template <auto Function>
std::string of_partition(const Group& group, const Context&) {
  return group.partition == nullptr ? "n/a" : Function(group.partition->config);
}
Text name(const PartitionConfig& partition) { return partition.name; }
Text starred_name(const PartitionConfig& partition) {
  return partition.name + (partition.is_default ? "*" : "");
}
Text availability(const PartitionConfig& partition) {
  return partition.state == PartitionState::kInactive
             ? "inact"
             : lower(partition_state_name(partition.state));
}
Text limit_text(Duration limit) {
  return limit.is_infinite() ? "infinite" : short_duration_text(limit);
}
Text time_limit(const PartitionConfig& partition) { return limit_text(partition.max_time); }
Text default_time(const PartitionConfig& partition) {
  return partition.default_time == Duration() ? "n/a" : limit_text(partition.default_time);
}
Text job_size(const PartitionConfig& partition) {
  // 0 counts as 1. Source: slurm.conf(5), MinNodes.
  const std::uint32_t least = std::max(1U, partition.min_nodes);
  if (partition.max_nodes == 0) return fmt::format("{}-infinite", least);
  return least == partition.max_nodes ? fmt::format("{}", least)
                                      : fmt::format("{}-{}", least, partition.max_nodes);
}
Text root_only(const PartitionConfig& partition) { return partition.is_root_only ? "yes" : "no"; }
Text over_subscribe(const PartitionConfig& partition) {
  return partition.is_exclusive ? "EXCLUSIVE" : "NO";
}
Text groups(const PartitionConfig& partition) {
  return partition.allow_groups.empty() ? "all" : join(partition.allow_groups, ",");
}
Text factor(const PartitionConfig& partition) {
  return fmt::format("{}", partition.priority_job_factor);
}
Text tier(const PartitionConfig& partition) { return fmt::format("{}", partition.priority_tier); }
Text max_cpus(const PartitionConfig& partition) {
  return or_unlimited(partition.max_cpus_per_node);
}

// Nothing preempts yet.
Text preempt_mode(const Group&, const Context&) { return "OFF"; }
Text all(const Group&, const Context&) { return "all"; }
Text blank(const Group&, const Context&) { return ""; }
Text cluster(const Group&, const Context& context) { return context.cluster; }

/// The note marks what differs between nodes of one group: counts, lists and sizes.
// clang-format off
constexpr Column<Group> kColumns[] = {
    {'a', "Available", "AVAIL", of_partition<availability>},
    {'A', "NodeAI", "NODES(A/I)", nodes_ai, nullptr, true},
    {0, "AllocMem", "ALLOCMEM", size<used_memory>, nullptr, true},
    {'b', "features_act", "ACTIVE_FEATURES", of_node<features>},
    {'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", of_partition<max_cpus>},
    {'c', "CPUs", "CPUS", size<cpus>, nullptr, true},
    {'C', "CPUsState", "CPUS(A/I/O/T)", cpus_aiot, nullptr, true},
    {0, "Comment", "COMMENT", of_node<comment>},
    {'d', "Disk", "TMP_DISK", size<disk>, nullptr, true},
    {'D', "Nodes", "NODES", node_count, node_count_number, true},
    {'e', "FreeMem", "FREE_MEM", size<free_memory>, nullptr, true},
    {'E', "Reason", "REASON", of_node<reason>},
    {0, "Extra", "EXTRA", of_node<extra>},
    {'f', "Features", "AVAIL_FEATURES", of_node<features>},
    {'F', "NodeAIOT", "NODES(A/I/O/T)", nodes_aiot, nullptr, true},
    {'g', "Groups", "GROUPS", of_partition<groups>},
    {'G', "Gres", "GRES", of_node<gres>},
    {0, "GresUsed", "GRES_USED", of_node<gres_used>},
    {'h', "OverSubscribe", "OVERSUBSCRIBE", of_partition<over_subscribe>},
    {'H', "Timestamp", "TIMESTAMP", of_node<reason_time>},
    {'i', "Reservation", "RESERVATION", blank},
    {'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", of_partition<factor>},
    {'l', "Time", "TIMELIMIT", of_partition<time_limit>},
    {'L', "DefaultTime", "DEFAULTTIME", of_partition<default_time>},
    {'m', "Memory", "MEMORY", size<memory>, nullptr, true},
    {'M', "PreemptMode", "PREEMPT_MODE", preempt_mode},
    {'n', "NodeHost", "HOSTNAMES", of_node<host>},
    {'N', "NodeList", "NODELIST", node_list, nullptr, true},
    {'o', "NodeAddr", "NODE_ADDR", of_node<address>},
    {'O', "CPUsLoad", "CPU_LOAD", loads, nullptr, true},
    {'p', "PriorityTier", "PRIO_TIER", of_partition<tier>},
    {'P', "Partition", "PARTITION", of_partition<starred_name>},
    {0, "Port", "PORT", size<port>, nullptr, true},
    {'r', "Root", "ROOT", of_partition<root_only>},
    {'R', "PartitionName", "PARTITION", of_partition<name>},
    {'s', "Size", "JOB_SIZE", of_partition<job_size>},
    {'S', "AllocNodes", "ALLOCNODES", all},
    {0, "StateComplete", "STATECOMPLETE", of_node<state_flags>},
    {'t', "StateCompact", "STATE", of_node<state_code>, state_number},
    {'T', "StateLong", "STATE", of_node<state_word>, state_number},
    {'u', "User", "USER", of_node<reason_user>},
    {'U', "UserLong", "USER", of_node<reason_user_id>},
    {'v', "Version", "VERSION", of_node<version>},
    {'V', "Cluster", "CLUSTER", cluster},
    {'w', "Weight", "WEIGHT", size<weight>, nullptr, true},
    {'X', "Sockets", "SOCKETS", size<sockets>, nullptr, true},
    {'Y', "Cores", "CORES", size<cores>, nullptr, true},
    {'z', "SocketCoreThread", "S:C:T", shape, nullptr, true},
    {'Z', "Threads", "THREADS", size<threads>, nullptr, true},
};
// clang-format on

/// Columns that never tell groups apart, --exact or not.
bool is_total(const Column<Group>& column) {
  // Their sums and lists are what a group is for.
  return std::string_view("ACDFN").find(column.letter) != std::string_view::npos &&
         column.letter != 0;
}

std::string key_of(const Group& single, const Layout<Group>& layout, const Grouping& grouping,
                   const Context& context) {
  // With -N each node is a group of its own.
  std::string key =
      grouping.is_per_node && first(single) != nullptr ? first(single)->config.name : "";
  for (const auto& [column, spec] : layout.columns) {
    const bool differs = is_total(*column) || (column->detail && !grouping.is_exact);
    // The zero byte keeps the texts of neighbouring columns apart.
    if (!differs) key += '\0' + column->show(single, context);
  }
  return key;
}

}  // namespace

std::span<const Column<NodeGroup>> sinfo_columns() { return kColumns; }

std::vector<NodeGroup> group_nodes(std::span<const PartitionView> partitions,
                                   std::span<const NodeView> nodes, const Layout<NodeGroup>& layout,
                                   const Grouping& grouping, const ShowContext& context) {
  std::map<std::string_view, const NodeView*> by_name;
  for (const NodeView& node : nodes) by_name[node.config.name] = &node;
  std::vector<NodeGroup> groups;
  std::map<std::string, std::size_t> group_of;
  const auto add = [&](const PartitionView& partition, const NodeView* node) {
    NodeGroup single{&partition, {}};
    if (node != nullptr) single.nodes.push_back(node);
    const auto [found, is_fresh] =
        group_of.try_emplace(key_of(single, layout, grouping, context), groups.size());
    if (is_fresh) {
      groups.push_back(std::move(single));
      return;
    }
    auto& members = groups[found->second].nodes;
    // A node in several partitions is in one group once, where the partition is no column.
    if (node != nullptr && std::ranges::find(members, node) == members.end())
      members.push_back(node);
  };
  for (const PartitionView& partition : partitions) {
    bool is_empty = true;
    for (const std::string& member : partition.nodes) {
      const auto node = by_name.find(member);
      if (node == by_name.end()) continue;
      add(partition, node->second);
      is_empty = false;
    }
    if (is_empty && grouping.keeps_empty) add(partition, nullptr);
  }
  return groups;
}

}  // namespace muster::cli
