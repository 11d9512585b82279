#include "env/posix/reserve_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// posix_fallocate takes real blocks, which a hole would not: only those are room when the disk is
// full.
namespace muster {

std::uint64_t PosixReserveFile::size() const {
  struct stat known {};
  return ::stat(path_.c_str(), &known) == 0 ? static_cast<std::uint64_t>(known.st_size) : 0;
}

std::uint64_t PosixReserveFile::free_bytes() const {
  struct statvfs disk {};
  const std::string folder = path_.substr(0, path_.rfind('/'));
  if (::statvfs(folder.c_str(), &disk) != 0) return 0;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

bool PosixReserveFile::lay_down(std::uint64_t bytes) {
  const int fd = ::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool is_kept = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)) == 0;
  ::close(fd);
  // A part of it would be taken for the whole.
  if (!is_kept) remove();
  return is_kept;
}

void PosixReserveFile::remove() { ::unlink(path_.c_str()); }

}  // namespace muster
