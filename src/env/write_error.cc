#include "env/write_error.h"

#include <cerrno>
#include <cstring>

// The cause tells a full disk from other refusals, because room may come back without anybody's
// help.
namespace muster {

Error write_error(const std::string& path, int error) {
  const bool is_no_room = error == ENOSPC || error == EDQUOT;
  return Error{ErrorCode::kUnavailable, "cannot write " + path, std::strerror(error),
               is_no_room ? ErrorCause::kNoRoom : ErrorCause::kNone};
}

}  // namespace muster
