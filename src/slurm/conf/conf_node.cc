// Keys of NodeName lines. A line means as many nodes as its list has names, each with a value of
// its own where a key is a list; what the line does not say comes from NodeName=DEFAULT.

#include "slurm/conf/conf_node.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "slurm/conf/conf_form.h"
#include "slurm/gres_text.h"
#include "slurm/hostlist.h"

namespace muster {
namespace {

using namespace conf_form;
using Key = ConfKey<NodeDraft>;
// As many as 16 bits hold, as in Slurm's tables.
using Count = Number<std::uint32_t, 1, 65535>;

template <auto Member>
constexpr auto kDraft = [](auto& draft) -> auto& {
  return draft.*Member;
};
template <auto Member>
constexpr auto kCommon = [](auto& draft) -> auto& {
  return draft.common.*Member;
};

template <auto Member, class Form>
constexpr Key draft_row(std::string_view name) {
  return conf_row<NodeDraft, kDraft<Member>, Form>(name);
}
template <auto Member, class Form>
constexpr Key common_row(std::string_view name) {
  return conf_row<NodeDraft, kCommon<Member>, Form>(name);
}
constexpr Key refused(std::string_view name, std::string_view reason) {
  return {name, ConfHandling::kRefused, reason, {}, nullptr, nullptr};
}

// A line's own Gres replaces that of DEFAULT, rather than adding to it.
Status set_gres(NodeDraft& draft, std::string_view value) {
  draft.gres.clear();
  for (GresAmount& amount : TRY(parse_gres_in_order(value))) {
    draft.gres.push_back({std::move(amount.name), std::move(amount.type), amount.count, {}});
  }
  return {};
}

// States of a file are the administrator's order, and hold until they are taken back.
struct StateWord {
  std::string_view name;
  std::uint16_t condition;
};
constexpr std::array<StateWord, 8> kStates = {{{"UNKNOWN", 0},
                                               {"IDLE", 0},
                                               {"DOWN", node_condition::kDownByOrder},
                                               {"DRAIN", node_condition::kDrainByOrder},
                                               {"DRAINED", node_condition::kDrainByOrder},
                                               {"FAIL", node_condition::kFail},
                                               {"FAILING", node_condition::kFail},
                                               {"FUTURE", node_condition::kFuture}}};

Status set_state(NodeDraft& draft, std::string_view value) {
  for (const StateWord& state : kStates) {
    if (!equal_ignoring_case(value, state.name)) continue;
    // UNKNOWN until the node has registered: an agent may not be there yet.
    draft.initial.conditions =
        static_cast<std::uint16_t>(node_condition::kUnknown | state.condition);
    return {};
  }
  return fail(ErrorCode::kUnimplemented, "not supported",
              "write UNKNOWN, DOWN, DRAIN, FAIL or FUTURE");
}

Status set_reason(NodeDraft& draft, std::string_view value) {
  draft.initial.reason = value;
  return {};
}

Status set_processors(NodeDraft& draft, std::string_view value) {
  draft.processors = TRY(Count::read(value));
  return {};
}

constexpr std::string_view kNoSpecialised =
    "no CPU or memory can be set aside for the system: lower CPUs or RealMemory";

constexpr auto kKeys = std::to_array<Key>({
    draft_row<&NodeDraft::host_names, Text>("NodeHostname"),
    draft_row<&NodeDraft::addresses, Text>("NodeAddr"),
    draft_row<&NodeDraft::ports, Text>("Port"),
    draft_row<&NodeDraft::cpus, Count>("CPUs"),
    {"Procs", ConfHandling::kHonoured, {}, {}, &set_processors, nullptr, "write CPUs="},
    draft_row<&NodeDraft::boards, Count>("Boards"),
    draft_row<&NodeDraft::sockets, Count>("Sockets"),
    draft_row<&NodeDraft::sockets_per_board, Count>("SocketsPerBoard"),
    draft_row<&NodeDraft::cores_per_socket, Count>("CoresPerSocket"),
    draft_row<&NodeDraft::threads_per_core, Count>("ThreadsPerCore"),
    common_row<&NodeConfig::memory_mib, Memory>("RealMemory"),
    common_row<&NodeConfig::tmp_disk_mib, Disk>("TmpDisk"),
    common_row<&NodeConfig::weight, Number<std::uint32_t, 0, UINT32_MAX - 1>>("Weight"),
    common_row<&NodeConfig::features, Names>("Features"),
    common_row<&NodeConfig::features, Names>("Feature"),
    {"Gres", ConfHandling::kHonoured, {}, {}, &set_gres, nullptr},
    {"State", ConfHandling::kHonoured, {}, {}, &set_state, nullptr},
    {"Reason", ConfHandling::kHonoured, {}, {}, &set_reason, nullptr},
    {"BcastAddr",
     ConfHandling::kNoEffect,
     "files are not broadcast between agents",
     {},
     nullptr,
     nullptr},
    {"CpuBind",
     ConfHandling::kNoEffect,
     "tasks are bound as their options say",
     {},
     nullptr,
     nullptr},
    {"AutoResume",
     ConfHandling::kNoEffect,
     "nodes are not powered up and down",
     {},
     nullptr,
     nullptr},
    // Refused, since CPUs that are set aside would be given out otherwise.
    refused("CoreSpecCount", kNoSpecialised),
    refused("CpuSpecList", kNoSpecialised),
    refused("MemSpecLimit", kNoSpecialised),
    refused("RestrictedCoresPerGPU", kNoSpecialised),
    refused("Parameters", "per-node parameters are not implemented: take the key out"),
    refused("Topology", "the network's topology is not known: take the key out"),
    refused("SuspendTime", "nodes are not powered up and down: take the key out"),
});

tl::unexpected<Error> invalid(std::string message, std::string detail) {
  return fail(ErrorCode::kInvalidArgument, std::move(message), std::move(detail));
}

// A list that names one thing for each of `count` nodes; `fallback` where the list is empty.
Result<std::vector<std::string>> parallel_list(std::string_view key, std::string_view text,
                                               const std::vector<std::string>& fallback) {
  if (text.empty()) return fallback;
  std::vector<std::string> names = TRY(expand_hostlist(text));
  // A shorter list is a mistake: which node has which address would be a guess.
  if (names.size() == fallback.size()) return names;
  return invalid(
      fmt::format("{}={} has {} entries for {} nodes", key, text, names.size(), fallback.size()),
      "give one for each node");
}

Result<std::vector<std::uint16_t>> parallel_ports(std::string_view text, std::size_t count) {
  std::vector<std::uint16_t> ports(count, 0);
  if (text.empty()) return ports;
  const std::vector<std::string> texts = TRY(expand_hostlist(text));
  // One port for all of them is the usual case.
  if (texts.size() != 1 && texts.size() != count) {
    return invalid(fmt::format("Port={} has {} entries for {} nodes", text, texts.size(), count),
                   "give one for all, or one for each node");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto port = parse_whole32(texts[texts.size() == 1 ? 0 : i], 65535);
    if (!port || *port == 0)
      return invalid(fmt::format("Port={} is no port", text), "write 1 to 65535");
    ports[i] = static_cast<std::uint16_t>(*port);
  }
  return ports;
}

// 0 is a key that was not given.
std::uint32_t or_one(std::uint32_t value) { return value == 0 ? 1 : value; }

NodeDraft with_processors(NodeDraft draft) {
  if (draft.cpus == 0) draft.cpus = draft.processors;
  return draft;
}

// Fills in what was not given.
Status set_cpus(const NodeDraft& draft, NodeConfig& node) {
  node.boards = or_one(draft.boards);
  node.cores_per_socket = or_one(draft.cores_per_socket);
  node.threads_per_core = or_one(draft.threads_per_core);
  // What CPUs and the rest leave for it. Source: slurm.conf(5), Sockets.
  const std::uint64_t each = std::uint64_t{node.cores_per_socket} * node.threads_per_core;
  const auto inferred = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, draft.cpus / each));
  node.sockets = draft.sockets_per_board != 0 ? draft.sockets_per_board * node.boards
                 : draft.sockets != 0         ? draft.sockets
                                              : inferred;
  const std::uint64_t cores = std::uint64_t{node.sockets} * node.cores_per_socket;
  const std::uint64_t threads = cores * node.threads_per_core;
  // More than 16 bits fit no table.
  if (threads > 65535)
    return invalid(fmt::format("{} CPUs are too many for one node", threads), "at most 65535");
  node.cpus = draft.cpus == 0 ? static_cast<std::uint32_t>(threads) : draft.cpus;
  // A node may have as many CPUs as cores, or as threads: anything else is two configurations.
  if (node.cpus == threads || node.cpus == cores) return {};
  return invalid(fmt::format("CPUs={} contradicts Sockets={} CoresPerSocket={} ThreadsPerCore={}",
                             node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core),
                 fmt::format("write {} (threads) or {} (cores), or take CPUs out", threads, cores));
}

}  // namespace

std::span<const ConfKey<NodeDraft>> node_conf_keys() { return kKeys; }

Result<std::vector<NodeConfig>> expand_node_draft(std::string_view names, const NodeDraft& draft) {
  const std::vector<std::string> node_names = TRY(expand_hostlist(names));
  if (node_names.empty())
    return invalid(fmt::format("NodeName={} names no node", names), "write a name or a host list");
  const std::vector<std::string> host_names =
      TRY(parallel_list("NodeHostname", draft.host_names, node_names));
  const std::vector<std::string> addresses =
      TRY(parallel_list("NodeAddr", draft.addresses, host_names));
  const std::vector<std::uint16_t> ports = TRY(parallel_ports(draft.ports, node_names.size()));
  NodeConfig node = draft.common;
  TRY(set_cpus(with_processors(draft), node));
  node.gres = draft.gres;
  std::vector<NodeConfig> nodes(node_names.size(), node);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].name = node_names[i];
    nodes[i].host_name = host_names[i];
    nodes[i].address = addresses[i];
    nodes[i].port = ports[i];
  }
  return nodes;
}

}  // namespace muster
