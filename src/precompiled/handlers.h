// What model.h has, with the roles of a controller and what handlers of HTTP read and answer: for
// what drives roles, which are HTTP, the daemon's threads and the simulator.
#pragma once

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "gateway/gateway.h"
#include "precompiled/model.h"
