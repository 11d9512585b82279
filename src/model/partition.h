// A partition: a named set of nodes with limits and a rank.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// What a partition does: UP runs and accepts; DOWN accepts but does not start; DRAIN runs what
/// waits but accepts nothing; INACTIVE neither.
enum class PartitionState : std::uint8_t { kUp = 0, kDown = 1, kDrain = 2, kInactive = 3 };

/// "UP", "DOWN", "DRAIN", "INACTIVE".
constexpr std::string_view partition_state_name(PartitionState state) {
  switch (state) {
    case PartitionState::kUp: return "UP";
    case PartitionState::kDown: return "DOWN";
    case PartitionState::kDrain: return "DRAIN";
    case PartitionState::kInactive: return "INACTIVE";
  }
  return "UNKNOWN";
}

/// A partition with its effective values. Memory in MiB; 0 is "no limit" for every limit.
struct PartitionConfig {
  std::string name;
  std::string nodes_text;        ///< as written, for display
  std::vector<NodeIndex> nodes;  ///< rising
  bool is_default = false;
  bool is_hidden = false;
  bool is_root_only = false;
  PartitionState state = PartitionState::kUp;
  Duration max_time = Duration::infinite();
  Duration default_time;     ///< zero: none, jobs get max_time
  Duration over_time_limit;  ///< minutes past the limit before the kill; negative: the cluster's
  std::uint32_t min_nodes = 0;
  std::uint32_t max_nodes = 0;
  std::uint32_t max_cpus_per_node = 0;
  std::uint32_t priority_tier = 1;
  std::uint32_t priority_job_factor = 1;
  std::uint64_t default_memory_per_cpu_mib = 0;
  std::uint64_t default_memory_per_node_mib = 0;
  std::uint64_t default_memory_per_gpu_mib = 0;
  std::uint64_t max_memory_per_cpu_mib = 0;
  std::uint64_t max_memory_per_node_mib = 0;
  std::uint32_t default_cpus_per_gpu = 0;
  bool is_exclusive = false;  ///< OverSubscribe=EXCLUSIVE: whole nodes only
  std::vector<std::string> allow_groups;
  std::vector<std::string> allow_accounts;
  std::vector<std::string> deny_accounts;
  std::vector<std::string> allow_qos;
  friend bool operator==(const PartitionConfig&, const PartitionConfig&) = default;
};

}  // namespace muster
