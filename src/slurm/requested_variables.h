// The variables that tell what a user asked for: SLURM_NTASKS, SLURM_GPUS_PER_NODE, ... One list
// for batch scripts, steps and the commands of salloc. What was only assumed does not reach the
// environment: programs read these as the user's wish.
#pragma once

#include <string>
#include <string_view>

#include "model/job_spec.h"
#include "slurm/environment_text.h"

namespace muster {

/// Adds what JobSpec::given says was given. Source: sbatch(1), salloc(1), OUTPUT ENVIRONMENT
/// VARIABLES.
void add_requested_variables(Environment& environment, const JobSpec& job);

/// Sets SLURM_MEM_PER_CPU, _GPU or _NODE, one in place of the others. Sets nothing for the default
/// scope and for no amount.
void set_memory_variable(Environment& environment, MemoryScope scope, std::uint64_t memory_mib);

/// Sets SLURM_DISTRIBUTION, and SLURM_DIST_PLANESIZE with "plane=4" alone. Sets nothing for an
/// empty text.
void set_distribution(Environment& environment, std::string_view distribution);

/// Returns "cpu=2,gres/gpu:h100=1": SLURM_TRES_PER_TASK, which --tres-per-task reads back. `cpus` 0
/// is left out.
std::string tres_per_task_text(std::uint32_t cpus, std::string_view gres);

}  // namespace muster
