#include "run_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <sstream>
#include <thread>

#include "log.h"

namespace muster::core {
namespace {

constexpr auto kOrphanPatience =
    std::chrono::seconds(10);  // for a dead holder's forked child to let go of the lock

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

/// Who has the lock, as it wrote itself down.
struct Holder {
  long pid = 0;
  std::string host;
};

Holder holder_of(int lock) {
  char text[256] = {};
  const ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
  Holder out;
  std::istringstream(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(0, size)))) >>
      out.pid >> out.host;
  return out;
}

bool is_dead(const Holder& holder) {
  return holder.pid > 0 && holder.host == host_name() &&
         ::kill(static_cast<pid_t>(holder.pid), 0) != 0 && errno == ESRCH;
}

[[noreturn]] void refuse(const Path& folder, const Holder& holder) {
  if (holder.pid == 0)
    throw RunFolderInUseError(folder.string() + " is in use by a process that is just starting");
  const bool is_own = holder.pid == ::getpid() && holder.host == host_name();
  throw RunFolderInUseError(folder.string() + " is in use by pid " + std::to_string(holder.pid) +
                            (is_own ? " (this very process)" : "") + " on " + holder.host +
                            "; end it, or set MUSTER_RUN_DIR to another folder");
}

Descriptor locked(const Path& folder) {
  const auto deadline = std::chrono::steady_clock::now() + kOrphanPatience;
  while (true) {
    Descriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (lock.get() < 0) fail_on_disk("open a run", folder);
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      const std::string mine = std::to_string(::getpid()) + " " + host_name() + "\n";
      if (::ftruncate(lock.get(), 0) != 0 || ::pwrite(lock.get(), mine.data(), mine.size(), 0) < 0)
        fail_on_disk("open a run", folder);
      return lock;
    }
    if (errno != EWOULDBLOCK) fail_on_disk("open a run", folder);
    const Holder holder = holder_of(lock.get());
    if (!is_dead(holder) || std::chrono::steady_clock::now() > deadline) refuse(folder, holder);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::int64_t newest_run(const Path& runs) {
  std::int64_t newest = 0;
  for (const Value& line : read_lines(runs))
    newest = std::max(newest, line.get("run", std::int64_t{0}));
  return newest;
}

}  // namespace

Path default_run_folder(const Environment& environment) {
  if (environment.run_dir) return *environment.run_dir;
  if (environment.job_id) {
    const std::string mark =
        environment.cluster_id ? "-" + environment.cluster_id->substr(0, 8) : "";
    return Path("muster-runs") / ("job-" + std::to_string(*environment.job_id) + mark);
  }
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return Path("muster-runs") / (std::string(text) + "-" + std::to_string(::getpid()));
}

std::int64_t run_number(const Environment& environment, std::int64_t newest) {
  if (!environment.run_id)
    return std::max(newest + 1, environment.restart_count ? *environment.restart_count + 1 : 1);
  if (*environment.run_id < newest) {
    throw StaleRunError("MUSTER_RUN_ID is " + std::to_string(*environment.run_id) + ", but run " +
                        std::to_string(newest) + " of this folder has begun");
  }
  return *environment.run_id;
}

RunFolder::RunFolder(const Path& path, const Environment& environment)
    : path_(std::filesystem::absolute(path)) {
  make_folder(path_);
  lock_ = locked(path_);
  const Path runs = path_ / "runs.jsonl";
  AppendLog log(runs);
  const std::int64_t newest = newest_run(runs);
  run_ = run_number(environment, newest);
  is_new_run_ = run_ > newest;
  if (is_new_run_) {
    const Value job = environment.job_id ? Value(*environment.job_id) : Value();
    log.append({Value::Map{{"run", run_},
                           {"job_id", job},
                           {"pid", ::getpid()},
                           {"host", host_name()},
                           {"time", now()}}});
  }
  runs_size_bytes_ = std::filesystem::file_size(runs);
}

void RunFolder::check_current() {
  std::error_code error;
  const Path runs = path_ / "runs.jsonl";
  const std::uintmax_t size = std::filesystem::file_size(runs, error);
  if (error) fail_on_disk("find the run", path_, error.value());
  if (size == runs_size_bytes_) return;
  const std::int64_t newest = newest_run(runs);
  if (newest > run_) {
    throw StaleRunError("run " + std::to_string(run_) + " of " + path_.string() +
                        " is stale: run " + std::to_string(newest) +
                        " has begun; end this process");
  }
  runs_size_bytes_ = size;
}

}  // namespace muster::core
