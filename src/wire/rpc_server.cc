// For each connection: a stream that bounds what comes in, an RPC system, and a capability that
// speaks for the identity that the kernel gave (SO_PEERCRED). Whatever a peer does ends its own
// connection alone. All that is counted is released by destructors, so that nothing stays counted
// whichever way a call ends.
#include "wire/rpc_server.h"

#include <capnp/rpc-twoparty.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <kj/async-unix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <set>

#include "records/bytes.h"
#include "records/fields.h"
#include "records/wire_records.h"
#include "wire/acceptor.h"
#include "wire/agent_sender.h"
#include "wire/bounded_stream.h"
#include "wire/socket.h"
#include "wire/socket_stream.h"

namespace muster {
namespace {

constexpr kj::Duration kSweepPause = 1 * kj::SECONDS;
/// How long a peer that is refused may take to read why, and how many such there are at once;
/// others are just closed.
constexpr kj::Duration kRefusalTravels = 2 * kj::SECONDS;
constexpr std::uint32_t kRefusalsMax = 256;
/// To say why costs ten times what it costs to close: a program that dials in a loop is told so
/// often a second.
constexpr std::uint32_t kReasonsASecond = 128;

using records::read;
using records::write;

/// The agent of one connection, which ends with it: a peer may hand us an object of our own as its
/// agent, and what is reachable from itself would never go.
class AgentLink {
 public:
  explicit AgentLink(AgentCalls* calls) : calls_(calls) {}
  KJ_DISALLOW_COPY(AgentLink);
  ~AgentLink() { end(); }
  void begin(NodeIndex node, std::unique_ptr<RpcAgentSender> sender) {
    node_ = node;
    sender_ = std::move(sender);
  }
  void end() {
    if (sender_ == nullptr) return;
    // Signals that were not heard are kept for the node's next connection.
    calls_->agent_lost(node_, *sender_, sender_->unheard());
    sender_ = nullptr;
  }
  bool is_registered() const { return sender_ != nullptr; }
  void refuse(const ToAgent& message, const std::string& why) {
    if (sender_ != nullptr) calls_->agent_refused(node_, *sender_, message, why);
  }
  void on_received(const StepId& step) {
    if (sender_ != nullptr) calls_->agent_received(node_, *sender_, step);
  }
  /// False: it has lost its place.
  bool hear(const FromAgent& message) {
    return sender_ == nullptr || calls_->agent_message(node_, *sender_, message);
  }

 private:
  AgentCalls* calls_;
  NodeIndex node_;
  std::unique_ptr<RpcAgentSender> sender_;  ///< null: not registered, or the connection is over
};

class AgentPortImpl final : public schema::AgentPort::Server {
 public:
  explicit AgentPortImpl(std::shared_ptr<AgentLink> link) : link_(std::move(link)) {}
  kj::Promise<void> deliver(DeliverContext context) override {
    const auto messages = context.getParams().getMessages();
    // Bounded before they are read: a list of empty elements costs its sender nothing.
    records::require_sized(messages);
    for (const auto wire : messages) {
      FromAgent message;
      read(wire, message);
      // It would be silent for us, and believe that it is heard, for as long as it is connected.
      if (!link_->hear(message))
        return KJ_EXCEPTION(DISCONNECTED, "another agent has taken the node's place");
    }
    return kj::READY_NOW;
  }

 private:
  std::shared_ptr<AgentLink> link_;
};

/// What a connection is doing, as far as it may be closed for doing nothing.
struct Activity {
  std::uint32_t calls = 0;
  kj::TimePoint last = kj::origin<kj::TimePoint>();  ///< something arrived, or a call was answered
};

/// A call of a user counts for as long as this lives.
class CallCount {
 public:
  CallCount(ConnectionQuota& quota, UserId user, std::shared_ptr<Activity> activity,
            kj::Timer& timer)
      : quota_(quota), user_(user), activity_(std::move(activity)), timer_(timer) {
    ++activity_->calls;
  }
  KJ_DISALLOW_COPY(CallCount);
  ~CallCount() {
    quota_.drop_call(user_);
    --activity_->calls;
    // Idle counts from the answer, not from the call.
    activity_->last = timer_.now();
  }

 private:
  ConnectionQuota& quota_;
  UserId user_;
  std::shared_ptr<Activity> activity_;
  kj::Timer& timer_;
};

class ControllerImpl final : public schema::Controller::Server {
 public:
  ControllerImpl(ClientCalls* clients, AgentCalls* agents, Identity identity,
                 ConnectionQuota& quota, std::shared_ptr<Activity> activity,
                 std::shared_ptr<AgentLink> link, kj::Timer& timer)
      : clients_(clients),
        agents_(agents),
        identity_(identity),
        quota_(quota),
        activity_(std::move(activity)),
        link_(std::move(link)),
        timer_(timer) {}

  kj::Promise<void> submit(SubmitContext context) override {
    auto call = begin_call();
    const auto params = context.getParams();
    const auto asked = params.getRequests();
    // Before anything is decoded.
    KJ_REQUIRE(asked.size() <= kRequestsMax, "too many requests in one batch", asked.size());
    records::require_sized(asked);
    std::vector<Request> requests;
    for (const auto wire : asked) read(wire, requests.emplace_back());
    const RequestId id{params.getRequestHigh(), params.getRequestLow()};
    // The message's memory goes back before the core is asked.
    context.releaseParams();
    return clients_->submit(identity_, std::move(requests), id)
        .then([context](std::vector<Reply>&& replies) mutable {
          auto list = context.getResults().initReplies(static_cast<unsigned>(replies.size()));
          for (unsigned i = 0; i < replies.size(); ++i) write(list[i], replies[i]);
        })
        .attach(kj::mv(call));
  }

  kj::Promise<void> query(QueryContext context) override {
    auto call = begin_call();
    Query query;
    read(context.getParams().getQuery(), query);
    auto sink = context.getParams().getSink();
    context.releaseParams();
    context
        .allowCancellation();  // who does not want the rest, or has left, needs no more of it made
    auto shared_sink = std::make_shared<schema::PageSink::Client>(kj::mv(sink));
    SendPage send = [shared_sink, &quota = quota_, who = identity_](const std::string& bytes) {
      return send_page(*shared_sink, quota, who, bytes);
    };
    return clients_->query(identity_, std::move(query), std::move(send))
        .then([context](std::optional<Error>&& error) mutable {
          if (error) write(context.getResults().initError(), *error);
        })
        .attach(kj::mv(call));
  }

  kj::Promise<void> wait(WaitContext context) override {
    auto call = begin_call();
    const auto params = context.getParams();
    // A number from outside becomes an enumerator: checked first.
    KJ_REQUIRE(params.getUntil() <= 2, "unknown condition");
    const WaitFor wanted{StepId{JobId(params.getJob()), params.getAttempt(), params.getStep()},
                         static_cast<WaitUntil>(params.getUntil()), params.getLaunchKey()};
    return clients_->wait(identity_, wanted)
        .then([context](WaitAnswer&& answer) mutable {
          auto results = context.getResults();
          if (answer.job) write(results.initJob(), *answer.job);
          if (answer.step) write(results.initStep(), *answer.step);
          if (answer.error) write(results.initError(), *answer.error);
        })
        .attach(kj::mv(call));
  }

  kj::Promise<void> readLogs(ReadLogsContext context) override {
    auto call = begin_call();
    LogQuery query;
    read(context.getParams().getQuery(), query);
    const Duration wait = Duration::microseconds(context.getParams().getWait());
    context.releaseParams();
    return clients_->read_logs(identity_, std::move(query), wait)
        .then([context](Result<LogAnswer>&& answer) mutable {
          auto results = context.getResults();
          if (!answer.has_value()) {
            write(results.initError(), answer.error());
            return;
          }
          write(results.initPage(), answer->page);
          results.setIsOver(answer->is_over);
        })
        .attach(kj::mv(call));
  }

  kj::Promise<void> registerNode(RegisterNodeContext context) override {
    KJ_REQUIRE(agents_ != nullptr, "this socket serves clients");
    // Once for each connection: a second would take the first one's place unseen.
    KJ_REQUIRE(!link_->is_registered(), "registered already");
    FromAgent hello;
    read(context.getParams().getHello(), hello);
    KJ_REQUIRE(holds_alternative<RegisterNode>(hello), "not a registration");
    auto sender = std::make_unique<RpcAgentSender>(
        context.getParams().getAgent(),
        RpcAgentSender::Outcome{
            [link = link_.get()](const LaunchStep& launch) { link->on_received(launch.id); },
            [link = link_.get()](const ToAgent& message, const std::string& why) {
              link->refuse(message, why);
            }});
    auto results = context.getResults();
    const auto node = agents_->agent_registered(identity_, get<RegisterNode>(hello), *sender);
    const ClusterIdentity cluster = agents_->cluster_identity();
    results.setClusterId(cluster.cluster_id);
    // Also with a refusal: the agent learns from it which cluster this is.
    results.setEpoch(cluster.epoch.value());
    if (!node.has_value()) {
      write(results.initError(), node.error());
      return kj::READY_NOW;
    }
    // Only now messages may go: before the node was known there was nobody to be lost.
    link_->begin(*node, std::move(sender));
    results.setController(kj::heap<AgentPortImpl>(link_));
    return kj::READY_NOW;
  }

 private:
  kj::Own<CallCount> begin_call() {
    KJ_REQUIRE(clients_ != nullptr, "this socket serves agents");
    // An exception that the client may repeat its request after.
    if (const auto refusal = quota_.add_call(identity_.user, identity_.is_operator))
      kj::throwFatalException(overloaded(*refusal));
    return kj::heap<CallCount>(quota_, identity_.user, activity_, timer_);
  }

  /// A page counts among its reader's bytes until there is room for the next.
  static kj::Promise<void> send_page(schema::PageSink::Client& sink, ConnectionQuota& quota,
                                     const Identity& reader, const std::string& bytes) {
    const std::size_t size = bytes.size();
    if (const auto refusal = quota.add_bytes(reader.user, reader.is_operator, size))
      return overloaded(*refusal);
    // Released when the page has been received, or the call has failed.
    auto release = kj::defer([&quota, user = reader.user, size] { quota.drop_bytes(user, size); });
    auto request = sink.pageRequest(capnp::MessageSize{size / sizeof(capnp::word) + 16, 0});
    request.setBytes(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bytes.data()), size));
    return request.send().attach(kj::mv(release));
  }

  ClientCalls* clients_;
  AgentCalls* agents_;
  Identity identity_;
  ConnectionQuota& quota_;
  std::shared_ptr<Activity> activity_;
  std::shared_ptr<AgentLink> link_;
  kj::Timer& timer_;
};

/// What the server holds of one connection. The order of the members is that in which they need
/// each other.
struct Connection {
  explicit Connection(AgentCalls* agents) : link(std::make_shared<AgentLink>(agents)) {}
  KJ_DISALLOW_COPY(Connection);
  // The agent's loss is told before anything of the connection goes.
  ~Connection() { link->end(); }
  std::shared_ptr<AgentLink> link;
  kj::Own<kj::AsyncIoStream> stream;
  std::shared_ptr<Activity> activity = std::make_shared<Activity>();
  std::optional<BoundedMessageStream> messages;
  std::optional<capnp::TwoPartyVatNetwork> network;
  std::optional<capnp::RpcSystem<capnp::rpc::twoparty::VatId>> rpc;
  kj::Own<kj::PromiseFulfiller<void>> close;
};

/// "I end this connection, because": the message by which the protocol says so.
kj::Array<capnp::word> abort_message(const std::string& reason) {
  capnp::MallocMessageBuilder message;
  auto abort = message.initRoot<capnp::rpc::Message>().initAbort();
  abort.setReason(reason);
  abort.setType(capnp::rpc::Exception::Type::OVERLOADED);
  return capnp::messageToFlatArray(message);
}

}  // namespace

struct RpcServer::State final : kj::TaskSet::ErrorHandler {
  State(kj::AsyncIoContext& context, int fd, ClientCalls* c, AgentCalls* a, ServerOptions o)
      : io(context),
        listen_fd(fd),
        clients(c),
        agents(a),
        options(std::move(o)),
        quota(options.quota),
        acceptor(context, fd, [this](int connection) { adopt(connection); }),
        tasks(*this) {
    tasks.add(acceptor.run());
    if (options.idle_limit != Duration()) tasks.add(sweep_loop());
  }
  void taskFailed(kj::Exception&&) override {
  }  // a peer that went away or spoke nonsense: its connection is gone

  /// Closes connections that nobody uses.
  kj::Promise<void> sweep_loop() {
    kj::Timer& timer = io.provider->getTimer();
    return timer.afterDelay(kSweepPause).then([this, &timer] {
      const kj::Duration limit = options.idle_limit.microseconds() * kj::MICROSECONDS;
      for (Connection* connection : connections) {
        const Activity& activity = *connection->activity;
        if (activity.calls == 0 && timer.now() - activity.last > limit)
          connection->close->fulfill();
      }
      return sweep_loop();
    });
  }

  void adopt(int fd) {
    const auto identity = peer_identity(fd, options.operators);
    // Who cannot be identified is nobody.
    if (!identity.has_value()) {
      ::close(fd);
    } else if (const auto refusal = quota.add_connection(identity->user, identity->is_operator)) {
      refuse(fd, *refusal);
    } else {
      const UserId user = identity->user;
      // What was counted must not stay so when serving fails.
      KJ_IF_MAYBE (exception,
                   kj::runCatchingExceptions([&] { serve(socket_stream(io, fd), *identity); })) {
        quota.drop_connection(user);
        kj::throwFatalException(kj::mv(*exception));
      }
    }
  }

  /// The reason is read before the end is noticed only if the end comes second.
  void refuse(int fd, const std::string& reason) {
    const kj::TimePoint now = io.provider->getTimer().now();
    if (now - reasons_since >= 1 * kj::SECONDS) {
      // A second of its own: the count begins anew.
      reasons_since = now;
      reasons = 0;
    }
    if (refusals >= kRefusalsMax || reasons >= kReasonsASecond) {
      ::close(fd);
      return;
    }
    auto stream = socket_stream(io, fd);
    ++refusals;
    ++reasons;
    auto bytes = abort_message(reason);
    auto& peer = *stream;
    // To one that is gone already it throws at once.
    auto sent =
        kj::evalNow([&] { return peer.write(bytes.asBytes().begin(), bytes.asBytes().size()); });
    auto sink = kj::heapArray<kj::byte>(4096);
    auto rest = sink.asPtr();
    // An end in one direction, so that the peer reads the reason; a plain close with unread bytes
    // would reset the connection and lose it.
    auto gone = sent.then([&peer, rest]() mutable {
      peer.shutdownWrite();
      return until_gone(peer, rest);
    });
    auto late = io.provider->getTimer().afterDelay(kRefusalTravels);
    tasks.add(gone.exclusiveJoin(kj::mv(late))
                  .attach(kj::mv(bytes), kj::mv(sink), kj::mv(stream),
                          kj::defer([this] { --refusals; })));
  }
  static kj::Promise<void> until_gone(kj::AsyncIoStream& peer, kj::ArrayPtr<kj::byte> sink) {
    return peer.tryRead(sink.begin(), 1, sink.size())
        .then([&peer, sink](std::size_t size) -> kj::Promise<void> {
          if (size == 0) return kj::READY_NOW;
          return until_gone(peer, sink);
        });
  }

  void serve(kj::Own<kj::AsyncIoStream> stream, const Identity& identity) {
    auto connection = kj::heap<Connection>(agents);
    Connection& it = *connection;
    kj::Timer& timer = io.provider->getTimer();
    it.stream = kj::mv(stream);
    it.activity->last = timer.now();
    const UserId user = identity.user;
    const bool is_operator = identity.is_operator;
    StreamHooks hooks;
    // By value: with a message that is still in use, hooks may outlive the connection.
    hooks.hold = [this, user, is_operator](std::size_t bytes) {
      return quota.add_bytes(user, is_operator, bytes);
    };
    hooks.release = [this, user](std::size_t bytes) { quota.drop_bytes(user, bytes); };
    hooks.arrived = [activity = it.activity, &timer] { activity->last = timer.now(); };
    it.messages.emplace(*it.stream, options.message_words_max, std::move(hooks));
    it.network.emplace(*it.messages, capnp::rpc::twoparty::Side::SERVER);
    it.rpc.emplace(capnp::makeRpcServer(
        *it.network, schema::Controller::Client(kj::heap<ControllerImpl>(
                         clients, agents, identity, quota, it.activity, it.link, timer))));
    // How much of one peer's unanswered calls may be under way.
    it.rpc->setFlowLimit(options.flow_limit_words);
    auto close = kj::newPromiseAndFulfiller<void>();
    it.close = kj::mv(close.fulfiller);
    connections.insert(&it);
    auto done = it.network->onDisconnect().exclusiveJoin(kj::mv(close.promise));
    // The connection goes with its end, whichever side began it.
    tasks.add(done.attach(kj::mv(connection), kj::defer([this, &it, user] {
                            connections.erase(&it);
                            quota.drop_connection(user);
                          })));
  }

  kj::AsyncIoContext& io;
  kj::AutoCloseFd listen_fd;  ///< outlives the acceptor
  ClientCalls* clients;
  AgentCalls* agents;
  ServerOptions options;
  ConnectionQuota quota;
  std::set<Connection*> connections;
  std::uint32_t refusals = 0;  ///< under way
  std::uint32_t reasons = 0;   ///< told since `reasons_since`
  kj::TimePoint reasons_since = kj::origin<kj::TimePoint>();
  Acceptor acceptor;
  kj::TaskSet tasks;
};

RpcServer::RpcServer(kj::AsyncIoContext& io, int listen_fd, ClientCalls* clients,
                     AgentCalls* agents, ServerOptions options)
    : state_(std::make_unique<State>(io, listen_fd, clients, agents, std::move(options))) {}
RpcServer::~RpcServer() = default;

}  // namespace muster
