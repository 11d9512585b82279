// Where in a JSON value something stands: "trials[0].hparams.lr", "models[*].name", "a.\"b.c\"".
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster::http_scenario {

/// What stands there. [-1] is the last element; [*] are all, and what stands behind it is looked up
/// in each, so that the answer is a list; "answer" is the value itself. Errors: kNotFound: there is
/// nothing; kInvalidArgument: the path cannot be read.
Result<Json> value_at(const Json& root, std::string_view path);

}  // namespace muster::http_scenario
