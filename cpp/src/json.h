// Values as JSON texts. The one file that knows the JSON library.
#pragma once

#include <string>
#include <string_view>

#include "muster/core.hpp"

namespace muster::core {

/// Errors: std::invalid_argument that says where. `what` is to blame.
Value parse_json(const std::string& what, std::string_view text);
/// One line. Numbers that JSON lacks are spelled "NaN", "Infinity", "-Infinity"; texts that are no
/// UTF-8 get replacements.
std::string json_of(const Value& value);
/// Such texts as numbers again, at any depth.
Value decoded(Value value);

}  // namespace muster::core
