// Determined's names for what we have: states, ids of tasks and allocations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/gateway/gateway.h"
#include "model/checkpoint.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::api {

std::string state_name(const ExperimentView& experiment);
std::string state_name(const TrialView& trial, ExperimentState experiment);
std::string_view state_name(CheckpointState state);

/// A point in time as JSON; null when it is not set.
Json time_json(TimePoint time);
/// A number as the text that JSON has for 64 bits.
Json wide(std::uint64_t value);

}  // namespace muster::api
