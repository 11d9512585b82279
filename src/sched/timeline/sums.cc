#include "sched/timeline/sums.h"

namespace muster::sched {

void CapacityTable::work_out(std::uint32_t* entry, NodeFree row, NodeIndex node,
                             const Fitter& fitter) {
  const auto candidate = candidate_at(fitter, node, row);
  entry[0] = candidate ? std::min(candidate->tasks, kUnknown - 1) : 0;
  for (std::size_t i = 0; i < fitter.demand().per_job.size(); ++i)
    entry[1 + i] = candidate ? candidate->shares[i] : 0;
}

}  // namespace muster::sched
