#include "env/write_error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace muster {

Error write_error(const std::string& path, int error) {
  return Error{ErrorCode::kUnavailable, "cannot write " + path, std::strerror(error)};
}

bool is_no_room(const Error& error) {
  if (error.code != ErrorCode::kUnavailable) return false;
  // An I/O error is what SQLite has for a log that cannot grow.
  const std::array<std::string, 4> words{"disk is full", "disk I/O", std::strerror(ENOSPC),
                                         std::strerror(EDQUOT)};
  return std::ranges::any_of(
      words, [&](const std::string& word) { return error.detail.find(word) != error.detail.npos; });
}

}  // namespace muster
