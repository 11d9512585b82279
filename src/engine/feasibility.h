// Answers whether a job could ever run here.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/ids.h"
#include "model/job_spec.h"

namespace muster {

class Feasibility {
 public:
  virtual ~Feasibility() = default;
  /// Checks one job. Errors: kInvalidArgument: no set of this cluster's nodes would do in any of
  /// the partitions, were all of them free. Cost: O(nodes).
  virtual Status check_satisfiable(const JobSpec& spec,
                                   const std::vector<PartitionIndex>& partitions) const = 0;
};

}  // namespace muster
