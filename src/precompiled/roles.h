// As model.h, with the roles of a controller, for what drives them: HTTP, the daemon's threads, the
// simulator.
#pragma once

#include "controller/core.h"
#include "controller/experiments/search_role.h"
#include "controller/gateway/gateway.h"
#include "precompiled/model.h"
