#include "env/posix/read_whole.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "env/posix/write_whole.h"

namespace muster {

Result<std::optional<std::string>> read_whole(const std::string& path) {
  const auto refused = [&](int error) { return fail(disk_error("cannot read " + path, error)); };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::optional<std::string>();
  if (fd < 0) return refused(errno);
  std::string bytes;
  std::array<char, 65536> part;
  ssize_t size = 0;
  do {
    size = ::read(fd, part.data(), part.size());
    if (size > 0) bytes.append(part.data(), static_cast<std::size_t>(size));
  } while (size > 0 || (size < 0 && errno == EINTR));
  const int error = size < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) return refused(error);
  return bytes;
}

}  // namespace muster
