// As model.h, with a command's way to the controller.
#pragma once

#include "cli/lib/session.h"
#include "precompiled/model.h"
