// What model_test.h has, with the controller on which nearly each of its tests is built.
#pragma once

#include "controller/testing.h"
#include "precompiled/model_test.h"
