#include "agent/output_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

std::vector<OutputFile> OutputFiles::list() const {
  std::vector<OutputFile> files;
  DIR* entries = ::opendir(folder_.c_str());
  if (entries == nullptr) return files;
  while (const dirent* entry = ::readdir(entries)) {
    // Other files of the folder are not ours to send.
    const auto name = parse_output_file(entry->d_name);
    struct stat known {};
    if (!name || ::fstatat(::dirfd(entries), entry->d_name, &known, 0) != 0) continue;
    files.push_back({*name, static_cast<std::uint64_t>(known.st_size)});
  }
  ::closedir(entries);
  return files;
}

OutputPiece OutputFiles::read(const OutputFileName& name, std::uint64_t offset,
                              std::size_t bytes_max) const {
  OutputPiece piece{offset, {}};
  const int fd = ::open(path_of(name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return piece;
  // Supervisors only append: a hole is what was given up.
  const off_t data = ::lseek(fd, static_cast<off_t>(offset), SEEK_DATA);
  if (data > 0) piece.offset = static_cast<std::uint64_t>(data);
  piece.bytes.resize(bytes_max);
  ssize_t size = 0;
  while ((size = ::pread(fd, piece.bytes.data(), bytes_max, static_cast<off_t>(piece.offset))) <
             0 &&
         errno == EINTR) {
  }
  piece.bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  ::close(fd);
  return piece;
}

void OutputFiles::give_up(const OutputFileName& name, std::uint64_t offset) const {
  const int fd = ::open(path_of(name).c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  struct stat known {};
  if (::fstat(fd, &known) == 0 && known.st_blksize > 0) {
    // Only whole blocks give room back. The file keeps its size: its offsets are those of the
    // store.
    const auto block = static_cast<off_t>(known.st_blksize);
    const off_t end = static_cast<off_t>(offset) / block * block;
    if (end > 0) [[maybe_unused]]
      const int ignored = ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
  }
  ::close(fd);
}

void OutputFiles::remove(const OutputFileName& name) const { ::unlink(path_of(name).c_str()); }

}  // namespace muster
