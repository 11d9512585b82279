// The part of a job that decides where it may run and what it uses there. With a partition it is a
// need of the planner, compiled once for all jobs that have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// The unit that `memory_mib` is an amount for: kDefault when no memory was asked for.
enum class MemoryScope : std::uint8_t { kDefault = 0, kPerNode = 1, kPerCpu = 2, kPerGpu = 3 };

/// The most tasks, nodes, CPUs and devices that are reckoned with: more than any cluster has, and
/// products of two of them stay far below 2^63.
inline constexpr std::uint32_t kCountMax = (1U << 24) - 1;

/// An amount of a generic resource. An empty type matches every type of that name.
struct GresAmount {
  std::string name;
  std::string type;
  std::uint32_t count = 0;
  friend auto operator<=>(const GresAmount&, const GresAmount&) = default;
};

/// A feature constraint in disjunctive form: true when all features of one alternative are there.
/// Empty: always true.
struct FeatureConstraint {
  std::vector<std::vector<std::string>> alternatives;
  friend auto operator<=>(const FeatureConstraint&, const FeatureConstraint&) = default;
};

/// The resources that a job asks for, with texts parsed: in a JobSpec as the user gave them, in the
/// planner with the partition's and the cluster's defaults filled in. Memory and disk in MiB. Zero
/// means "not given" wherever a field says nothing else.
struct ResourceRequest {
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 0;       ///< 0: no bound but the partition's
  std::uint32_t task_count = 1;      ///< over all nodes
  std::uint32_t tasks_per_node = 0;  ///< at most so many; 0: no bound
  std::uint32_t cpus_per_task = 1;
  std::uint32_t min_cpus_per_node = 0;
  std::uint32_t cpus_per_gpu = 0;
  std::uint32_t tasks_per_gpu = 0;
  std::uint32_t sockets_per_node = 0;  ///< the node must have at least so many
  std::uint32_t cores_per_socket = 0;
  std::uint32_t threads_per_core = 0;
  std::uint32_t tmp_disk_mib = 0;
  MemoryScope memory_scope = MemoryScope::kDefault;
  std::uint64_t memory_mib = 0;  ///< with kPerNode, 0 means all of the node's memory
  bool is_contiguous = false;
  bool is_fewest_nodes = false;  ///< of a range of nodes the least, also where more are free
  bool is_overcommit = false;    ///< tasks share CPUs: one CPU per node is enough
  std::vector<GresAmount> gres_per_node;
  std::vector<GresAmount> gres_per_job;
  std::vector<GresAmount> gres_per_task;
  FeatureConstraint features;
  FeatureConstraint preferred;  ///< nodes that are used where the job can start on them at once
  std::vector<std::string> required_nodes;  ///< each once; all must be in the allocation
  std::vector<std::string> excluded_nodes;  ///< each once

  // Follows from the rest of the job and its partition: resource_need() fills it in. Each node runs
  // tasks_per_node of the tasks, however many nodes the job gets.
  bool is_tasks_per_node_exact = false;
  bool is_exclusive = false;  ///< whole nodes

  friend bool operator==(const ResourceRequest&, const ResourceRequest&) = default;
};

/// Returns a hash for tables in memory: equal requests have equal ones. It is recorded nowhere, and
/// covers every member. Cost: O(size of the request).
std::uint64_t table_hash(const ResourceRequest& request);

/// The amounts of a request that a partition's rules on memory change (DefMemPerCPU, MaxMemPerCPU
/// and their like).
struct MemoryTerms {
  std::uint32_t cpus_per_task = 0;
  std::uint32_t min_cpus_per_node = 0;
  MemoryScope memory_scope = MemoryScope::kDefault;
  std::uint64_t memory_mib = 0;

  friend bool operator==(const MemoryTerms&, const MemoryTerms&) = default;
};

}  // namespace muster
