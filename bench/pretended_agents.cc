// The agents of a large cluster in one process: each registers its node, says every two seconds
// that it lives, and says of every step that it runs. Nothing runs, and nothing ends. Imitates ten
// thousand nodes for what is measured beside them.
//
//   pretended_agents SOCKET PREFIX COUNT CPUS
//
// Nodes are called PREFIX0, PREFIX1 ...; prints "all registered" when they are, and goes on until
// it is ended or its parent is.
#include <fcntl.h>
#include <fmt/format.h>
#include <kj/async-io.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "wire/agent_client.h"

namespace muster {
namespace {

constexpr auto kHeartbeat = 2 * kj::SECONDS;

[[noreturn]] void die(const std::string& text) {
  fmt::print(stderr, "pretended_agents: {}\n", text);
  std::exit(1);
}

int dial(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) die("the socket's path is too long");
  path.copy(address.sun_path, path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    die("cannot connect to " + path);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);  // what the event loop takes it for
  return fd;
}

class PretendedAgent {
 public:
  PretendedAgent(kj::AsyncIoContext& io, const std::string& socket, std::string name,
                 std::uint32_t cpus)
      : io_(io), client_(io, dial(socket), [this](const ToAgent& message) {
          if (const auto* launch = get_if<LaunchStep>(&message))
            client_.send(StepRunning{launch->id, launch->launch_key});
        }) {
    self_.node_name = std::move(name);
    self_.boot_id = "pretended";
    self_.cpus = cpus;
    self_.memory_mib = 1'000'000;
  }
  kj::Promise<void> run(std::uint64_t& registered) {
    return client_.register_node(self_).then([this, &registered](AgentClient::Answer answer) {
      if (answer.refusal) die(answer.refusal->text());
      ++registered;
      return live();
    });
  }

 private:
  kj::Promise<void> live() {
    client_.send(Heartbeat{});
    return io_.provider->getTimer().afterDelay(kHeartbeat).then([this] { return live(); });
  }

  kj::AsyncIoContext& io_;
  AgentClient client_;
  RegisterNode self_;
};

int main_of(int argc, char** argv) {
  if (argc != 5) die("usage: pretended_agents SOCKET PREFIX COUNT CPUS");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto count = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10));
  const auto cpus = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
  const rlimit files{count + 100, count + 100};
  if (::setrlimit(RLIMIT_NOFILE, &files) != 0) die("too few files may be open");
  auto io = kj::setupAsyncIo();
  std::vector<std::unique_ptr<PretendedAgent>> agents;
  std::uint64_t registered = 0;
  auto lives = kj::heapArrayBuilder<kj::Promise<void>>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    agents.push_back(
        std::make_unique<PretendedAgent>(io, argv[1], fmt::format("{}{}", argv[2], i), cpus));
    lives.add(agents.back()->run(registered));
    if (i % 100 == 99) io.provider->getTimer().afterDelay(20 * kj::MILLISECONDS).wait(io.waitScope);
  }
  // Each agent counts itself where it runs.
  while (registered < count)  // NOLINT(bugprone-infinite-loop)
    io.provider->getTimer().afterDelay(100 * kj::MILLISECONDS).wait(io.waitScope);
  fmt::print("all registered\n");
  std::fflush(stdout);
  kj::joinPromises(lives.finish()).wait(io.waitScope);
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::main_of(argc, argv); }
