// Says why a write to a file was refused.
#pragma once

#include <cerrno>
#include <string>

#include "base/result.h"

namespace muster {

/// Returns "cannot write PATH", with the errno's text. kUnavailable; cause kNoRoom for ENOSPC and
/// EDQUOT.
Error write_error(const std::string& path, int error = errno);

}  // namespace muster
