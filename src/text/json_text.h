// JSON values as text (RFC 8259). Reading JSON is parse_yaml's work: every JSON text is YAML.
#pragma once

#include <string>

#include "model/json.h"

namespace muster {

/// Returns the value as one line. Whole numbers have no point and numbers have one or an exponent,
/// so that reading gives the same value back; what JSON has no numbers for is the text "NaN",
/// "Infinity" or "-Infinity". Texts stay as they are but for escapes.
std::string json_text(const Json& value);

/// Returns a text in quotes.
std::string json_quoted(std::string_view text);

}  // namespace muster
