#include <kj/async-io.h>
#include <kj/async-unix.h>

#include "apps/musterd/threads.h"
#include "wire/rpc_server.h"

namespace muster::daemon {
namespace {

constexpr kj::Duration kTick = 100 * kj::MILLISECONDS;
constexpr int kTicksPerFacts = 10;

/// The core with its ports: the journal and the followers by channel, the agents by RPC.
class CoreThread final : public AgentCalls {
 public:
  ~CoreThread() noexcept override = default;
  CoreThread(Channels& channels, Core& core, kj::AsyncIoContext& io)
      : channels_(channels), core_(core), io_(io),
        observer_(io.unixEventPort, channels.core.fd(), kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

  void attach(std::vector<AgentSender*>& senders) { senders_ = &senders; }

  kj::Promise<void> pump() {
    return observer_.whenBecomesReadable().then([this] {
      for (ToCore& message : channels_.core.take()) {
        std::visit([this](auto& body) { receive(body); }, message);
      }
      end_turn();
      return pump();
    });
  }
  kj::Promise<void> tick() {
    return io_.provider->getTimer().afterDelay(kTick).then([this] {
      core_.on_tick(wall_clock());
      end_turn();
      if (++ticks_ % kTicksPerFacts == 0) push_facts();
      return tick();
    });
  }

  Result<NodeIndex> agent_registered(const Identity& identity, const RegisterNode& hello, AgentSender& sender) override {
    if (!identity.is_operator) {
      return fail(ErrorCode::kPermissionDenied, "nodes register from root or the controller's user alone");
    }
    auto node = core_.on_register(hello, wall_clock());
    if (node.has_value()) (*senders_)[node->value()] = &sender;
    schedule_end();
    return node;
  }
  void agent_message(NodeIndex node, const FromAgent& message) override {
    if (const auto* output = std::get_if<OutputSent>(&message)) return channels_.logs.push(OutputPush{node, output->fragment});
    core_.on_agent(node, message, wall_clock());
    schedule_end();
  }
  void agent_lost(NodeIndex node, AgentSender& sender) override {
    if ((*senders_)[node.value()] != &sender) return;  // a newer connection of the same node
    (*senders_)[node.value()] = nullptr;
    core_.on_agent_lost(node);
  }

 private:
  void receive(Command& command) { core_.on_command(std::move(command), wall_clock()); }
  void receive(PlanResult& plan) { core_.on_plan(std::move(plan), wall_clock()); }
  void receive(DurableNote& note) { core_.on_durable(note.seq, wall_clock()); }
  void receive(JournalFailure& failure) { restart_process(failure.error.text()); }
  void receive(BlobBytes& blob) { core_.on_blob(blob.id, std::move(blob.bytes)); }
  void receive(HistoryNote& note) { core_.on_history(note.seq); }
  void receive(DiskNote& note) { core_.refuse_new_work(note.refusal); }

  void receive(OutputNote& note) {
    if (AgentSender* sender = (*senders_)[note.node.value()]) sender->send(note.answer);
  }

  void end_turn() {
    is_end_scheduled_ = false;
    core_.end_turn(wall_clock());
  }
  /// Messages that arrive in one round of the loop share a turn.
  void schedule_end() {
    if (std::exchange(is_end_scheduled_, true)) return;
    turn_ = kj::evalLast([this] { end_turn(); }).eagerlyEvaluate(nullptr);
  }
  void push_facts() {
    NodeFacts facts;
    for (const NodeLink& link : core_.links()) {
      facts.facts.push_back({link.last_contact, link.load_hundredths, link.free_memory_mib});
    }
    channels_.gateway.push(std::move(facts));
  }

  Channels& channels_;
  Core& core_;
  kj::AsyncIoContext& io_;
  kj::UnixEventPort::FdObserver observer_;
  std::vector<AgentSender*>* senders_ = nullptr;
  kj::Promise<void> turn_ = kj::READY_NOW;
  bool is_end_scheduled_ = false;
  int ticks_ = 0;
};

}  // namespace

void run_core(Channels& channels, Core& core, ChannelCorePort& port, const DaemonOptions& options, int listen_fd, Epoch epoch,
              std::shared_ptr<const ClusterConfig> config) {
  auto io = kj::setupAsyncIo();
  auto thread = kj::heap<CoreThread>(channels, core, io);
  thread->attach(port.senders());
  core.start(epoch, std::move(config), wall_clock());
  port.senders().resize(core.state().nodes().all().size());  // with those that the file no longer names
  ServerOptions server_options;
  server_options.operator_uid = options.operator_uid;
  RpcServer server(io, listen_fd, nullptr, thread.get(), server_options);
  thread->pump().exclusiveJoin(thread->tick()).wait(io.waitScope);
}

}  // namespace muster::daemon
