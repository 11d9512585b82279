// The job that an event is about.
#pragma once

#include "model/event.h"

namespace muster {

/// 0: none, or several.
JobId job_of(const EventBody& body);

}  // namespace muster
