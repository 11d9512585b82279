// What model.h has, for tests.
#pragma once

#include <gtest/gtest.h>

#include "precompiled/model.h"
