// Accepts connections that come in at a listening socket.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <functional>

namespace muster {

/// Accepts each, also those that came while the process or the machine had no descriptor or memory
/// to spare: these wait until it has. It lives no longer than the descriptor.
class Acceptor {
 public:
  /// `adopt` is called on the event loop and owns the connection's descriptor; what it throws is
  /// the end of that connection alone. `on_shortage`, if any, has the errno of a shortage (EMFILE,
  /// ENFILE, ENOMEM or ENOBUFS), once per shortage.
  Acceptor(kj::AsyncIoContext& io, int listen_fd, std::function<void(int fd)> adopt,
           std::function<void(int error)> on_shortage = {});

  /// Accepts for as long as somebody holds the promise.
  kj::Promise<void> run();
  /// True when somebody waits to be accepted, and the last attempt found no descriptor or memory
  /// for it.
  bool is_short() const { return is_short_; }

 private:
  void accept_waiting();

  kj::Timer& timer_;
  int listen_fd_;
  std::function<void(int fd)> adopt_;
  std::function<void(int error)> on_shortage_;
  bool is_short_ = false;
  bool may_have_more_ = false;
  kj::UnixEventPort::FdObserver observer_;
};

}  // namespace muster
