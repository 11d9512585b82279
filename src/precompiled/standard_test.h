// What standard.h has, for tests.
#pragma once

#include <gtest/gtest.h>

#include "precompiled/standard.h"
