// The conditions of a filter on jobs that are views already: those that history gives back.
#pragma once

#include "model/request.h"
#include "model/view.h"

namespace muster {

/// True when the job meets every condition of the filter but its ids: the same as frontend::matches for one in memory.
bool matches(const JobView& job, const JobFilter& filter);

}  // namespace muster
