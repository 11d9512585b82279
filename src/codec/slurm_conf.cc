#include "codec/slurm_conf.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "codec/conf_cluster.h"
#include "codec/conf_node.h"
#include "codec/conf_partition.h"
#include "codec/words.h"

namespace muster {
namespace {

constexpr std::string_view kNodeRecord = "NodeName";
constexpr std::string_view kPartitionRecord = "PartitionName";
constexpr std::string_view kDefault = "DEFAULT";

tl::unexpected<Error> at(const ConfLine& line, const Error& error) {
  return fail(error.code, fmt::format("{}: {}", line.place(), error.message), error.detail);
}
tl::unexpected<Error> at(const ConfLine& line, std::string message, std::string detail) {
  return at(line, Error{ErrorCode::kInvalidArgument, std::move(message), std::move(detail)});
}

// Record types that Muster does not have, with the way out.
struct RefusedRecord {
  std::string_view name;
  std::string_view way;
};
constexpr std::array<RefusedRecord, 4> kRefusedRecords = {{
    {"NodeSet", "name the nodes on the partition's line"},
    {"DownNodes", "write State=DOWN and Reason= on the NodeName line"},
    {"FrontendName", "every node runs an agent of its own"},
    {"SwitchName", "the network's topology is not known"},
}};

// Builds a SlurmConf line by line; what needs the whole file is done in `finish`.
class Builder {
 public:
  Status add(const ConfLine& line) {
    const std::string& first = line.pairs.front().key;
    if (equal_ignoring_case(first, kNodeRecord)) return add_nodes(line);
    if (equal_ignoring_case(first, kPartitionRecord)) return add_partition(line);
    for (const RefusedRecord& record : kRefusedRecords) {
      if (!equal_ignoring_case(first, record.name)) continue;
      return at(line,
                Error{ErrorCode::kUnimplemented, fmt::format("{} is not supported", record.name),
                      std::string(record.way)});
    }
    return add_settings(line);
  }

  Result<SlurmConf> finish(std::string_view file) {
    TRY(check_required(file));
    TRY(check_settings(file));
    for (NodeConfig& node : conf_.cluster.nodes) {
      if (node.port == 0) node.port = conf_.daemons.agent_port;
    }
    for (std::size_t i = 0; i < partition_lines_.size(); ++i) {
      const Status status = resolve_partition(conf_.cluster, conf_.cluster.partitions[i]);
      if (!status.has_value()) return at(partition_lines_[i], status.error());
    }
    show_settings();
    return std::move(conf_);
  }

 private:
  template <class Target>
  static Status apply_pairs(const ConfLine& line, std::span<const ConfKey<Target>> keys,
                            std::size_t from, Target& target) {
    for (std::size_t i = from; i < line.pairs.size(); ++i) {
      const Status status = apply_conf_key(keys, line.pairs[i].key, line.pairs[i].value, target);
      if (!status.has_value()) return at(line, status.error());
    }
    return {};
  }

  Status add_settings(const ConfLine& line) {
    TRY(apply_pairs(line, cluster_conf_keys(), 0, conf_));
    for (const ConfPair& pair : line.pairs) {
      const auto* key = find_conf_key(cluster_conf_keys(), pair.key);
      if (key->handling == ConfHandling::kHonoured && key->show != nullptr &&
          !given_.insert(key->name).second) {
        return at(line, fmt::format("{} is set a second time", key->name), "keep one of the two");
      }
      if (key->handling != ConfHandling::kHonoured) accepted_[key->name] = pair.value;
      if (key->handling == ConfHandling::kNoEffect) {
        conf_.notes.push_back(fmt::format("{}={} has no effect: {}", key->name, pair.value, key->reason));
      }
    }
    return {};
  }

  Status add_nodes(const ConfLine& line) {
    const std::string& names = line.pairs.front().value;
    NodeDraft draft = node_defaults_;
    TRY(apply_pairs(line, node_conf_keys(), 1, draft));
    if (equal_ignoring_case(names, kDefault)) {
      node_defaults_ = std::move(draft);
      return {};
    }
    auto nodes = expand_node_draft(names, draft);
    if (!nodes.has_value()) return at(line, nodes.error());
    for (NodeConfig& node : *nodes) TRY(add_node(line, std::move(node), draft.initial));
    return {};
  }

  Status add_node(const ConfLine& line, NodeConfig node, const InitialNode& initial) {
    if (!node_names_.insert(node.name).second) {
      return at(line, fmt::format("node {} is configured a second time", node.name),
                "keep one of the two");
    }
    for (const GresPool& pool : node.gres) gres_lines_.try_emplace(pool.name, line);
    conf_.cluster.nodes.push_back(std::move(node));
    conf_.initial_nodes.push_back(initial);
    return {};
  }

  Status add_partition(const ConfLine& line) {
    const std::string& name = line.pairs.front().value;
    PartitionConfig partition = partition_defaults_;
    TRY(apply_pairs(line, partition_conf_keys(), 1, partition));
    if (equal_ignoring_case(name, kDefault)) {
      partition_defaults_ = std::move(partition);
      return {};
    }
    for (const PartitionConfig& other : conf_.cluster.partitions) {
      if (other.name == name) {
        return at(line, fmt::format("partition {} is configured a second time", name),
                  "keep one of the two");
      }
      if (other.is_default && partition.is_default) {
        return at(line, fmt::format("partitions {} and {} are both the default", other.name, name),
                  "write Default=YES on one of them");
      }
    }
    partition.name = name;
    conf_.cluster.partitions.push_back(std::move(partition));
    partition_lines_.push_back(line);
    return {};
  }

  Status check_required(std::string_view file) const {
    const auto missing = [&](std::string_view what) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {} is missing", file, what),
                  "add the line");
    };
    if (given_.count("ClusterName") == 0) return missing("ClusterName");
    if (conf_.daemons.controllers.empty()) return missing("SlurmctldHost");
    if (conf_.cluster.nodes.empty()) return missing("NodeName");
    if (conf_.cluster.partitions.empty()) return missing("PartitionName");
    return {};
  }

  Status check_settings(std::string_view file) const {
    const ClusterSettings& settings = conf_.cluster.settings;
    const auto wrong = [&](std::string_view what, std::string way) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", file, what), std::move(way));
    };
    if (settings.default_memory_per_cpu_mib != 0 && settings.default_memory_per_node_mib != 0) {
      return wrong("DefMemPerCPU and DefMemPerNode are both set", "set one of them");
    }
    for (const auto& [name, line] : gres_lines_) {
      const auto& types = settings.gres_types;
      if (std::find(types.begin(), types.end(), name) == types.end()) {
        return at(line, fmt::format("Gres {} is not in GresTypes", name),
                  fmt::format("add {} to GresTypes", name));
      }
    }
    return {};
  }

  void show_settings() {
    auto& shown = conf_.cluster.settings.shown;
    shown = shown_controllers(conf_.daemons);
    for (const ConfKey<SlurmConf>& key : cluster_conf_keys()) {
      if (key.show != nullptr) shown.emplace_back(key.name, key.show(conf_));
    }
    for (const auto& [name, value] : accepted_) shown.emplace_back(name, value);
    std::sort(shown.begin(), shown.end());
  }

  SlurmConf conf_;
  NodeDraft node_defaults_;
  PartitionConfig partition_defaults_ = default_partition();
  std::set<std::string_view> given_;                  // honoured keys of the cluster
  std::map<std::string_view, std::string> accepted_;  // the others that were given
  std::set<std::string, std::less<>> node_names_;
  std::map<std::string, ConfLine, std::less<>> gres_lines_;  // where each gres is first named
  std::vector<ConfLine> partition_lines_;                    // as conf_.cluster.partitions
};

template <class Target>
void append_keys(std::string_view record, std::span<const ConfKey<Target>> keys,
                 std::vector<SlurmConfKey>& all) {
  for (const ConfKey<Target>& key : keys)
    all.push_back({record, key.name, key.handling, key.reason});
}

}  // namespace

Result<SlurmConf> parse_slurm_conf(std::string_view file, std::string_view text,
                                   const IncludeReader& read_include) {
  Builder builder;
  for (const ConfLine& line : TRY(parse_conf_lines(file, text, read_include)))
    TRY(builder.add(line));
  return builder.finish(file);
}

std::vector<SlurmConfKey> slurm_conf_keys() {
  std::vector<SlurmConfKey> all;
  append_keys("", cluster_conf_keys(), all);
  append_keys(kNodeRecord, node_conf_keys(), all);
  append_keys(kPartitionRecord, partition_conf_keys(), all);
  return all;
}

}  // namespace muster
