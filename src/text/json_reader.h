// Reads JSON (RFC 8259) as a value. It wraps nlohmann's parser; text/yaml_text.h reads files that
// people write.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster {

/// Returns the one value of a text. Whole numbers that an std::int64_t holds are whole, all others
/// numbers; of a name that stands twice the last counts. Errors: kInvalidArgument with the
/// position: no JSON, no UTF-8, more than 200 levels.
Result<Json> parse_json(std::string_view text);

}  // namespace muster
