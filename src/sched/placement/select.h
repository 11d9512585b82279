// Chooses the nodes that a job gets: a gang is placed whole or not at all.
//
// Rules, strongest first: required nodes are in; lower weight before higher (nodes of a higher
// weight are looked at only when the lower ones do not suffice); fewest nodes; then the first set
// in the given order. Tasks are laid in blocks over the chosen nodes in index order, each node
// getting at least one. Source: Slurm's select/cons_tres (node sets by weight; _cpus_to_use leaves
// one CPU for each later node).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sched/placement/fit.h"

namespace muster::sched {

/// How many nodes a job may have, partition included. Requires: 1 <= min <= max.
struct NodeLimits {
  std::uint32_t min = 1;
  std::uint32_t max = 1;
};

/// Returns how many tasks must find room when the job has the least number of nodes.
std::uint32_t least_task_count(const ResourceRequest& request, NodeLimits limits);

/// A node that can carry part of the job.
struct Candidate {
  NodeIndex node;
  std::uint32_t tasks = 0;  ///< at most so many
  Shares shares{};          ///< at most so much
};

/// Returns the candidate that `node` makes, or nothing when not even one task fits.
std::optional<Candidate> candidate_at(const Fitter& fitter, NodeIndex node, NodeFree free);

/// How long a placement is sought where tasks and devices pull towards different nodes. All other
/// cases are decided exactly.
enum class Effort : std::uint8_t {
  kQuick,  ///< only what some hundred steps find: for threads that others wait for
  kFull,
  kVerdict,  ///< as far as can be found out whether there is any
};

/// What a search for a placement may cost, and what it notices.
struct Seeking {
  Effort effort = Effort::kFull;
  std::vector<NodeIndex>* dead =
      nullptr;                ///< gains the nodes looked at that cannot carry even one task
  std::uint64_t cost = 0;     ///< out: grows by the steps that were made for tasks and devices at
                              ///< once, some 50 ns each
  bool is_undecided = false;  ///< out: where nothing was found, there may be something all the same
};

/// Returns a placement on nodes of `allowed`, or nothing. Shape: `order` lists every node that may
/// be used, in rising weight; the result rises by node. Cost: O(nodes looked at), which is few when
/// the first ones suffice; where tasks and devices pull towards different nodes, some thousand
/// steps and a few sorts more, and the number of nodes may then be above the fewest. Determinism:
/// stable under shrinking: when some other node's room, or room left over on a chosen node, goes
/// away, the choice remains. Reservations rely on it.
std::optional<std::vector<NodeAmount>> place(const Fitter& fitter, const Availability& availability,
                                             NodeLimits limits, std::span<const NodeIndex> order,
                                             const NodeSet& allowed, Seeking* how = nullptr);

/// Places as place() does, for a job that starts now: one that asked for a range of nodes gets as
/// many of them as there are, and one that would rather have some nodes gets them where they
/// suffice. Source: sbatch(1), --nodes, --use-min-nodes and --prefer.
std::optional<std::vector<NodeAmount>> place_widest(const Fitter& fitter,
                                                    const Availability& availability,
                                                    NodeLimits limits,
                                                    std::span<const NodeIndex> order,
                                                    const NodeSet& allowed, Seeking* how = nullptr);

}  // namespace muster::sched
