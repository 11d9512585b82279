// Three ways to hold the processes of a step, tried in this order by find_cgroup_host: cgroup v2,
// the freezer of v1, and the tree of descendants where neither may be written.
#include "env/posix/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>

#include "base/hash.h"
#include "env/posix/proc_files.h"
#include "env/posix/write_whole.h"

namespace muster {
namespace {

bool write_small(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_written = write_whole(fd, text) == 0;
  ::close(fd);
  return is_written;
}

bool make_folders(const std::string& path) {
  // Folders above may be there or not: only the last counts.
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0755);
  }
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
}

std::vector<pid_t> pids_in(const std::string& path) {
  std::vector<pid_t> pids;
  const std::string text = read_small(path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    pids.push_back(
        // One number a line; no process has the number 0.
        static_cast<pid_t>(std::strtol(text.substr(begin, end - begin).c_str(), nullptr, 10)));
    begin = end + 1;
  }
  return pids;
}

/// cgroup v2: cgroup.kill and cgroup.freeze do it all.
class CgroupV2 final : public ProcessCgroup {
 public:
  explicit CgroupV2(std::string folder) : folder_(std::move(folder)) {}
  std::string enter_file() const override { return folder_ + "/cgroup.procs"; }
  std::vector<pid_t> processes() const override { return pids_in(folder_ + "/cgroup.procs"); }
  void kill_all() override { write_small(folder_ + "/cgroup.kill", "1"); }
  void freeze(bool is_frozen) override {
    write_small(folder_ + "/cgroup.freeze", is_frozen ? "1" : "0");
  }
  void remove() override { ::rmdir(folder_.c_str()); }

 private:
  std::string folder_;
};

/// cgroup v1: the freezer holds them still while each is killed, so that none can fork away.
class FreezerV1 final : public ProcessCgroup {
 public:
  explicit FreezerV1(std::string folder) : folder_(std::move(folder)) {}
  /// "tasks" and not "cgroup.procs": moving one thread by itself spares the kernel its wait for a
  /// grace period, which is some ten milliseconds. A child that has just been forked has one
  /// thread.
  std::string enter_file() const override { return folder_ + "/tasks"; }
  std::vector<pid_t> processes() const override { return pids_in(folder_ + "/cgroup.procs"); }
  void kill_all() override {
    const std::vector<pid_t> few = processes();
    if (few.empty()) return;
    freeze(true);
    // At most 20 ms: freezing is asynchronous, and a task in the kernel may take longer.
    for (int i = 0; i < 100 && read_small(folder_ + "/freezer.state") != "FROZEN\n"; ++i)
      ::usleep(200);
    // Listed again: none can be born any more.
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
    freeze(false);
  }
  void freeze(bool is_frozen) override {
    write_small(folder_ + "/freezer.state", is_frozen ? "FROZEN" : "THAWED");
  }
  void remove() override { ::rmdir(folder_.c_str()); }

 private:
  std::string folder_;
};

/// Without a cgroup: every process whose chain of parents leads to us. We are their subreaper, so
/// that orphans stay ours.
class Descendants final : public ProcessCgroup {
 public:
  Descendants() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  std::string enter_file() const override { return ""; }
  std::vector<pid_t> processes() const override {
    std::map<pid_t, std::vector<pid_t>> children;
    if (DIR* proc = ::opendir("/proc")) {
      while (const dirent* entry = ::readdir(proc)) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        const auto stat = pid > 0 ? stat_of(pid) : std::nullopt;
        if (stat) children[stat->parent].push_back(pid);
      }
      ::closedir(proc);
    }
    // Breadth first, level by level.
    std::vector<pid_t> found = children[::getpid()];
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto& more = children[found[i]];
      found.insert(found.end(), more.begin(), more.end());
    }
    return found;
  }
  void kill_all() override {
    // Stopped first, so that the tree cannot grow while it is killed; twice for what was born
    // meanwhile.
    for (int round = 0; round < 2; ++round) {
      for (const pid_t pid : processes()) ::kill(pid, SIGSTOP);
    }
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
  }
  void freeze(bool is_frozen) override {
    for (const pid_t pid : processes()) ::kill(pid, is_frozen ? SIGSTOP : SIGCONT);
  }
  void remove() override {}
};

}  // namespace

CgroupHost find_cgroup_host(const std::string& cluster_name, const std::string& spool) {
  const std::string folder =
      // By the spool: agents of several clusters or nodes may share a machine.
      fmt::format("muster-{}-{:016x}", cluster_name, Hasher().add(spool).digest());
  CgroupHost host;
  // Only in v2 the root has this file.
  if (::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0) {
    host.kind = CgroupHost::Kind::kCgroupV2;
    host.root = "/sys/fs/cgroup/" + folder;
  } else if (::access("/sys/fs/cgroup/freezer", W_OK) == 0) {
    host.kind = CgroupHost::Kind::kFreezerV1;
    host.root = "/sys/fs/cgroup/freezer/" + folder;
  }
  // Not writable, as for an ordinary user: descendants then.
  if (!host.root.empty() && !make_folders(host.root)) host = CgroupHost();
  return host;
}

void release_cgroup_host(const CgroupHost& host) {
  // Only when it is empty: rmdir refuses otherwise.
  if (!host.root.empty()) ::rmdir(host.root.c_str());
}

std::unique_ptr<ProcessCgroup> make_cgroup(const CgroupHost& host, const std::string& name) {
  const std::string folder = host.root + "/" + name;
  const bool is_made =
      host.kind != CgroupHost::Kind::kDescendants &&
      (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST || make_folders(folder));
  if (!is_made) return std::make_unique<Descendants>();
  if (host.kind == CgroupHost::Kind::kCgroupV2) return std::make_unique<CgroupV2>(folder);
  return std::make_unique<FreezerV1>(folder);
}

}  // namespace muster
