// A connected socket as the event loop reads and writes it.
#pragma once

#include <kj/async-io.h>

namespace muster {

/// Owns `fd` from here on. Requires: it is non-blocking and close-on-exec, as accept4 and
/// wire/socket.h make it.
kj::Own<kj::AsyncIoStream> socket_stream(kj::AsyncIoContext& io, int fd);

}  // namespace muster
