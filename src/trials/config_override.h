// Applies `--config a.b=c`: one value of an experiment's configuration given on the command line.
#pragma once

#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster {

/// Sets the value at a path of names joined by dots; maps on the way are made where they are
/// missing. The value is read as YAML: `searcher.max_trials=20`, `labels=[a, b]`. Errors:
/// kInvalidArgument.
Status apply_override(Json& config, std::string_view text);

}  // namespace muster
