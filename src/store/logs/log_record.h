// Encodes what was received at once, as the log stores it until its lines lie in chunks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task_log.h"

namespace muster::logs {

std::string encode_fragments(const std::vector<const LogFragment*>& fragments);
/// Decodes a record. Errors: kCorruption.
Result<std::vector<LogFragment>> decode_fragments(std::string_view bytes);

}  // namespace muster::logs
