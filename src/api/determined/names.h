// Determined's names for what we have: states, ids of tasks and allocations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/gateway.h"
#include "model/checkpoint.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::api {

std::string state_name(const ExperimentView& experiment);
std::string state_name(const TrialView& trial, ExperimentState experiment);
std::string state_name(CheckpointState state);

/// Returns a user's number as clients want it, from 1: the machine's own and one more, because
/// root's is 0.
constexpr std::uint32_t user_number(UserId user) { return user.value() + 1; }

/// Returns a point in time as JSON; null when it is not set.
Json time_json(TimePoint time);
/// Returns a number as the text that JSON has for 64 bits.
Json wide(std::uint64_t value);

}  // namespace muster::api
