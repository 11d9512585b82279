// Shares the positions that one user's waiting trials have in the queue among that user's
// experiments. Nobody else's position changes: the same positions are handed out again among the
// same jobs.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sched/priority/rank.h"

namespace muster::sched {

/// A waiting job and the rank that it would have by itself.
struct SharedJob {
  Rank own;
  std::uint32_t group = 0;     ///< its experiment
  std::uint32_t priority = 0;  ///< of its experiment: less goes first
  double weight = 1;           ///< of its experiment, above 0
  double slots = 1;            ///< that it uses
};

/// Returns the rank of each job, by its new position. Groups of less priority number come first; of
/// equal ones always the group that has least in use for its weight, with its jobs in their own
/// order. Only jobs of equal Rank::priority change positions. `in_use`: slots of each group's
/// running jobs. Deterministic. Source: max-min fair sharing by start-time order, Goyal, Vin, Cheng
/// 1996 (start-time fair queueing). Cost: O(jobs · log jobs + jobs · groups).
std::vector<Rank> share_positions(std::vector<SharedJob> jobs,
                                  std::map<std::uint32_t, double> in_use);

}  // namespace muster::sched
