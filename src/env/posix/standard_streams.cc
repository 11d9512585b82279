#include "env/posix/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace muster {

// A daemon that is started without them would open its first files as 0 to 2.
void open_standard_streams() {
  for (int stream = 0; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free number is taken, which is this one: all below it are open.
    if (::open("/dev/null", O_RDWR) != stream) ::_exit(127);
  }
}

}  // namespace muster
