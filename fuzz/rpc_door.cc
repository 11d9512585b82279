#include "fuzz/rpc_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "fuzz/fuzz.h"
#include "wire/socket.h"

namespace muster::fuzz {
namespace {

constexpr std::size_t kSpareMax = 256 * 1024;
constexpr auto kTimeout = std::chrono::seconds(20);

/// The controller's answers to clients and agents, without threads between.
class Calls final : public ClientCalls, public AgentCalls {
 public:
  explicit Calls(kj::AsyncIoContext& io) : io_(io) {}
  ~Calls() noexcept override = default;
  /// Made when it is first asked for: most inputs never get so far.
  SmallCluster& cluster() {
    if (cluster_ == nullptr) cluster_ = std::make_unique<SmallCluster>(io_);
    return *cluster_;
  }
  void begin() { cluster_ = nullptr; }
  /// Whoever waits for something still is answered that it will not come.
  void finish() {
    if (cluster_ != nullptr) cluster_->expect_replay();
    cluster_ = nullptr;
  }

  kj::Promise<std::vector<Reply>> submit(const Identity&, std::vector<Request> requests,
                                         RequestId id) override {
    return cluster()
        .gateway()
        .submit(testing::kAlice, std::move(requests), id)
        .then([this](std::vector<Reply> replies) {
          cluster().run_until_idle();
          return replies;
        });
  }
  kj::Promise<std::optional<Error>> query(const Identity&, Query query, SendPage send) override {
    return cluster().gateway().query(testing::kAlice, std::move(query), std::move(send));
  }
  kj::Promise<WaitAnswer> wait(const Identity&, WaitFor wanted) override {
    return cluster().gateway().wait(testing::kAlice, wanted);
  }
  kj::Promise<Result<LogAnswer>> read_logs(const Identity&, LogQuery query,
                                           Duration wait) override {
    return cluster().gateway().read_logs(testing::kAlice, std::move(query), wait);
  }

  Result<NodeIndex> agent_registered(const Identity&, const RegisterNode& hello,
                                     AgentSender& sender) override {
    auto node = cluster().greet(hello);
    if (node.has_value()) sender.send(TerminateJob{JobId(99), 0, "", {}});
    return node;
  }
  ClusterIdentity cluster_identity() const override { return {"cluster", Epoch(1)}; }
  bool agent_message(NodeIndex node, AgentSender&, const FromAgent& message) override {
    cluster().hear(node, message);
    cluster().run_until_idle();
    return true;
  }
  void agent_lost(NodeIndex, AgentSender&, const std::vector<SignalStep>&) override {}
  void agent_received(NodeIndex, AgentSender&, const StepId&) override {}
  void agent_refused(NodeIndex, AgentSender&, const ToAgent&, const std::string&) override {}

 private:
  kj::AsyncIoContext& io_;
  std::unique_ptr<SmallCluster> cluster_;
};

/// Hands bytes on in one direction until they end, keeping a copy where one is wanted.
class Pump {
 public:
  explicit Pump(std::string* copy) : copy_(copy) {}
  kj::Promise<void> run(kj::AsyncIoStream& from, kj::AsyncIoStream& to) {
    return from.tryRead(buffer_.data(), 1, buffer_.size())
        .then([this, &from, &to](std::size_t size) -> kj::Promise<void> {
          if (size == 0) return kj::READY_NOW;
          if (copy_ != nullptr) copy_->append(buffer_, 0, size);
          return to.write(buffer_.data(), size).then([this, &from, &to] { return run(from, to); });
        });
  }

 private:
  std::string* copy_;
  std::string buffer_ = std::string(1 << 16, '\0');
};

}  // namespace

struct RpcDoor::State {
  explicit State(DoorKind kind) : io(kj::setupAsyncIo()) {
    std::string name = "/tmp/muster-door-fuzz.XXXXXX";
    FUZZ_EXPECT(::mkdtemp(name.data()) != nullptr, "no folder can be made");
    folder = name;
    const auto fd = listen_unix(folder + "/door", 0600);
    FUZZ_EXPECT(fd.has_value(), "the door cannot be opened");
    const bool is_clients = kind == DoorKind::kClients;
    server = std::make_unique<RpcServer>(io, *fd, is_clients ? &calls : nullptr,
                                         is_clients ? nullptr : &calls, ServerOptions());
  }
  ~State() {
    ::unlink((folder + "/door").c_str());
    ::unlink((folder + "/tap").c_str());
    ::rmdir(folder.c_str());
  }

  kj::AsyncIoContext io;
  std::string folder;
  Calls calls{io};
  std::unique_ptr<RpcServer> server;
};

RpcDoor::RpcDoor(DoorKind kind) : state_(std::make_unique<State>(kind)) {}
RpcDoor::~RpcDoor() = default;

void RpcDoor::feed(std::string_view bytes) {
  State& state = *state_;
  state.calls.begin();
  const auto fd = connect_to("unix:" + state.folder + "/door");
  FUZZ_EXPECT(fd.has_value(), "the door cannot be dialled");
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  std::string answer(kSpareMax, '\0');
  bool is_said = false;
  for (bool is_over = false; !is_over;) {
    FUZZ_EXPECT(std::chrono::steady_clock::now() < until, "the door does not let go");
    while (!bytes.empty()) {
      const ssize_t size = ::send(*fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && errno != EAGAIN) bytes = {};
      if (size <= 0) break;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    if (bytes.empty() && !is_said) {
      ::shutdown(*fd, SHUT_WR);
      is_said = true;
    }
    state.io.waitScope.poll();
    const ssize_t size = ::read(*fd, answer.data(), answer.size());
    is_over = size == 0 || (size < 0 && errno != EAGAIN);
    if (size < 0 && !is_over)
      state.io.provider->getTimer().afterDelay(20 * kj::MICROSECONDS).wait(state.io.waitScope);
  }
  ::close(*fd);
  state.io.waitScope.poll();
  state.calls.finish();
  state.io.waitScope
      .poll();  // calls that outlived their connection end before the server that counts them may
}

std::string RpcDoor::record(
    const std::function<void(kj::AsyncIoContext& io, const std::string& address)>& talk) {
  State& state = *state_;
  state.calls.begin();
  std::string said;
  const std::string path = state.folder + "/tap";
  const auto listen_fd = listen_unix(path, 0600);
  FUZZ_EXPECT(listen_fd.has_value(), "the tap cannot be opened");
  auto receiver = state.io.lowLevelProvider->wrapListenSocketFd(
      *listen_fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
  auto served =
      receiver->accept()
          .then([&](kj::Own<kj::AsyncIoStream> client) {
            return state.io.provider->getNetwork()
                .parseAddress(("unix:" + state.folder + "/door").c_str())
                .then([](kj::Own<kj::NetworkAddress> address) {
                  auto connected = address->connect();
                  return connected.attach(kj::mv(address));
                })
                .then([&, client = kj::mv(client)](kj::Own<kj::AsyncIoStream> door) mutable {
                  auto forth = kj::heap<Pump>(&said);
                  auto back = kj::heap<Pump>(nullptr);
                  kj::Promise<void> there = forth->run(*client, *door).attach(kj::mv(forth));
                  kj::Promise<void> here = back->run(*door, *client).attach(kj::mv(back));
                  return there.exclusiveJoin(kj::mv(here)).attach(kj::mv(client), kj::mv(door));
                });
          })
          .eagerlyEvaluate([](kj::Exception&&) {});
  talk(state.io, "unix:" + path);
  return said;
}

}  // namespace muster::fuzz
