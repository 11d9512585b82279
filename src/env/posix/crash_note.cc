#include "env/posix/crash_note.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace muster {
namespace {

constexpr std::uint32_t kMagic = 0x6d757331;
constexpr int kFatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/// As it lies in the file.
struct Record {
  std::uint32_t magic = kMagic;
  std::uint32_t died_of = 0;  ///< 0: of none, or alive
  std::uint32_t suspect = 0;  ///< of the runs before
  std::uint32_t deaths = 0;   ///< of it in a row
};

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// What a signal handler can reach.
std::atomic<int> g_fd{-1};
std::atomic<std::int32_t> g_thread{0};
std::atomic<std::uint32_t> g_job{0};
Record g_record;

/// The signal's own effect follows when this returns.
void note_death(int signal) {
  if (const int fd = g_fd.load(); fd >= 0 && g_thread.load() == this_thread()) {
    g_record.died_of = g_job.load();
    [[maybe_unused]] const auto ignored = ::pwrite(fd, &g_record, sizeof g_record, 0);
  }
  ::raise(signal);
}

}  // namespace

Result<std::unique_ptr<CrashNote>> CrashNote::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "cannot use " + path, std::strerror(errno));
  std::unique_ptr<CrashNote> note(new CrashNote());
  Record last;
  const bool is_whole = ::pread(fd, &last, sizeof last, 0) == static_cast<ssize_t>(sizeof last) && last.magic == kMagic;
  g_record = is_whole ? last : Record();
  if (g_record.died_of != 0) {
    g_record.deaths = g_record.suspect == g_record.died_of ? g_record.deaths + 1 : 1;
    g_record.suspect = g_record.died_of;
    note->last_job_ = JobId(g_record.died_of);
    note->deaths_ = g_record.deaths;
  }
  g_record.died_of = 0;
  if (::pwrite(fd, &g_record, sizeof g_record, 0) != static_cast<ssize_t>(sizeof g_record)) {
    const Error error{ErrorCode::kUnavailable, "cannot write " + path, std::strerror(errno)};
    ::close(fd);
    return fail(error);
  }
  g_job = 0;
  g_thread = 0;
  g_fd = fd;
  for (const int signal : kFatal) {
    struct sigaction action {};
    action.sa_handler = &note_death;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
  return note;
}

CrashNote::~CrashNote() {
  for (const int signal : kFatal) ::signal(signal, SIG_DFL);
  ::close(g_fd.exchange(-1));
}

void CrashNote::watch_this_thread() { g_thread = this_thread(); }
void CrashNote::works_on(JobId job) { g_job.store(job.value(), std::memory_order_relaxed); }

}  // namespace muster
