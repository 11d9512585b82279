// The clients' thread: a gateway over its replica, and a socket that everybody may open. Who a
// client is, the kernel says (SO_PEERCRED).
#include <kj/async-io.h>

#include "apps/musterd/gateway_host.h"
#include "apps/musterd/threads.h"
#include "wire/rpc_server.h"

namespace muster::daemon {
namespace {

/// Clients that are still there connect again; who waits or holds an allocation is heard more
/// often.
constexpr Duration kIdleLimit = Duration::seconds(120);

}  // namespace

void run_gateway(Channels& channels, QueryReplica& replica, const DaemonOptions& options,
                 int listen_fd) {
  auto io = kj::setupAsyncIo();
  GatewayHost host(channels, channels.gateway, 0, replica, io, options.http);
  // This gateway alone collects checkpoints.
  host.gateway().begin();
  ServerOptions server_options;
  server_options.operators = options.operators;
  server_options.idle_limit = kIdleLimit;
  server_options.quota = client_limits(open_files_max());
  RpcServer server(io, listen_fd, &host.gateway(), nullptr, server_options);
  host.pump().wait(io.waitScope);
}

}  // namespace muster::daemon
