// Feature constraints as text: --constraint="gpu&(ib|roce)" into alternatives of required features.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "model/resource_request.h"

namespace muster {

/// The most alternatives that an expression may stand for.
inline constexpr std::size_t kFeatureAlternativesMax = 256;

/// Reads names joined by "&" or "," (and) and "|" (or), with parentheses. Operators have one rank
/// and bind from the left, as Slurm's do: "a|b&c" is (a|b)&c. Empty text is no constraint. Shape:
/// features of an alternative sorted, each once; alternatives sorted, each once. Errors:
/// kInvalidArgument "Invalid feature specification" with the offending part; kUnimplemented for
/// "[a|b]" (one feature for all nodes) and counts ("a*2"); kResourceExhausted above
/// kFeatureAlternativesMax. Source: sbatch(1) --constraint.
Result<FeatureConstraint> parse_features(std::string_view text);

}  // namespace muster
