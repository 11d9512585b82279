// One small file says over which job the process died and how often in a row. It is written by a
// signal handler, so that everything that the handler touches is allocated before and is plain
// memory or atomic.
#include "env/posix/crash_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

namespace muster {
namespace {

constexpr std::uint32_t kMagic = 0x6d757332;
constexpr int kFatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/// As it lies in the file.
struct Record {
  std::uint32_t magic = kMagic;
  std::uint32_t died_of = 0;  ///< 0: of none, or alive
  std::uint32_t suspect = 0;  ///< of the runs before
  std::uint32_t deaths = 0;   ///< of it in a row
  std::int64_t opened = 0;    ///< by the machine's steady clock, in seconds
  std::int64_t lived = 0;     ///< how long the run that died had gone on
};

// What a signal handler can reach.
std::atomic<int> g_fd{-1};
thread_local bool t_is_watched = false;
thread_local JobId t_job;
Record g_record;

std::int64_t steady_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

/// The signal's own effect follows when this returns.
void record_death(int signal) {
  // Other threads' deaths name no job.
  if (const int fd = g_fd.load(); fd >= 0 && t_is_watched) {
    g_record.died_of = t_job.value();
    g_record.lived = steady_seconds() - g_record.opened;
    [[maybe_unused]] const auto ignored = ::pwrite(fd, &g_record, sizeof g_record, 0);
  }
  ::raise(signal);
}

}  // namespace

Result<std::unique_ptr<CrashRecord>> CrashRecord::open(const std::string& path, Duration well) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(ErrorCode::kUnavailable, "cannot use " + path, std::strerror(errno));
  std::unique_ptr<CrashRecord> record(new CrashRecord());
  Record last;
  // A file of another form, or cut short: as if there had been none.
  const bool is_whole = ::pread(fd, &last, sizeof last, 0) == static_cast<ssize_t>(sizeof last) &&
                        last.magic == kMagic;
  g_record = is_whole ? last : Record();
  if (g_record.died_of != 0) {
    // In a row: the same job, and the run before had not gone well for long.
    const bool is_in_a_row =
        g_record.suspect == g_record.died_of && Duration::seconds(g_record.lived) < well;
    g_record.deaths = is_in_a_row ? g_record.deaths + 1 : 1;
    g_record.suspect = g_record.died_of;
    record->last_job_ = JobId(g_record.died_of);
    record->deaths_ = g_record.deaths;
  }
  g_record.died_of = 0;
  g_record.opened = steady_seconds();
  // Written at the start as well: a run that dies without a signal must not count the last death
  // again.
  if (::pwrite(fd, &g_record, sizeof g_record, 0) != static_cast<ssize_t>(sizeof g_record)) {
    const Error error{ErrorCode::kUnavailable, "cannot write " + path, std::strerror(errno)};
    ::close(fd);
    return fail(error);
  }
  g_fd = fd;
  for (const int signal : kFatal) {
    // Handled once: the signal raised in the handler has its usual effect.
    struct sigaction action {};
    action.sa_handler = &record_death;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
  return record;
}

CrashRecord::~CrashRecord() {
  for (const int signal : kFatal) ::signal(signal, SIG_DFL);
  ::close(g_fd.exchange(-1));
}

void CrashRecord::watch_this_thread() { t_is_watched = true; }
void CrashRecord::works_on(JobId job) { t_job = job; }
JobId& CrashRecord::work_of_this_thread() { return t_job; }

}  // namespace muster
