// A child does everything that could fail before exec and tells the parent through a pipe that
// closes by exec: no bytes mean success. Order in the child: cgroup first, while the process has
// one thread and root's rights; groups; mount view; CPUs; user; streams; and the limits last, which
// are the program's.
#include "env/posix/process_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "env/posix/write_whole.h"

namespace muster {
namespace {

struct LimitName {
  const char* name;
  int resource;
};
constexpr std::array<LimitName, 10> kLimits = {{{"CPU", RLIMIT_CPU},
                                                {"FSIZE", RLIMIT_FSIZE},
                                                {"DATA", RLIMIT_DATA},
                                                {"STACK", RLIMIT_STACK},
                                                {"CORE", RLIMIT_CORE},
                                                {"RSS", RLIMIT_RSS},
                                                {"NPROC", RLIMIT_NPROC},
                                                {"NOFILE", RLIMIT_NOFILE},
                                                {"MEMLOCK", RLIMIT_MEMLOCK},
                                                {"AS", RLIMIT_AS}}};

/// What the child could not do, told through a pipe that exec closes.
struct ChildFailure {
  enum Stage { kNone, kGroups, kUser, kCgroup, kStreams, kExec, kView } stage = kNone;
  int error = 0;
  ErrorCode view_code = ErrorCode::kInternal;
  char view_text[512] = {};  ///< why the view could not be entered
};

/// Soft limits, at most up to the hard ones that the site has given this daemon.
void apply_limits(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) continue;
    for (const LimitName& limit : kLimits) {
      // Names of SLURM_RLIMIT_*.
      if (item.compare(0, equals, limit.name) != 0) continue;
      rlimit value{};
      ::getrlimit(static_cast<__rlimit_resource>(limit.resource), &value);
      const std::string amount = item.substr(equals + 1);
      const rlim_t wanted =
          amount == "unlimited" ? RLIM_INFINITY : std::strtoull(amount.c_str(), nullptr, 10);
      // Never above the hard limit: a soft limit is all that a user may set.
      value.rlim_cur = wanted > value.rlim_max ? value.rlim_max : wanted;
      ::setrlimit(static_cast<__rlimit_resource>(limit.resource), &value);
    }
  }
}

/// By the kernel's own calls: the C library keeps 32 and 33 to itself, and a parent that ignores
/// them would hand that down.
void reset_signals() {
  constexpr std::size_t kMaskBytes = 8;
  const struct {
    void (*handler)(int) = SIG_DFL;
    unsigned long flags = 0;
    void (*restorer)() = nullptr;
    std::uint64_t mask = 0;
  } action;
  for (int signal = 1; signal < NSIG; ++signal)
    ::syscall(SYS_rt_sigaction, signal, &action, nullptr, kMaskBytes);
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kMaskBytes);
}

void set_affinity(const Bitmap& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  cpus.for_each([&](std::size_t cpu) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  });
  ::sched_setaffinity(0, sizeof set, &set);
}

bool enter_cgroup(const std::string& file) {
  if (file.empty()) return true;
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_in = ::write(fd, "0", 1) == 1;
  ::close(fd);
  // "0" stands for the writer itself.
  return is_in;
}

/// Groups come before the view: looking them up must not load what a user shows there with root's
/// rights.
bool set_groups(const ProcessUser& user) {
  if (::geteuid() != 0 || user.uid == 0) return true;
  const int rc =
      // Without a name no groups but his own.
      user.name.empty() ? ::setgroups(0, nullptr) : ::initgroups(user.name.c_str(), user.gid);
  return rc == 0 && ::setresgid(user.gid, user.gid, user.gid) == 0;
}

bool become(const ProcessUser& user) {
  return ::geteuid() != 0 || ::setresuid(user.uid, user.uid, user.uid) == 0;
}

/// Programs that would run with rights of others find the files that the view shows.
bool give_up_rights_of_others(const MountView& view) {
  return !view.is_private || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/// False: what stands at 0, 1 and 2 is still the parent's, and no user's program may have it.
bool place_descriptors(const ProcessSpec& spec) {
  std::array<int, 3> wanted = {spec.standard_in, spec.standard_out, spec.standard_error};
  // Out of the way first, so that placing one cannot overwrite another.
  for (int& fd : wanted) {
    // 10 is out of the way of 0 to 2.
    fd = fd >= 0 ? ::fcntl(fd, F_DUPFD, 10) : ::open("/dev/null", O_RDWR);
    if (fd >= 0 && fd < 3) fd = ::fcntl(fd, F_DUPFD, 10);
    if (fd < 0) return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (::dup2(wanted[static_cast<std::size_t>(i)], i) < 0) return false;
  }
  return true;
}

void enter_work_dir(const std::string& path) {
  if (path.empty() || ::chdir(path.c_str()) == 0) return;
  const std::string message =
      fmt::format("slurmstepd: error: couldn't chdir to `{}': {}: going to /tmp instead\n", path,
                  std::strerror(errno));
  [[maybe_unused]] const auto ignored = ::write(2, message.data(), message.size());
  // As slurmstepd does: a missing working directory is no failure of the job.
  [[maybe_unused]] const int rc = ::chdir("/tmp");
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string path_of(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.rfind("PATH=", 0) == 0) return variable.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

/// execvpe with the task's own PATH.
void execute(const ProcessSpec& spec, const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = pointers(spec.arguments);
  const std::vector<char*> variables = pointers(environment);
  const std::string& program = spec.arguments.front();
  if (program.find('/') != std::string::npos) {
    ::execve(program.c_str(), arguments.data(), variables.data());
    // A script without "#!" is given to the shell, as execvp does.
    if (errno == ENOEXEC) {
      std::vector<char*> shell = {const_cast<char*>("/bin/sh")};
      shell.insert(shell.end(), arguments.begin(), arguments.end());
      ::execve("/bin/sh", shell.data(), variables.data());
    }
    return;
  }
  int worst = ENOENT;
  const std::string path = path_of(environment);
  for (std::size_t begin = 0; begin <= path.size() && !program.empty();) {
    // An empty word of PATH is the current folder.
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate =
        (end == begin ? "." : path.substr(begin, end - begin)) + "/" + program;
    ::execve(candidate.c_str(), arguments.data(), variables.data());
    // Found and not executable is told rather than not found.
    if (errno == EACCES && ::access(candidate.c_str(), F_OK) == 0) worst = EACCES;
    begin = end + 1;
  }
  errno = worst;
}

bool enter_view(const ProcessSpec& spec, ChildFailure& failure) {
  const Status entered = enter_mount_view(spec.view, spec.user.uid);
  if (entered.has_value()) return true;
  failure.stage = ChildFailure::kView;
  failure.view_code = entered.error().code;
  const std::string text = entered.error().text();
  std::memcpy(failure.view_text, text.data(), std::min(text.size(), sizeof failure.view_text - 1));
  return false;
}

/// Makes this process the task, but for its descriptors and program. False: `failure` says what was
/// refused.
bool prepare_child(const ProcessSpec& spec, ChildFailure& failure) {
  const auto is_done = [&failure](bool is_good, ChildFailure::Stage stage) {
    if (!is_good) {
      failure.stage = stage;
      failure.error = errno;
    }
    return is_good;
  };
  if (!is_done(enter_cgroup(spec.enter_file), ChildFailure::kCgroup)) return false;
  if (!is_done(set_groups(spec.user), ChildFailure::kGroups)) return false;
  if (!enter_view(spec, failure)) return false;
  set_affinity(spec.cpus);
  return is_done(become(spec.user) && give_up_rights_of_others(spec.view), ChildFailure::kUser);
}

[[noreturn]] void run_child(const ProcessSpec& spec, int failure_fd) {
  ChildFailure failure;
  std::vector<std::string> environment = spec.environment;
  // In the child: only here its own id is known.
  if (spec.finish_environment) spec.finish_environment(environment, ::getpid());
  reset_signals();
  if (spec.is_own_session) ::setsid();
  if (prepare_child(spec, failure) && !place_descriptors(spec)) {
    failure.stage = ChildFailure::kStreams;
    failure.error = errno;
  } else if (failure.stage == ChildFailure::kNone) {
    ::umask(spec.umask);
    enter_work_dir(spec.work_dir);
    // Everything but the standard streams closes on exec, the failure pipe too.
    ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
    apply_limits(spec.limits);  // the program's: what is done for it here is not bound by them
    execute(spec, environment);
    failure.stage = ChildFailure::kExec;
    failure.error = errno;
  }
  [[maybe_unused]] const auto ignored = ::write(failure_fd, &failure, sizeof failure);
  ::_exit(127);
}

Error describe(const ProcessSpec& spec, const ChildFailure& failure) {
  const char* reason = std::strerror(failure.error);
  switch (failure.stage) {
    case ChildFailure::kExec: {
      const ErrorCode code =
          failure.error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
      return Error{code, fmt::format("execve(): {}: {}", spec.arguments.front(), reason), ""};
    }
    case ChildFailure::kView: return Error{failure.view_code, failure.view_text, ""};
    case ChildFailure::kStreams:
      return disk_error("cannot place the standard streams", failure.error);
    case ChildFailure::kCgroup: return disk_error("cannot enter the step's cgroup", failure.error);
    default: return disk_error("cannot become the user", failure.error);
  }
}

}  // namespace

Result<pid_t> start_process(const ProcessSpec& spec, int* exec_error) {
  if (exec_error != nullptr) *exec_error = 0;
  int pipe_fds[2];
  if (::pipe2(pipe_fds, O_CLOEXEC) != 0) return fail(disk_error("cannot make a pipe", errno));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(pipe_fds[0]);
    run_child(spec, pipe_fds[1]);
  }
  const int fork_error = errno;
  ::close(pipe_fds[1]);
  if (pid < 0) {
    ::close(pipe_fds[0]);
    return fail(disk_error("cannot start a process", fork_error));
  }
  ChildFailure failure;
  ssize_t got = 0;
  while ((got = ::read(pipe_fds[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  ::close(pipe_fds[0]);
  // Nothing or less: exec closed the pipe.
  if (got != static_cast<ssize_t>(sizeof failure)) return pid;
  // It has exited: no zombie of it stays.
  ::waitpid(pid, nullptr, 0);
  if (exec_error != nullptr && failure.stage == ChildFailure::kExec) *exec_error = failure.error;
  return fail(describe(spec, failure));
}

Error restart_self(char** arguments) {
  // By the running file itself: the path may have another version by now.
  ::execv("/proc/self/exe", arguments);
  return Error{ErrorCode::kUnavailable, "cannot start again", std::strerror(errno)};
}

namespace {

/// A full disk is the user's own business there; a lack of descriptors or memory is the node's.
Error path_error(const std::string& what, int error) {
  if (error == EMFILE || error == ENFILE || error == ENOMEM) return disk_error(what, error);
  const ErrorCode code = error == EACCES                       ? ErrorCode::kPermissionDenied
                         : error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound
                                                               : ErrorCode::kInvalidArgument;
  return Error{code, what, std::strerror(error)};
}

bool is_fifo(int fd) {
  struct stat known {};
  return ::fstat(fd, &known) == 0 && S_ISFIFO(known.st_mode);
}

/// Looks without taking anything out. Requires: a FIFO that was opened for reading without waiting.
bool has_writer(int fd) {
  // tee copies a byte without taking it out. Source: tee(2).
  int probe[2];
  if (::pipe2(probe, O_CLOEXEC | O_NONBLOCK) != 0) return true;
  const ssize_t size = ::tee(fd, probe[1], 1, SPLICE_F_NONBLOCK);
  const bool is_empty_but_open = size < 0 && errno == EAGAIN;
  ::close(probe[0]);
  ::close(probe[1]);
  return size > 0 || is_empty_but_open;
}

/// Whether a file tells of this process itself, as /proc/self/maps does to whoever opens it.
bool is_about_us(int fd) {
  struct statfs where {};
  if (::fstatfs(fd, &where) != 0 || where.f_type != PROC_SUPER_MAGIC) return false;
  std::array<char, 256> path{};
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), path.data(), path.size());
  return size > 0 && std::string_view(path.data(), static_cast<std::size_t>(size))
                         .starts_with(fmt::format("/proc/{}/", ::getpid()));
}

Error no_partner(const std::string& path, const char* who) {
  return Error{ErrorCode::kFailedPrecondition, "could not open " + path,
               fmt::format("it is a FIFO that nobody {}: start its other end first", who)};
}

}  // namespace

Result<int> act_as(const ProcessUser& user, const std::function<bool()>& work) {
  // Anybody but root acts as himself anyway.
  const bool is_switch = ::geteuid() == 0 && user.uid != 0;
  if (is_switch) {
    const int rc =
        user.name.empty() ? ::setgroups(0, nullptr) : ::initgroups(user.name.c_str(), user.gid);
    if (rc != 0 || ::setegid(user.gid) != 0 || ::seteuid(user.uid) != 0) {
      return fail(ErrorCode::kUnavailable, "cannot take the user's rights", std::strerror(errno));
    }
  }
  const mode_t own_umask = ::umask(0);  // modes are the caller's to say, not this daemon's
  const int error = work() ? 0 : errno;
  ::umask(own_umask);
  // Going on with a user's rights could only do damage.
  if (is_switch && (::seteuid(0) != 0 || ::setegid(0) != 0 || ::setgroups(0, nullptr) != 0))
    std::abort();
  return error;
}

Result<int> open_as(const ProcessUser& user, const std::string& path, int flags, unsigned mode) {
  int fd = -1;
  bool has_no_reader = false;
  const int error = TRY(act_as(user, [&] {
    // O_NONBLOCK: an open of a FIFO without a partner would wait for ever.
    fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode);
    if (fd >= 0) return true;
    struct stat known {};
    const int why = errno;
    // Source: fifo(7): ENXIO for a writer without a reader.
    has_no_reader = why == ENXIO && ::stat(path.c_str(), &known) == 0 && S_ISFIFO(known.st_mode);
    errno = why;
    return false;
  }));
  if (has_no_reader) return fail(no_partner(path, "reads from"));
  if (error != 0) return fail(path_error("could not open " + path, error));
  if (is_about_us(fd)) {
    ::close(fd);
    return fail(ErrorCode::kPermissionDenied, "could not open " + path,
                "it would be the file of the program that starts the job, not of the job");
  }
  if ((flags & (O_ACCMODE | O_PATH)) == O_RDONLY && is_fifo(fd) && !has_writer(fd)) {
    ::close(fd);
    return fail(no_partner(path, "writes to"));
  }
  // The task's program expects a descriptor that waits.
  if ((flags & (O_PATH | O_NONBLOCK)) == 0)
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

Status make_folders_as(const ProcessUser& user, const std::string& path, unsigned mode) {
  const auto make_all = [&path, mode] {
    for (std::size_t end = 1; end < path.size();) {
      end = std::min(path.find('/', end + 1), path.size());
      // EEXIST may also be somebody else's file; the open that follows says so.
      if (::mkdir(path.substr(0, end).c_str(), mode) != 0 && errno != EEXIST) {
        struct stat known {};  // a folder above that we may not write to is there all the same
        const int error = errno;
        if (::stat(path.substr(0, end).c_str(), &known) == 0) continue;
        errno = error;
        return false;
      }
    }
    return true;
  };
  const int error = TRY(act_as(user, make_all));
  if (error == 0) return {};
  return fail(path_error("could not make the folder " + path, error));
}

std::string current_limits() {
  std::string text;
  for (const LimitName& limit : kLimits) {
    rlimit value{};
    ::getrlimit(static_cast<__rlimit_resource>(limit.resource), &value);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", limit.name,
                        value.rlim_cur == RLIM_INFINITY ? std::string("unlimited")
                                                        : std::to_string(value.rlim_cur));
  }
  return text;
}

}  // namespace muster
