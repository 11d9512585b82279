// A connected socket as a stream of the event loop.
#pragma once

#include <kj/async-io.h>

namespace muster {

/// Makes the stream, which owns `fd` from here on. Requires: it is non-blocking and close-on-exec,
/// as accept4 and wire/socket.h make it.
kj::Own<kj::AsyncIoStream> socket_stream(kj::AsyncIoContext& io, int fd);

}  // namespace muster
