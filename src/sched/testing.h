// Builders for tests, scenarios and benchmarks: a cluster and its jobs in a few words. Not for
// production code.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sched/plan/plan.h"
#include "sched/snapshot/snapshot.h"

namespace muster::sched::testing {

inline TimePoint at(std::int64_t seconds) { return TimePoint::from_seconds(1'000'000 + seconds); }

inline NodeConfig make_node(std::string name, std::uint32_t cpus, std::uint64_t memory_mib = 1000,
                            std::vector<GresPool> gres = {},
                            std::vector<std::string> features = {}) {
  NodeConfig node;
  node.name = std::move(name);
  node.cpus = cpus;
  node.cores_per_socket = cpus;
  node.memory_mib = memory_mib;
  node.gres = std::move(gres);
  node.features = std::move(features);
  return node;
}

inline PartitionConfig make_partition(std::string name, std::vector<std::uint32_t> nodes) {
  PartitionConfig partition;
  partition.name = std::move(name);
  for (const std::uint32_t node : nodes) partition.nodes.push_back(NodeIndex(node));
  return partition;
}

/// Makes a cluster with one partition over all nodes.
inline ClusterConfig make_cluster(std::vector<NodeConfig> nodes) {
  ClusterConfig config;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) all.push_back(i);
  config.nodes = std::move(nodes);
  config.partitions.push_back(make_partition("main", all));
  return config;
}

inline std::vector<NodeConfig> equal_nodes(std::uint32_t count, std::uint32_t cpus,
                                           std::uint64_t memory_mib = 1000) {
  std::vector<NodeConfig> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back(make_node("n" + std::to_string(i), cpus, memory_mib));
  return nodes;
}

inline ClusterSnapshot make_snapshot(ClusterConfig config) {
  ClusterSnapshot snapshot;
  snapshot.set_cluster(std::move(config));
  return snapshot;
}

inline PendingJob make_job(std::uint32_t id, ResourceRequest request,
                           std::int64_t limit_seconds = 100) {
  PendingJob job;
  job.id = JobId(id);
  job.request = std::make_shared<const ResourceRequest>(std::move(request));
  job.partitions = {PartitionIndex(0)};
  job.time_limit = Duration::seconds(limit_seconds);
  job.submit_time = at(id);
  return job;
}

inline ResourceRequest tasks(std::uint32_t count, std::uint32_t cpus_per_task = 1) {
  ResourceRequest request;
  request.task_count = count;
  request.cpus_per_task = cpus_per_task;
  return request;
}
inline ResourceRequest on_nodes(std::uint32_t nodes, std::uint32_t count,
                                std::uint32_t cpus_per_task = 1) {
  ResourceRequest request = tasks(count, cpus_per_task);
  request.min_nodes = nodes;
  request.max_nodes = nodes;
  return request;
}
inline ResourceRequest gpus_per_node(std::uint32_t count, const std::string& type = "") {
  ResourceRequest request;
  request.gres_per_node = {{"gpu", type, count}};
  return request;
}

/// Makes a plan's starts inventory, array elements under ids from `first_element_id` on.
inline void apply(ClusterSnapshot& snapshot, const Plan& plan,
                  std::uint32_t first_element_id = 1'000'000) {
  for (const Start& start : plan.starts) {
    const PendingJob job = *snapshot.find_pending(start.job);
    const bool is_array = job.element_count > 1 || job.throttle > 0;
    if (is_array) {
      snapshot.set_elements(job.id, job.element_count - 1, job.running_count + 1);
    } else {
      snapshot.remove_pending(job.id);
    }
    while (snapshot.find_running(JobId(first_element_id)) != nullptr) ++first_element_id;
    const JobId id = is_array ? JobId(first_element_id) : job.id;
    snapshot.start_job({id, start.partition, start.nodes, start.end});
  }
}

/// Returns "n0:2/4" for each node: tasks / CPUs.
inline std::string text(const std::vector<NodeAmount>& nodes) {
  std::string result;
  for (const NodeAmount& amount : nodes) {
    result += (result.empty() ? "n" : " n") + std::to_string(amount.node.value()) + ":" +
              std::to_string(amount.task_count) + "/" + std::to_string(amount.cpus);
  }
  return result;
}

/// Returns the nodes that `plan` starts the job on, or "-".
inline std::string placed(const Plan& plan, std::uint32_t job) {
  for (const Start& start : plan.starts) {
    if (start.job == JobId(job)) return text(start.nodes);
  }
  return "-";
}

}  // namespace muster::sched::testing
