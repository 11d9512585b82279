// Why a write was refused, and whether it is worth another try.
#pragma once

#include <cerrno>
#include <string>

#include "base/result.h"

namespace muster {

/// "cannot write PATH", with the cause that an errno names. kUnavailable.
Error write_error(const std::string& path, int error = errno);

/// A write was refused for want of room, or with an error that a disk without room gives too: the
/// same may succeed later. It knows SQLite's words and those of errno's ENOSPC and EDQUOT.
bool is_no_room(const Error& error);

}  // namespace muster
