// standard.h as folders use it that are compiled for what waits for others.
#pragma once

#include "precompiled/standard.h"
