// What kj would set again is set already.
#include "wire/socket_stream.h"

namespace muster {

kj::Own<kj::AsyncIoStream> socket_stream(kj::AsyncIoContext& io, int fd) {
  return io.lowLevelProvider->wrapSocketFd(fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP |
                                                   kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                                                   kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
}

}  // namespace muster
