// In a round of the loop messages of agents (by RPC) and of other threads (by channel) are given to
// the core, and one turn ends for all of them. Commands wait in commands_ while a follower is too
// far behind, or while nodes that were there before have not been heard.
#include <fmt/format.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <deque>

#include "apps/musterd/threads.h"
#include "engine/backlog.h"
#include "wire/rpc_server.h"

namespace muster::daemon {
namespace {

constexpr kj::Duration kTick = 100 * kj::MILLISECONDS;
constexpr int kTicksPerLoads = 10;
/// So many messages of agents are read before it is looked whether other threads have said
/// something.
constexpr int kHeardBetween = 64;

/// The core with its ports: the journal and the followers by channel, the agents by RPC.
class CoreThread final : public AgentCalls {
 public:
  ~CoreThread() noexcept override = default;
  CoreThread(Channels& channels, Core& core, ClusterClock clock, kj::AsyncIoContext& io)
      : channels_(channels),
        core_(core),
        clock_(clock),
        io_(io),
        observer_(io.unixEventPort, channels.core.fd(),
                  kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

  void attach(std::vector<AgentSender*>& senders) { senders_ = &senders; }

  kj::Promise<void> pump() {
    return observer_.whenBecomesReadable().then([this] {
      receive_messages();
      return pump();
    });
  }
  kj::Promise<void> tick() {
    return io_.provider->getTimer().afterDelay(kTick).then([this] {
      // The time first: everything in this turn is judged by it.
      follow_clock();
      core_.on_tick(cluster_now());
      // Also without news: what held commands back may be over.
      receive_commands();
      end_turn();
      if (++ticks_ % kTicksPerLoads == 0) push_node_loads();
      return tick();
    });
  }

  Result<NodeIndex> agent_registered(const Identity& identity, const RegisterNode& hello,
                                     AgentSender& sender) override {
    if (!identity.is_operator) {
      return fail(ErrorCode::kPermissionDenied,
                  "nodes register from root or the controller's user alone");
    }
    auto node = core_.on_register(hello, cluster_now());
    // From here on this connection is the node's, and an older one is not heard any more.
    if (node.has_value()) (*senders_)[node->value()] = &sender;
    has_news_of_nodes_ = has_news_of_nodes_ || node.has_value();
    schedule_end();
    return node;
  }
  ClusterIdentity cluster_identity() const override { return core_.identity(); }
  bool agent_message(NodeIndex node, AgentSender& sender, const FromAgent& message) override {
    // Another connection has taken its place.
    if ((*senders_)[node.value()] != &sender) return false;
    const bool is_obeyed = core_.on_agent(node, message, cluster_now());
    // Only what was obeyed: an agent's word about another node's trial is not stored.
    if (const auto* output = get_if<OutputSent>(&message); output != nullptr && is_obeyed) {
      channels_.logs.push(OutputPush{node, output->fragment});
    }
    schedule_end();
    // Who waits for an answer does not wait until each of ten thousand nodes has been heard.
    if (++heard_ >= kHeardBetween) {
      heard_ = 0;
      if (channels_.core.size() > 0) receive_messages();
    }
    return true;
  }
  void agent_lost(NodeIndex node, AgentSender& sender,
                  const std::vector<SignalStep>& unheard) override {
    // Else a newer connection of the same node has its place.
    if ((*senders_)[node.value()] == &sender) {
      (*senders_)[node.value()] = nullptr;
      core_.on_agent_lost(node);
    }
    // Whichever connection they were given to, the signals are the node's.
    core_.on_unheard(node, unheard);
  }
  void agent_received(NodeIndex node, AgentSender& sender, const StepId& step) override {
    if ((*senders_)[node.value()] != &sender) return;
    core_.on_received(node, step, cluster_now());
    schedule_end();
  }
  void agent_refused(NodeIndex node, AgentSender& sender, const ToAgent& message,
                     const std::string& why) override {
    const auto* launch = get_if<LaunchStep>(&message);
    const std::string what =
        launch == nullptr
            ? "an order"
            : fmt::format(
                  "the launch of step {}.{}", launch->id.job.value(),
                  launch->id.step == kBatchStep ? "batch" : std::to_string(launch->id.step));
    const bool is_current = (*senders_)[node.value()] == &sender;
    if (launch != nullptr && is_current) core_.on_refused(node, *launch, why);
    log_line(fmt::format("the agent of node {} does not take {}: {}",
                         core_.state().nodes().at(node).config.name, what, why));
  }

 private:
  void receive_messages() {
    heard_ = 0;
    for (ToCore& message : channels_.core.receive_all()) {
      visit([this](auto& body) { receive(body); }, message);
    }
    receive_commands();
    end_turn();
  }
  void receive(Command& command) { commands_.push_back(std::move(command)); }
  void receive(PlanResult& plan) { core_.on_plan(plan, cluster_now()); }
  void receive(BatchDurable& note) { core_.on_durable(note.seq, cluster_now()); }
  void receive(JournalFailure& failure) {
    // Another controller leads: this one must not touch anything again.
    if (failure.error.code == ErrorCode::kConflict) stop_process(failure.error.text());
    restart_process(failure.error.text());
  }
  void receive(BlobBytes& blob) { core_.on_blob(blob.id, std::move(blob.bytes)); }
  void receive(HistoryDurable& note) { core_.on_history(note.seq); }
  void receive(DiskStatus& note) { core_.refuse_new_work(note.refusal); }

  void receive(OutputStored& note) {
    // Its node may be away: the agent sends again what nobody acknowledged.
    if (AgentSender* sender = (*senders_)[note.node.value()]) sender->send(note.answer);
  }

  bool is_congested() const {
    Backlog backlog;
    backlog.journal = channels_.journal.size();
    // The slower of the two gateways counts.
    backlog.gateway = std::max(channels_.gateway.size(), channels_.http.size());
    backlog.searches = channels_.search.size();
    backlog.logs = channels_.logs.size();
    backlog.planner = channels_.planner.size();
    backlog.history = channels_.history.size();
    return backlog.is_congested();
  }
  /// In the order in which they came. What agents say is taken whatever waits: it is bounded by
  /// what runs.
  void receive_commands() {
    if (commands_.empty() || is_congested() || core_.awaits_nodes(cluster_now())) return;
    for (Command& command : std::exchange(commands_, {}))
      core_.on_command(std::move(command), cluster_now());
  }
  void follow_clock() {
    clock_.update(read_clocks());
    set_cluster_offset(clock_.offset());
    if (clock_.is_other_jump(logged_jump_)) {
      logged_jump_ = clock_.jump();
      log_line(logged_jump_ == Duration() ? "the wall clock is back" : clock_.warning());
      // Shown by scontrol ping.
      channels_.gateway.push(ClockStatus{clock_.warning()});
    }
    if (const auto jump = clock_.believed_jump()) restart_for_clock(*jump);
  }
  void end_turn() {
    is_end_scheduled_ = false;
    core_.end_turn(cluster_now());
    if (std::exchange(has_news_of_nodes_, false)) push_node_loads();
    schedule_work();
  }
  void schedule_work() {
    if (core_.has_work() && !std::exchange(is_working_, true))
      work_ = work().eagerlyEvaluate(nullptr);
  }
  /// What has arrived in the meantime is read before the next part of a long piece of work.
  kj::Promise<void> work() {
    return io_.provider->getTimer()
        .afterDelay(0 * kj::MILLISECONDS)
        .then([this]() -> kj::Promise<void> {
          core_.on_work(cluster_now());
          end_turn();
          is_working_ = core_.has_work();
          return is_working_ ? work() : kj::Promise<void>(kj::READY_NOW);
        });
  }
  /// Messages that arrive in one round of the loop share a turn.
  void schedule_end() {
    if (std::exchange(is_end_scheduled_, true)) return;
    turn_ = kj::evalLast([this] { end_turn(); }).eagerlyEvaluate(nullptr);
  }
  void push_node_loads() {
    NodeLoads loads;
    for (const NodeLink& link : core_.links()) {
      loads.loads.push_back({link.last_contact, link.load_hundredths, link.free_memory_mib});
    }
    channels_.gateway.push(std::move(loads));
  }

  Channels& channels_;
  std::deque<Command> commands_;  ///< that have come and are not taken up yet
  Core& core_;
  ClusterClock clock_;
  Duration logged_jump_;
  kj::AsyncIoContext& io_;
  kj::UnixEventPort::FdObserver observer_;
  std::vector<AgentSender*>* senders_ = nullptr;
  kj::Promise<void> turn_ = kj::READY_NOW;
  bool is_end_scheduled_ = false;
  bool has_news_of_nodes_ = false;  ///< one has registered: who waits for the nodes is told at once
  kj::Promise<void> work_ = kj::READY_NOW;
  bool is_working_ = false;
  int ticks_ = 0;
  int heard_ = 0;  ///< messages of agents since that was last looked at
};

}  // namespace

void run_core(Channels& channels, Core& core, ChannelCorePort& port, const DaemonOptions& options,
              int listen_fd, CoreBeginning beginning) {
  auto io = kj::setupAsyncIo();
  auto thread = kj::heap<CoreThread>(channels, core, beginning.clock, io);
  thread->attach(port.senders());
  if (port.crash_record() != nullptr) port.crash_record()->watch_this_thread();
  // Before the step: Engine::start moves the time by it.
  core.start(beginning.epoch, std::move(beginning.config),
             cluster_now() - beginning.core.clock_step, beginning.core);
  port.senders().resize(
      core.state().nodes().all().size());  // with those that the file no longer names
  ServerOptions server_options;
  server_options.quota = agent_limits(open_files_max());
  server_options.operators = {
      options.operator_uid};  // agents run as root or as whom this runs as, not as any operator
  RpcServer server(io, listen_fd, nullptr, thread.get(), server_options);
  thread->pump().exclusiveJoin(thread->tick()).wait(io.waitScope);
}

}  // namespace muster::daemon
