// The keys that `scontrol update` takes, by the kind of object: what the controller goes by and
// what scontrol --help shows. What a key does is the controller's.
#pragma once

#include <span>
#include <string_view>

#include "model/request.h"

namespace muster {

/// As they are written. Empty for steps, which cannot be updated.
std::span<const std::string_view> update_keys(UpdateKind kind);
/// Whether the name is one of them, in any case.
bool is_update_key(UpdateKind kind, std::string_view name);

}  // namespace muster
