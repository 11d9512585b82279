#include "wire/rpc_server.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>

#include "records/fields.h"
#include "records/wire_records.h"
#include "wire/socket.h"

namespace muster {
namespace {

using records::read;
using records::write;

/// Messages for an agent, batched: one call is in flight, the next takes all that gathered meanwhile.
class RpcAgentSender final : public AgentSender, private kj::TaskSet::ErrorHandler {
 public:
  explicit RpcAgentSender(schema::Agent::Client agent) : agent_(kj::mv(agent)), tasks_(*this) {}

  ~RpcAgentSender() noexcept override = default;

  void send(const ToAgent& message) override {
    waiting_.push_back(message);
    if (!is_busy_) flush();
  }

 private:
  void flush() {
    if (waiting_.empty()) return;
    is_busy_ = true;
    auto request = agent_.deliverRequest();
    auto messages = request.initMessages(static_cast<unsigned>(waiting_.size()));
    for (unsigned i = 0; i < waiting_.size(); ++i) write(messages[i], waiting_[i]);
    waiting_.clear();
    tasks_.add(request.send().ignoreResult().then([this] {
      is_busy_ = false;
      flush();
    }));
  }
  /// A connection that is gone takes nothing more. An agent that refused a call, being of another version perhaps, is
  /// still told what comes after it.
  void taskFailed(kj::Exception&& exception) override {
    if (exception.getType() == kj::Exception::Type::DISCONNECTED) return;
    is_busy_ = false;
    flush();
  }

  schema::Agent::Client agent_;
  std::vector<ToAgent> waiting_;
  bool is_busy_ = false;
  kj::TaskSet tasks_;
};

class AgentPortImpl final : public schema::AgentPort::Server {
 public:
  AgentPortImpl(AgentCalls& calls, NodeIndex node) : calls_(calls), node_(node) {}
  kj::Promise<void> deliver(DeliverContext context) override {
    for (const auto wire : context.getParams().getMessages()) {
      FromAgent message;
      read(wire, message);
      calls_.agent_message(node_, message);
    }
    return kj::READY_NOW;
  }

 private:
  AgentCalls& calls_;
  NodeIndex node_;
};

class ControllerImpl final : public schema::Controller::Server {
 public:
  ControllerImpl(ClientCalls* clients, AgentCalls* agents, Identity identity)
      : clients_(clients), agents_(agents), identity_(identity) {}
  ~ControllerImpl() noexcept(false) {
    if (node_ && sender_ != nullptr) agents_->agent_lost(*node_, *sender_);
  }

  kj::Promise<void> submit(SubmitContext context) override {
    KJ_REQUIRE(clients_ != nullptr, "this socket serves agents");
    const auto params = context.getParams();
    std::vector<Request> requests;
    for (const auto wire : params.getRequests()) read(wire, requests.emplace_back());
    const RequestId id{params.getRequestHigh(), params.getRequestLow()};
    context.releaseParams();
    return clients_->submit(identity_, std::move(requests), id).then([context](std::vector<Reply>&& replies) mutable {
      auto list = context.getResults().initReplies(static_cast<unsigned>(replies.size()));
      for (unsigned i = 0; i < replies.size(); ++i) write(list[i], replies[i]);
    });
  }

  kj::Promise<void> query(QueryContext context) override {
    KJ_REQUIRE(clients_ != nullptr, "this socket serves agents");
    Query query;
    read(context.getParams().getQuery(), query);
    auto sink = context.getParams().getSink();
    context.releaseParams();
    auto shared_sink = std::make_shared<schema::PageSink::Client>(kj::mv(sink));
    SendPage send = [shared_sink](const std::string& bytes) {
      auto request = shared_sink->pageRequest(capnp::MessageSize{bytes.size() / sizeof(capnp::word) + 16, 0});
      request.setBytes(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()));
      return request.send();
    };
    return clients_->query(identity_, std::move(query), std::move(send))
        .then([context](std::optional<Error>&& error) mutable {
          if (error) write(context.getResults().initError(), *error);
        });
  }

  kj::Promise<void> wait(WaitContext context) override {
    KJ_REQUIRE(clients_ != nullptr, "this socket serves agents");
    const auto params = context.getParams();
    KJ_REQUIRE(params.getUntil() <= 2, "unknown condition");
    return clients_
        ->wait(identity_, JobId(params.getJob()), params.getAttempt(), static_cast<WaitUntil>(params.getUntil()), params.getStep())
        .then([context](WaitAnswer&& answer) mutable {
          auto results = context.getResults();
          if (answer.job) write(results.initJob(), *answer.job);
          if (answer.step) write(results.initStep(), *answer.step);
          if (answer.error) write(results.initError(), *answer.error);
        });
  }

  kj::Promise<void> readLogs(ReadLogsContext context) override {
    KJ_REQUIRE(clients_ != nullptr, "this socket serves agents");
    LogQuery query;
    read(context.getParams().getQuery(), query);
    const Duration wait = Duration::microseconds(context.getParams().getWait());
    context.releaseParams();
    return clients_->read_logs(identity_, std::move(query), wait).then([context](Result<LogAnswer>&& answer) mutable {
      auto results = context.getResults();
      if (!answer.has_value()) {
        write(results.initError(), answer.error());
        return;
      }
      write(results.initPage(), answer->page);
      results.setIsOver(answer->is_over);
    });
  }

  kj::Promise<void> registerNode(RegisterNodeContext context) override {
    KJ_REQUIRE(agents_ != nullptr, "this socket serves clients");
    KJ_REQUIRE(!node_, "registered already");
    FromAgent hello;
    read(context.getParams().getHello(), hello);
    KJ_REQUIRE(std::holds_alternative<RegisterNode>(hello), "not a registration");
    auto sender = std::make_unique<RpcAgentSender>(context.getParams().getAgent());
    auto results = context.getResults();
    const auto node = agents_->agent_registered(identity_, std::get<RegisterNode>(hello), *sender);
    if (!node.has_value()) {
      write(results.initError(), node.error());
      return kj::READY_NOW;
    }
    node_ = *node;
    sender_ = std::move(sender);
    results.setController(kj::heap<AgentPortImpl>(*agents_, *node_));
    return kj::READY_NOW;
  }

 private:
  ClientCalls* clients_;
  AgentCalls* agents_;
  Identity identity_;
  std::optional<NodeIndex> node_;
  std::unique_ptr<RpcAgentSender> sender_;
};

struct Connection {
  Connection(kj::Own<kj::AsyncIoStream> peer, schema::Controller::Client bootstrap, std::size_t flow_limit)
      : stream(kj::mv(peer)), network(*stream, capnp::rpc::twoparty::Side::SERVER), rpc(capnp::makeRpcServer(network, kj::mv(bootstrap))) {
    rpc.setFlowLimit(flow_limit);
  }
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

}  // namespace

struct RpcServer::State final : kj::TaskSet::ErrorHandler {
  State(kj::AsyncIoContext& context, int fd, ClientCalls* c, AgentCalls* a, ServerOptions o)
      : io(context), listen_fd(fd), clients(c), agents(a), options(o),
        observer(context.unixEventPort, fd, kj::UnixEventPort::FdObserver::OBSERVE_READ), tasks(*this) {
    tasks.add(accept_loop());
  }
  void taskFailed(kj::Exception&&) override {}  // a peer that went away or spoke nonsense: its connection is gone

  kj::Promise<void> accept_loop() {
    return observer.whenBecomesReadable().then([this] {
      for (;;) {
        const int fd = ::accept4(listen_fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) break;
        adopt(fd);
      }
      return accept_loop();
    });
  }

  void adopt(int fd) {
    const auto identity = peer_identity(fd, options.operator_uid);
    if (!identity.has_value() || open_connections >= options.connections_max) {
      ::close(fd);
      return;
    }
    ++open_connections;
    auto stream = io.lowLevelProvider->wrapSocketFd(
        fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP | kj::LowLevelAsyncIoProvider::ALREADY_CLOEXEC |
                kj::LowLevelAsyncIoProvider::ALREADY_NONBLOCK);
    auto connection = kj::heap<Connection>(kj::mv(stream), kj::heap<ControllerImpl>(clients, agents, *identity),
                                           options.flow_limit_words);
    auto done = connection->network.onDisconnect();
    tasks.add(done.attach(kj::mv(connection), kj::defer([this] { --open_connections; })));
  }

  kj::AsyncIoContext& io;
  kj::AutoCloseFd listen_fd;  ///< outlives the observer, which still names it to the event port when it goes
  ClientCalls* clients;
  AgentCalls* agents;
  ServerOptions options;
  std::uint32_t open_connections = 0;
  kj::UnixEventPort::FdObserver observer;
  kj::TaskSet tasks;
};

RpcServer::RpcServer(kj::AsyncIoContext& io, int listen_fd, ClientCalls* clients, AgentCalls* agents, ServerOptions options)
    : state_(std::make_unique<State>(io, listen_fd, clients, agents, options)) {}
RpcServer::~RpcServer() = default;

}  // namespace muster
