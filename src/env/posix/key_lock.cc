// POSIX record locks on one byte for each key: the kernel drops them with the process, however it
// dies, and names the holder to who asks. They are not inherited by children.
#include "env/posix/key_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "env/posix/write_whole.h"

namespace muster {
namespace {

/// A byte of the file stands for a key; the file itself stays empty.
struct flock byte_of(std::uint64_t key) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  // Offsets are signed: the key's upper 62 bits fit in any case.
  range.l_start = static_cast<off_t>(key >> 2);
  range.l_len = 1;
  return range;
}

}  // namespace

Status hold_key(const std::string& path, std::uint64_t key) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(disk_error("cannot open " + path, errno));
  struct flock range = byte_of(key);
  if (::fcntl(fd, F_SETLK, &range) == 0)
    return {};  // the descriptor stays open for good: closing it would let go
  const int error = errno;
  ::close(fd);
  // Source: fcntl(2): either error for a lock that is held.
  if (error == EACCES || error == EAGAIN)
    return fail(ErrorCode::kAlreadyExists, "another process holds a key of " + path, "");
  return fail(disk_error("cannot lock " + path, error));
}

pid_t holder_of_key(const std::string& path, std::uint64_t key) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 0;
  struct flock range = byte_of(key);
  const bool is_found = ::fcntl(fd, F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
  ::close(fd);
  return is_found ? range.l_pid : 0;
}

}  // namespace muster
