// Decides who may act on which job.
#pragma once

#include "model/job.h"
#include "model/request.h"

namespace muster::access {

/// True when the caller may act on the job.
bool may_control(const Job& job, const Identity& identity);

}  // namespace muster::access
