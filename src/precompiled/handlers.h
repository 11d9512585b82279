// What model.h has, with the gateway and what handlers of HTTP read and answer.
#pragma once

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "gateway/gateway.h"
#include "precompiled/model.h"
