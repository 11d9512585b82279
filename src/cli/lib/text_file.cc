#include "cli/lib/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace muster::cli {

Result<std::string> read_file(const std::string& path, std::size_t most, std::string_view what) {
  // "-" is standard input.
  const bool is_standard_input = path == "-";
  const int fd = is_standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  std::array<char, 16384> buffer{};
  ssize_t size = fd < 0 ? -1 : 0;
  // Read up to the bound and not by size: pipes and /proc have none.
  while (fd >= 0 && text.size() <= most && (size = ::read(fd, buffer.data(), buffer.size())) != 0) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  // close() may change it.
  const int reason = errno;
  if (fd >= 0 && !is_standard_input) ::close(fd);
  if (text.size() > most) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("cannot read {}{}", what, path),
                fmt::format("it has more than {} MiB", most >> 20));
  }
  if (size < 0)
    return fail(ErrorCode::kNotFound, fmt::format("cannot read {}{}", what, path),
                std::strerror(reason));
  return text;
}

}  // namespace muster::cli
