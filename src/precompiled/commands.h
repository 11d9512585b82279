// What model.h has, with a command's connection to the controller.
#pragma once

#include "cli/lib/session.h"
#include "precompiled/model.h"
