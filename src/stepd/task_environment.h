// Makes the environment of a task. Source: sbatch(1) and srun(1), OUTPUT ENVIRONMENT VARIABLES.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/agent_message.h"
#include "slurm/environment_text.h"
#include "slurm/rank_layout.h"
#include "stepd/task_binding.h"

namespace muster {

/// Returns how the step's tasks lie over its nodes, by the step's --distribution. Batch scripts
/// have one task.
RankLayout step_layout(const LaunchStep& launch);

/// Returns the environment of all tasks of the step on this node: job, array, allocation and step
/// variables over the user's own. `conf_path` becomes SLURM_CONF; empty: not set.
Environment node_environment(const LaunchStep& launch, const RankLayout& layout,
                             const TaskBinding& binding, const std::string& conf_path);

/// Lets programs in the folder be found by name, after all that the user's own PATH has.
void add_search_folder(Environment& environment, const std::string& folder);

struct TaskIdentity {
  std::uint32_t rank = 0;      ///< in the step
  std::uint32_t local_id = 0;  ///< on this node
  std::int64_t process_id = 0;
};
/// Adds the variables of one task: ranks, process id, its GPUs.
void add_task_variables(Environment& environment, const LaunchStep& launch,
                        const TaskBinding& binding, const TaskIdentity& task);

}  // namespace muster
