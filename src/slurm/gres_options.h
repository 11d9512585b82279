// Works out what several options about the same devices mean together: --gres=gpu:4 with
// --gpus-per-task=1 is four GPUs per node, not eight.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/resource_request.h"

namespace muster {

/// Returns the number of nodes that --gpus=8 with --gpus-per-node=4 leaves: 2. Nullopt: the two
/// have no name in common, or do not divide. Source: sbatch(1), --gpus-per-node.
std::optional<std::uint32_t> implied_node_count(const std::vector<GresAmount>& per_job,
                                                const std::vector<GresAmount>& per_node);

/// Makes the amounts of `need` independent of each other, so that they add up. Of one name, an
/// amount without a type means the typed ones. An amount per job or per task that follows from
/// another one is left out; the numbers of nodes, or of tasks per node, that follow replace it.
/// Errors: kInvalidArgument "Invalid generic resource (gres) specification" when no allocation can
/// meet all of them.
Status combine_gres(ResourceRequest& need);

}  // namespace muster
