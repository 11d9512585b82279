// Files of /proc have no size: they are read to their end.
#include "env/posix/proc_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace muster {

std::string read_small(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(fd);
  return text;
}

std::optional<ProcessStat> stat_of(pid_t pid) {
  // "pid (name) state parent group session ...": the name may hold anything, a parenthesis too.
  const std::string stat = read_small(fmt::format("/proc/{}/stat", pid));
  // Two bytes behind the parenthesis stands the state. A zombie has ended.
  const auto close = stat.rfind(')');
  if (close == std::string::npos || stat.size() < close + 4 || stat[close + 2] == 'Z')
    return std::nullopt;
  char* next = nullptr;
  ProcessStat found;
  found.parent = static_cast<pid_t>(std::strtol(stat.c_str() + close + 4, &next, 10));
  // The process group, which nobody asks for.
  std::strtol(next, &next, 10);
  found.session = static_cast<pid_t>(std::strtol(next, nullptr, 10));
  return found;
}

std::optional<uid_t> user_of(pid_t pid) {
  const std::string status = read_small(fmt::format("/proc/{}/status", pid));
  const auto line = status.find("\nUid:");
  if (line == std::string::npos) return std::nullopt;
  return static_cast<uid_t>(std::strtoul(status.c_str() + line + 5, nullptr, 10));
}

}  // namespace muster
