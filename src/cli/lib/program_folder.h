// Finds the folder of this program and the others of Muster.
#pragma once

#include <limits.h>
#include <unistd.h>

#include <string>

namespace muster::cli {

/// Returns it without a slash at its end. Empty: not known.
inline std::string program_folder() {
  char path[PATH_MAX] = {};
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string whole(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  return whole.substr(0, whole.rfind('/'));
}

}  // namespace muster::cli
