// What model.h has, with the roles of a controller, for what drives them: HTTP, the daemon's
// threads, the simulator.
#pragma once

#include "controller/core.h"
#include "gateway/gateway.h"
#include "platform/search/search_role.h"
#include "precompiled/model.h"
