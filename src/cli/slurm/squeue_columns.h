// The columns of squeue: letters of -o and names of -O, for jobs and for steps. Source: squeue(1).
#pragma once

#include <span>

#include "cli/slurm/column_table.h"
#include "model/view.h"

namespace muster::cli {

std::span<const Column<JobView>> job_columns();
std::span<const Column<StepView>> step_columns();

inline constexpr std::string_view kSqueueFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R";
inline constexpr std::string_view kSqueueLongFormat =
    "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R";
inline constexpr std::string_view kSqueueStartFormat =
    "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R";
inline constexpr std::string_view kSqueueStepFormat = "%.15i %.8j %.9P %.8u %.9M %N";
inline constexpr std::string_view kSqueueStateFormat = "%.18i %.2t";

}  // namespace muster::cli
