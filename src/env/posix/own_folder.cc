// A folder that others could change would let them put files under root's feet: each way in which
// it may be theirs is refused with the command that mends it.
#include "env/posix/own_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace muster {

Status make_own_folder(const std::string& path, unsigned mode, const std::string& name) {
  if (::mkdir(path.c_str(), mode) == 0) return {};
  struct stat known {};
  struct stat link {};
  if (errno != EEXIST || ::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &known) != 0) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot create {} {}", name, path),
                std::strerror(errno));
  }
  // A link of root's or of our own leads where it should.
  const bool is_others_link =
      S_ISLNK(link.st_mode) && link.st_uid != 0 && link.st_uid != ::geteuid();
  if (!S_ISDIR(known.st_mode) || is_others_link) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("{} {} is {}", name, path,
                            is_others_link ? "another user's link" : "no folder"),
                "name the folder itself");
  }
  if (known.st_uid != ::geteuid()) {
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("{} {} belongs to uid {}", name, path, known.st_uid),
                fmt::format("chown {} {}, if nothing in it is to be feared, or give another",
                            ::geteuid(), path));
  }
  // For root a group's right to write is another's, too.
  const bool is_open =
      (known.st_mode & S_IWOTH) != 0 || ((known.st_mode & S_IWGRP) != 0 && ::geteuid() == 0);
  if (!is_open) return {};
  return fail(ErrorCode::kFailedPrecondition, fmt::format("others may write to {} {}", name, path),
              "chmod go-w " + path);
}

}  // namespace muster
