// What standard.h has, for folders that are compiled with COLD.
#pragma once

#include "precompiled/standard.h"
