// Works out which task runs where: how many tasks each node runs, which global ranks they have, and
// the texts that programs read. Pure arithmetic; the limits (CPUs, GPUs) are the caller's, as
// capacities.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/allocation.h"
#include "model/job_spec.h"
#include "model/node.h"

namespace muster {

enum class Distribution : std::uint8_t { kBlock = 0, kCyclic = 1, kPlane = 2 };

/// How ranks follow each other over the nodes.
struct DistributionRule {
  Distribution kind = Distribution::kBlock;
  std::uint32_t plane_size = 0;  ///< ranks put on a node at a time; kPlane alone, at least 1
  friend bool operator==(const DistributionRule&, const DistributionRule&) = default;
};

/// Reads the node part of --distribution: "block", "cyclic", "plane=4", "arbitrary" (refused), "*"
/// (block); parts after
/// ":" or "," say how tasks lie within a node and are not read here.
/// Errors: kInvalidArgument, kUnimplemented, naming the text. Source: srun(1) --distribution.
Result<DistributionRule> parse_distribution(std::string_view text);

/// True for --ntasks-per-node on a range of nodes without --ntasks: how many tasks there are
/// follows from the nodes it gets.
bool follows_nodes(const JobSpec& job);
/// Returns the job's tasks on `nodes` nodes: -n, or what follows from the other options.
std::uint32_t task_count_on(const JobSpec& job, std::size_t nodes);
/// Returns how many of `cpus` CPUs, whole cores of the node, tasks may use under
/// --threads-per-core.
std::uint32_t usable_cpus(const JobSpec& job, std::size_t cpus, const NodeConfig& node);

/// Returns how many tasks of a job one of its nodes is for: those planned there or, when the job
/// named no number of tasks, as many as its CPUs hold. Source: sbatch(1), SLURM_TASKS_PER_NODE.
std::uint32_t job_tasks_on(const JobSpec& job, const NodeGrant& grant);
/// Returns the same where not all of the node's CPUs are for tasks (`usable_cpus`).
std::uint32_t job_tasks_on(const JobSpec& job, const NodeGrant& grant, std::uint32_t usable);

/// Global ranks by node: ranks[node][local id] is a rank; rising within each node.
using RankLayout = std::vector<std::vector<std::uint32_t>>;

/// Returns the ranks of each node for given counts. Block: consecutive; cyclic: one per node in
/// turn; plane: plane_size per node in turn; full nodes are passed over.
RankLayout rank_layout(std::span<const std::uint32_t> counts, const DistributionRule& rule);

/// Where one rank is.
struct TaskPosition {
  std::uint32_t node = 0;
  std::uint32_t local_id = 0;
  friend bool operator==(const TaskPosition&, const TaskPosition&) = default;
};
/// Returns the positions by rank: the layout read the other way.
std::vector<TaskPosition> task_positions(const RankLayout& layout);

/// Returns "2(x3),1" for {2, 2, 2, 1}: SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE.
std::string counts_text(std::span<const std::uint32_t> counts);
/// Returns "0,2,4": SLURM_GTIDS of one node.
std::string ranks_text(std::span<const std::uint32_t> ranks);

}  // namespace muster
