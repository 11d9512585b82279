// Applies the conditions of a filter to jobs that are views already: those that history returns,
// and those of an array's record that its ids name.
#pragma once

#include "model/request.h"
#include "model/view.h"

namespace muster {

/// True when the job meets every condition of the filter but its ids: the same as requests::matches
/// for one in memory.
bool matches(const JobView& job, const JobFilter& filter);

/// Cuts the view of an array's record down to those of its `remaining` elements that the filter
/// names; a single one looks as if it had split off. False: it names none of them. Whatever else
/// stays as it is. Source: Slurm 22.05.8, squeue -j 12_3.
bool cut_to_named(JobView& job, const Bitmap& remaining, const JobFilter& filter);

}  // namespace muster
