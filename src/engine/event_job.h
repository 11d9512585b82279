// Tells which job an event is about.
#pragma once

#include "model/event.h"

namespace muster {

/// Returns the job; 0: there is none, or several.
JobId job_of(const EventBody& body);

}  // namespace muster
