// Merges experiment configurations in layers: the user's over a template over the defaults. Source:
// Determined 0.38, configuration precedence.
#pragma once

#include "model/json.h"

namespace muster {

/// Returns `over` where it says something, `under` elsewhere. Maps are merged field by field,
/// unless they are search methods of different `name`, or storages or ranges of different `type`;
/// lists of mounts, devices, ports and variables are joined (a list of variables with a map of them
/// by kind of slot: into each kind), log policies by their names, the upper ones first; a null
/// stands for nothing said. Cost: O(fields · log fields).
Json merge_layers(const Json& over, const Json& under);

/// Returns what each field is when no layer says otherwise.
const Json& experiment_defaults();

}  // namespace muster
