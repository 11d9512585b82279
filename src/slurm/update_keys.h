// The keys that `scontrol update` accepts, by the kind of object: the controller uses them, and
// scontrol --help shows them. What a key does is the controller's.
#pragma once

#include <span>
#include <string_view>

#include "model/request.h"

namespace muster {

/// Returns the keys as they are written. Empty for steps, which cannot be updated.
std::span<const std::string_view> update_keys(UpdateKind kind);
/// True when the name is one of them, in any case.
bool is_update_key(UpdateKind kind, std::string_view name);

}  // namespace muster
