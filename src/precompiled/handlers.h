// What roles.h has, with what handlers of HTTP read and answer.
#pragma once

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "precompiled/roles.h"
