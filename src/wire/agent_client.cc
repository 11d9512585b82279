// Calls are batched: while one is in flight what is sent gathers, and goes with the next. A refusal
// of the controller ends the connection, since the agent's next registration says everything anew.
#include "wire/agent_client.h"

#include <capnp/rpc-twoparty.h>

#include <optional>

#include "records/fields.h"
#include "records/wire_records.h"
#include "wire/socket_stream.h"

namespace muster {

using records::read;
using records::write;

namespace {

class AgentImpl final : public schema::Agent::Server {
 public:
  explicit AgentImpl(std::function<void(const ToAgent&)>& receive) : receive_(receive) {}
  kj::Promise<void> deliver(DeliverContext context) override {
    // All are read before any is obeyed: of a call that fails nothing was done.
    std::vector<ToAgent> messages;
    for (const auto wire : context.getParams().getMessages()) read(wire, messages.emplace_back());
    for (const ToAgent& message : messages) receive_(message);
    return kj::READY_NOW;
  }

 private:
  std::function<void(const ToAgent&)>& receive_;
};

}  // namespace

struct AgentClient::State final : kj::TaskSet::ErrorHandler {
  State(kj::AsyncIoContext& io, int fd, std::function<void(const ToAgent&)> r)
      : receive(std::move(r)),
        stream(socket_stream(io, fd)),
        client(*stream),
        controller(client.bootstrap().castAs<schema::Controller>()),
        over(kj::newPromiseAndFulfiller<void>()),
        tasks(*this) {}
  /// The next call would fail as well: what is told anew after the next registration may be taken.
  void taskFailed(kj::Exception&& exception) override { over.fulfiller->reject(kj::mv(exception)); }

  void flush() {
    if (waiting.empty()) return;
    // Before the registration is answered there is nobody to send to.
    KJ_IF_MAYBE (port, registered) {
      is_busy = true;
      auto call = port->deliverRequest();
      auto list = call.initMessages(static_cast<unsigned>(waiting.size()));
      for (unsigned i = 0; i < waiting.size(); ++i) write(list[i], waiting[i]);
      waiting.clear();
      tasks.add(call.send().ignoreResult().then([this] {
        is_busy = false;
        flush();
      }));
    }
  }

  std::function<void(const ToAgent&)> receive;
  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyClient client;
  schema::Controller::Client controller;
  kj::Maybe<schema::AgentPort::Client> registered;
  std::vector<FromAgent> waiting;
  bool is_busy = false;
  kj::PromiseFulfillerPair<void> over;  ///< rejected when the controller refuses what it is told
  kj::TaskSet tasks;
};

AgentClient::AgentClient(kj::AsyncIoContext& io, int fd,
                         std::function<void(const ToAgent&)> receive)
    : state_(std::make_unique<State>(io, fd, std::move(receive))) {}
AgentClient::~AgentClient() = default;

kj::Promise<AgentClient::Answer> AgentClient::register_node(const RegisterNode& hello) {
  auto call = state_->controller.registerNodeRequest();
  call.setAgent(kj::heap<AgentImpl>(state_->receive));
  write(call.initHello(), FromAgent(hello));
  return call.send().then([this](auto&& response) {
    Answer answer;
    answer.cluster = {std::string(response.getClusterId().cStr()), Epoch(response.getEpoch())};
    if (response.hasError()) {
      read(response.getError(), answer.refusal.emplace());
      return answer;
    }
    state_->registered = response.getController();
    // What was sent before the answer waited for it.
    state_->flush();
    return answer;
  });
}

void AgentClient::send(const FromAgent& message) {
  state_->waiting.push_back(message);
  if (!state_->is_busy) state_->flush();
}

// Whoever waits for the disconnection hears of it at once, whatever the network does.
void AgentClient::close() {
  state_->over.fulfiller->reject(KJ_EXCEPTION(DISCONNECTED, "given up"));
}

kj::Promise<void> AgentClient::on_disconnect() {
  return state_->client.onDisconnect().exclusiveJoin(kj::mv(state_->over.promise));
}

}  // namespace muster
