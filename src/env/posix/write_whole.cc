#include "env/posix/write_whole.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace muster {

int write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    if (size == 0) return ENOSPC;  // a file that takes nothing and says no more
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

Error disk_error(std::string what, int error) {
  // EAGAIN: of a fork, for want of processes.
  const bool may_pass = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE ||
                        error == ENOMEM || error == EAGAIN;
  return Error{may_pass ? ErrorCode::kResourceExhausted : ErrorCode::kUnavailable, std::move(what),
               std::strerror(error)};
}

}  // namespace muster
