// Forks are cheap and safe here because this process stays small and has one thread: it reads a
// launch, forks, and forgets it. It ends when the agent closes the pipe or says what makes no
// sense.
#include "stepd/spawner.h"

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "text/launch_size.h"

namespace muster {
namespace {

bool read_whole(int fd, void* data, std::size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(fd, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

constexpr std::uint32_t kLaunchMax = kLaunchBytesMax;

}  // namespace

int run_spawner(int fd, const std::function<int(std::string)>& run_step) {
  ::signal(SIGCHLD, SIG_IGN);  // supervisors report by themselves; nobody waits for them
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  for (;;) {
    std::uint32_t size = 0;
    // The agent is gone, or the bytes are none of ours.
    if (!read_whole(fd, &size, sizeof size) || size > kLaunchMax) return 0;
    std::string bytes(size, '\0');
    if (!read_whole(fd, bytes.data(), size)) return 0;
    const pid_t pid = ::fork();
    if (pid != 0)
      continue;  // a fork that fails leaves no supervisor: the agent reports the step as lost
    // The pipe is the spawner's alone.
    ::close(fd);
    ::signal(SIGCHLD, SIG_DFL);
    // A supervisor outlives the agent, and a terminal that the agent was started from.
    ::setsid();
    ::_exit(run_step(std::move(bytes)));
  }
}

}  // namespace muster
