// A process is the step's when its environment has the mark, when its parent is the step's, or when
// it is in a session that one of the step's began. The last two find those that emptied their
// environment. Repeated until nothing is added.
#include "env/posix/marked_processes.h"

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <set>

#include "env/posix/proc_files.h"

namespace muster {
namespace {

std::map<pid_t, ProcessStat> all_processes() {
  std::map<pid_t, ProcessStat> found;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return found;
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    // Not init and not ourselves.
    const auto stat = pid > 1 && pid != ::getpid() ? stat_of(pid) : std::nullopt;
    if (stat) found.emplace(pid, *stat);
  }
  ::closedir(proc);
  return found;
}

bool has_mark(pid_t pid, const std::string& mark) {
  // Framed by NULs, so that the mark matches a whole variable.
  const std::string environment = '\0' + read_small(fmt::format("/proc/{}/environ", pid)) + '\0';
  return environment.find('\0' + mark + '\0') != std::string::npos;
}

}  // namespace

std::vector<pid_t> marked_processes(const std::string& mark) {
  const std::map<pid_t, ProcessStat> all = all_processes();
  std::set<pid_t> found;
  std::set<pid_t> sessions;
  const auto add = [&](pid_t pid, const ProcessStat& process) {
    found.insert(pid);
    // Sessions of this process are not the step's.
    if (process.session != ::getsid(0) && process.session > 1) sessions.insert(process.session);
  };
  for (const auto& [pid, process] : all) {
    if (has_mark(pid, mark)) add(pid, process);
  }
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& [pid, process] : all) {
      if (found.contains(process.parent) || sessions.contains(process.session)) add(pid, process);
    }
  }
  return {found.begin(), found.end()};
}

std::map<std::string, std::set<uid_t>> marks_with(const std::string& prefix) {
  std::map<std::string, std::set<uid_t>> found;
  for (const auto& [pid, process] : all_processes()) {
    const std::string environment = '\0' + read_small(fmt::format("/proc/{}/environ", pid)) + '\0';
    const std::size_t place = environment.find('\0' + prefix);
    if (place == environment.npos) continue;
    const std::size_t begin = place + 1 + prefix.size();
    const auto user = user_of(pid);
    if (user) found[environment.substr(begin, environment.find('\0', begin) - begin)].insert(*user);
  }
  return found;
}

bool kill_marked(const std::string& mark) {
  // Stopped before they are killed, twice for those that were born meanwhile.
  for (int round = 0; round < 2; ++round) {
    for (const pid_t pid : marked_processes(mark)) ::kill(pid, SIGSTOP);
  }
  for (const pid_t pid : marked_processes(mark)) ::kill(pid, SIGKILL);
  return marked_processes(mark).empty();
}

}  // namespace muster
