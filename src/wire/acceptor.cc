// A shortage of descriptors leaves connections in the kernel's queue, where no event announces them
// again: they are looked at by the clock until it is over.
#include "wire/acceptor.h"

#include <kj/exception.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace muster {
namespace {

/// Who waits behind a shortage gives no further sign: it is looked at again by the clock.
constexpr kj::Duration kShortagePause = 100 * kj::MILLISECONDS;

/// Others have their turn between so many, however fast somebody dials.
constexpr int kAcceptsATurn = 64;

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

}  // namespace

Acceptor::Acceptor(kj::AsyncIoContext& io, int listen_fd, std::function<void(int)> adopt,
                   std::function<void(int)> on_shortage)
    : timer_(io.provider->getTimer()),
      listen_fd_(listen_fd),
      adopt_(std::move(adopt)),
      on_shortage_(std::move(on_shortage)),
      observer_(io.unixEventPort, listen_fd, kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

kj::Promise<void> Acceptor::run() {
  // The clock's next look comes with one at all descriptors.
  auto ready = is_short_        ? timer_.afterDelay(kShortagePause)
               : may_have_more_ ? timer_.afterDelay(kj::Duration())
                                : observer_.whenBecomesReadable();
  return ready.then([this] {
    accept_waiting();
    return run();
  });
}

/// An error of one connection, which may have ended meanwhile, is not one of those behind it.
void Acceptor::accept_waiting() {
  may_have_more_ = false;
  for (int i = 0; i < kAcceptsATurn; ++i) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      // Its peer may be gone already, which the first call on it would throw.
      kj::runCatchingExceptions([&] { adopt_(fd); });
    } else if (errno == EAGAIN || is_shortage(errno)) {
      const bool was_short = std::exchange(is_short_, errno != EAGAIN);
      if (is_short_ && !was_short && on_shortage_) on_shortage_(errno);
      return;
    } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      return;  // it listens no more
    }
  }
  may_have_more_ = true;
}

}  // namespace muster
