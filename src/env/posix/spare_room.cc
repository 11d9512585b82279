#include "env/posix/spare_room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "env/posix/write_whole.h"

// What starting a step takes is taken and given back: the only sure answer to whether it is there.
namespace muster {
namespace {

Status check_bytes(const std::string& folder, std::int64_t bytes) {
  const std::string path = folder + "/room";
  const std::string what = fmt::format("no {} MiB free in {}", bytes >> 20, folder);
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(disk_error(what, errno));
  const int error = ::posix_fallocate(fd, 0, bytes);
  ::unlink(path.c_str());
  ::close(fd);
  return error == 0 ? Status() : fail(disk_error(what, error));
}

/// Opened one by one: a copy of a descriptor takes nothing of the host's own table.
Status check_descriptors(std::size_t count) {
  std::vector<int> open;
  int error = 0;
  while (open.size() < count && error == 0) {
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    fd < 0 ? void(error = errno) : open.push_back(fd);
  }
  for (const int fd : open) ::close(fd);
  if (error == 0) return {};
  return fail(disk_error(fmt::format("no {} file descriptors free", count), error));
}

}  // namespace

Status check_room(const std::string& folder, const RoomToStart& wanted) {
  TRY(check_bytes(folder, wanted.bytes));
  return check_descriptors(wanted.descriptors);
}

}  // namespace muster
