// A configuration from its lines: settings, nodes and partitions are collected, and what needs all
// of them is done at the end. A mistake is a finding of its line, so that all of them are said at
// once.

#include "slurm/conf/slurm_conf.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "slurm/conf/conf_cluster.h"
#include "slurm/conf/conf_node.h"
#include "slurm/conf/conf_partition.h"
#include "slurm/conf/conf_shown.h"
#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kNodeRecord = "NodeName";
constexpr std::string_view kPartitionRecord = "PartitionName";
constexpr std::string_view kDefault = "DEFAULT";

// Record types that Muster does not have, with the way out.
struct RefusedRecord {
  std::string_view name;
  std::string_view way;
};
// Records of Slurm that Muster has not: each says where its content belongs instead.
constexpr std::array<RefusedRecord, 5> kRefusedRecords = {{
    {"NodeSet", "name the nodes on the partition's line"},
    {"DownNodes", "write State=DOWN and Reason= on the NodeName line"},
    {"FrontendName", "every node runs an agent of its own"},
    {"SwitchName", "the network's topology is not known"},
    {"PowerAction", "nodes are not powered up and down: take the line out"},
}};

const RefusedRecord* refused_record(std::string_view name) {
  const auto is_it = [&](const RefusedRecord& record) {
    return equal_ignoring_case(name, record.name);
  };
  const auto found = std::ranges::find_if(kRefusedRecords, is_it);
  return found == kRefusedRecords.end() ? nullptr : &*found;
}

// Builds a SlurmConf line by line; what needs the whole file is done in `finish`. A mistake becomes
// a finding, and the building goes on with what is left of the line.
class Builder {
 public:
  explicit Builder(std::vector<ConfFinding> findings) { conf_.findings = std::move(findings); }

  // Slurm's records are told apart by the first key of a line.
  void add(const ConfLine& line) {
    const std::string& first = line.pairs.front().key;
    if (equal_ignoring_case(first, kNodeRecord)) return add_nodes(line);
    if (equal_ignoring_case(first, kPartitionRecord)) return add_partition(line);
    const RefusedRecord* refused = refused_record(first);
    if (refused == nullptr) return add_settings(line);
    report(line.place(), first,
           Error{ErrorCode::kUnimplemented, fmt::format("{} is not supported", refused->name),
                 std::string(refused->way)});
  }

  SlurmConf finish(std::string_view file) {
    check_required(file);
    check_settings(file);
    // A node listens where agents do unless its line says otherwise.
    for (NodeConfig& node : conf_.cluster.nodes) {
      if (node.port == 0) node.port = conf_.daemons.agent_port;
    }
    for (std::size_t i = 0; i < partition_lines_.size(); ++i) {
      // Partitions need all nodes, whichever stands first.
      const Status status = resolve_partition(conf_.cluster, conf_.cluster.partitions[i]);
      if (!status.has_value())
        report(partition_lines_[i].place(), kPartitionRecord, status.error());
    }
    conf_.cluster.settings.shown = shown_config(conf_);
    return std::move(conf_);
  }

 private:
  void report(std::string place, std::string_view key, const Error& error) {
    conf_.findings.push_back(failure_at(std::move(place), key, error));
  }
  void wrong(std::string place, std::string_view key, std::string message, std::string detail) {
    report(std::move(place), key,
           Error{ErrorCode::kInvalidArgument, std::move(message), std::move(detail)});
  }

  template <class Target>
  void apply_pairs(const ConfLine& line, std::span<const ConfKey<Target>> keys, std::size_t from,
                   Target& target) {
    for (std::size_t i = from; i < line.pairs.size(); ++i) {
      const ConfPair& pair = line.pairs[i];
      const std::size_t before = conf_.findings.size();
      // A setter of a key knows no place: its findings get that of the line.
      const Status status = apply_conf_key(keys, pair.key, pair.value, target);
      for (std::size_t n = before; n < conf_.findings.size(); ++n)
        conf_.findings[n].place = line.place();
      if (!status.has_value()) {
        report(line.place(), pair.key, status.error());
      } else {
        // A key that was taken may still be old, or have no effect here.
        record(line, *find_conf_key(keys, pair.key), pair.value);
      }
    }
  }
  /// Says of a pair that was taken what became of it, where that is not what one would expect.
  template <class Target>
  void record(const ConfLine& line, const ConfKey<Target>& key, const std::string& value) {
    const auto add = [&](ConfFindingKind kind, std::string_view what, std::string_view remedy) {
      conf_.findings.push_back({kind, line.place(), std::string(key.name),
                                fmt::format("{}={} {}", key.name, value, what),
                                std::string(remedy)});
    };
    // Only what does not do what one would expect is worth a line.
    if (key.handling == ConfHandling::kNoEffect)
      return add(ConfFindingKind::kNoEffect, "has no effect", key.reason);
    if (!key.replacement.empty()) add(ConfFindingKind::kOld, "is an old spelling", key.replacement);
    const std::string_view why =
        key.why_no_effect == nullptr ? std::string_view() : key.why_no_effect(value);
    if (!why.empty()) add(ConfFindingKind::kNoEffect, "has no effect", why);
  }

  void add_settings(const ConfLine& line) {
    apply_pairs(line, cluster_conf_keys(), 0, conf_);
    for (const ConfPair& pair : line.pairs) {
      const auto* key = find_conf_key(cluster_conf_keys(), pair.key);
      // A key with a value of its own may be given once: of two, one would silently win.
      const bool is_single =
          key != nullptr && key->handling == ConfHandling::kHonoured && key->show != nullptr;
      if (is_single && !given_.insert(key->name).second) {
        wrong(line.place(), key->name, fmt::format("{} is set a second time", key->name),
              "keep one of the two");
      }
    }
  }

  void add_nodes(const ConfLine& line) {
    const std::string& names = line.pairs.front().value;
    // DEFAULT changes what the lines behind it start from.
    NodeDraft draft = node_defaults_;
    apply_pairs(line, node_conf_keys(), 1, draft);
    if (equal_ignoring_case(names, kDefault)) {
      node_defaults_ = std::move(draft);
      return;
    }
    auto nodes = expand_node_draft(names, draft);
    // A line that is wrong gives no nodes: what it would have meant is not guessed.
    if (!nodes.has_value()) return report(line.place(), kNodeRecord, nodes.error());
    for (NodeConfig& node : *nodes) add_node(line, std::move(node), draft.initial);
  }

  void add_node(const ConfLine& line, NodeConfig node, const InitialNode& initial) {
    if (!node_names_.insert(node.name).second) {
      // Two records of one node cannot both be true.
      return wrong(line.place(), kNodeRecord,
                   fmt::format("node {} is configured a second time", node.name),
                   "keep one of the two");
    }
    // Where a resource is first named, for the finding about it.
    for (const GresPool& pool : node.gres) gres_lines_.try_emplace(pool.name, line);
    conf_.cluster.nodes.push_back(std::move(node));
    conf_.initial_nodes.push_back(initial);
  }

  void add_partition(const ConfLine& line) {
    const std::string& name = line.pairs.front().value;
    PartitionConfig partition = partition_defaults_;
    apply_pairs(line, partition_conf_keys(), 1, partition);
    if (equal_ignoring_case(name, kDefault)) {
      partition_defaults_ = std::move(partition);
      return;
    }
    for (const PartitionConfig& other : conf_.cluster.partitions) {
      // The first of the two keeps the name.
      if (other.name == name) {
        return wrong(line.place(), kPartitionRecord,
                     fmt::format("partition {} is configured a second time", name),
                     "keep one of the two");
      }
      // Which of two defaults a job gets would be decided by chance.
      if (other.is_default && partition.is_default) {
        return wrong(line.place(), "Default",
                     fmt::format("partitions {} and {} are both the default", other.name, name),
                     "write Default=YES on one of them");
      }
    }
    partition.name = name;
    conf_.cluster.partitions.push_back(std::move(partition));
    partition_lines_.push_back(line);
  }

  void check_required(std::string_view file) {
    const auto missing = [&](std::string_view what) {
      wrong(std::string(file), what, fmt::format("{} is missing", what), "add the line");
    };
    // Reported on the file: a line that is missing has no place of its own.
    if (given_.count("ClusterName") == 0) missing("ClusterName");
    const auto& controllers = conf_.daemons.controllers;
    if (controllers.empty() || controllers.front().name.empty()) missing("SlurmctldHost");
    if (conf_.cluster.nodes.empty()) missing("NodeName");
    if (conf_.cluster.partitions.empty()) missing("PartitionName");
  }

  void check_settings(std::string_view file) {
    const ClusterSettings& settings = conf_.cluster.settings;
    if (settings.default_memory_per_cpu_mib != 0 && settings.default_memory_per_node_mib != 0) {
      wrong(std::string(file), "DefMemPerNode", "DefMemPerCPU and DefMemPerNode are both set",
            "set one of them");
    }
    // Slurm wants every resource of a node in GresTypes.
    for (const auto& [name, line] : gres_lines_) {
      const auto& types = settings.gres_types;
      if (std::find(types.begin(), types.end(), name) == types.end()) {
        wrong(line.place(), "Gres", fmt::format("Gres {} is not in GresTypes", name),
              fmt::format("add {} to GresTypes", name));
      }
    }
  }

  SlurmConf conf_;
  NodeDraft node_defaults_;
  PartitionConfig partition_defaults_ = default_partition();
  std::set<std::string_view> given_;  // honoured keys of the cluster
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

SlurmConf read_slurm_conf(std::string_view file, std::string_view text,
                          const IncludeReader& read_include) {
  std::vector<ConfFinding> findings;
  const std::vector<ConfLine> lines = read_conf_lines(file, text, read_include, findings);
  // The file's own findings come first, those of its content after them.
  Builder builder(std::move(findings));
  for (const ConfLine& line : lines) builder.add(line);
  return builder.finish(file);
}

Result<SlurmConf> parse_slurm_conf(std::string_view file, std::string_view text,
                                   const IncludeReader& read_include) {
  SlurmConf conf = read_slurm_conf(file, text, read_include);
  TRY(first_failure(conf.findings));
  return conf;
}

std::vector<SlurmConfKey> slurm_conf_keys() {
  // For `muster config check` and the manual: every key with what is done with it.
  std::vector<SlurmConfKey> all;
  append_keys("", cluster_conf_keys(), all);
  append_keys(kNodeRecord, node_conf_keys(), all);
  append_keys(kPartitionRecord, partition_conf_keys(), all);
  for (const RefusedRecord& record : kRefusedRecords)
    all.push_back({record.name, record.name, ConfHandling::kRefused, record.way});
  return all;
}

}  // namespace muster
