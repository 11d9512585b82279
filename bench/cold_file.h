// Takes a file out of the page cache, so that the next read comes from the disk.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace muster::bench {

/// Every file whose path begins with `prefix`.
inline void make_cold(const std::filesystem::path& prefix) {
  for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path())) {
    if (!entry.is_regular_file() || !entry.path().string().starts_with(prefix.string())) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    CHECK(file >= 0, "cannot open {}", entry.path().string());
    CHECK(fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0, "cannot drop {}",
          entry.path().string());
    close(file);
  }
}

/// The sizes of all such files together. Units: bytes.
inline std::uintmax_t bytes_of(const std::filesystem::path& prefix) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(prefix.parent_path())) {
    if (entry.is_regular_file() && entry.path().string().starts_with(prefix.string()))
      bytes += entry.file_size();
  }
  return bytes;
}

}  // namespace muster::bench
