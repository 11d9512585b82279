// The turn of the one writer: its inputs become events, events are applied and shown to the
// modules, and all that a turn decided goes to the journal as one batch. Nothing leaves before its
// batch is durable.
//
//   commands, timers, messages ──▶ Engine ⇄ modules ──▶ batch of events ──▶ journal
//                                                             │ durable
//                                            replies, agent messages, followers ◀─┘
// A turn: begin_turn, then inputs (on_command, on_tick, on_work, calls of modules), most after a
// begin_turn of their own that moves the time on; end_turn closes it with at most one batch.
// on_durable may come at any time between inputs.
//
// Thread: the core's alone; no call blocks. What does not belong here: any rule about jobs, nodes
// or experiments (workload/, platform/).
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/command.h"
#include "engine/core_start.h"
#include "engine/draft.h"
#include "engine/durable_update.h"
#include "engine/engine_port.h"
#include "engine/job_timers.h"
#include "engine/module.h"
#include "engine/module_of.h"
#include "journal/journal_port.h"
#include "model/agent_message.h"
#include "state/cluster_state.h"
#include "state/request_pool.h"

namespace muster {

/// Accepts messages and steps for nodes, once the batch that caused them is durable. It is called
/// in the order in which they were decided.
class NodeSender {
 public:
  virtual ~NodeSender() = default;
  /// Sends the message, or stores it until the node is connected and can accept it.
  virtual void deliver(NodeIndex node, const ToAgent& message) = 0;
  /// Sends the step to its nodes.
  virtual void launch(const StepId& step) = 0;
};

/// The writer. Life cycle: constructed ──attach()──▶ ──state() restored──▶ ──start()──▶ leads until
/// destroyed.
class Engine {
 public:
  /// Begins with a fresh state. Lifetime: both ports outlive the engine.
  Engine(JournalPort& journal, EnginePort& port);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Sets the modules, in the order of ModuleName, and the sender. It is called once, before
  /// start(). Lifetime: they outlive every later call.
  void attach(std::array<Module*, kModuleCount> modules, NodeSender& sender);

  // ---- for whoever drives the controller ----

  /// Returns the state for recovery, which restores it before start(); from then on only emit() and
  /// apply() change it.
  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Begins to lead under `epoch` with the configuration that the file has now: has the modules
  /// load what they derive from the state, applies what has changed, lets them continue what a
  /// crash interrupted, and ends the turn. Requires: attach() was called; `epoch` is above
  /// state().epoch().
  void start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
             const CoreStart& beginning);
  bool is_started() const { return is_started_; }
  /// Sets the cluster's time to `now`. It is called before every input that brings a time, so
  /// within one turn the time may move; an input without one (Core::on_blob and others) has the
  /// last one's.
  void begin_turn(TimePoint now) { now_ = now; }
  /// Executes the command, after what has ended in this turn has had its consequences. Its answer
  /// leaves through EnginePort::reply, once it is durable. A command that came before under the
  /// same number from the same user, and changed something then, is not executed again and gets
  /// the first answer, as long as the state's AnswerTable has it. A command is
  /// atomic: when one of its requests is refused, none of it is done; only what a module accepts as
  /// a whole is done part by part.
  void on_command(Command command);
  /// Advances the time: calls every module's on_tick(), then the timers that are due, at most a
  /// thousand; the others fire with the next ticks. Does nothing before start().
  void on_tick();
  /// True when a module has work left over that this turn may continue. False while the journal is
  /// behind: the disk sets the pace.
  bool has_work() const;
  /// Continues such work, as far as allowance() goes. Requires: has_work().
  void on_work();
  /// Batches up to `seq` are on stable storage: publishes them, then releases the replies,
  /// messages, launches and mail that waited for them. Calls the ports and the sender.
  void on_durable(Seq seq);
  /// Lets the modules finish what the turn has set in motion, and gives its events to the journal
  /// as one batch. Without events nothing is written, and what is to leave leaves as soon as
  /// everything before it is durable. Does nothing before start().
  void end_turn();
  /// Answers requests for new work (is_new_work in module_of.h) with `why` from now on; all others,
  /// and whatever ends jobs, are accepted as before. Nor do jobs start that wait already. Nullopt:
  /// new work is accepted again.
  void refuse_new_work(std::optional<Error> why) { refusal_ = std::move(why); }

  // ---- for modules, within a turn ----

  /// Returns the time of the input that is being handled: the cluster's (cluster_clock.h). An event
  /// may have a later one, because its time is never before that of the event before it.
  TimePoint now() const { return now_; }
  /// Applies the event to the state, then calls every module's after_event(), which may emit more
  /// events before this returns. Requires: the event is possible in the state; otherwise apply
  /// stops the process.
  void emit(EventBody body);
  /// Checks that the draft's events are possible in the state. A handler's mistake thus costs its
  /// client the request instead of the process; it is also warned of. Errors: kInternal.
  Status check(const Draft& draft);
  /// Emits the draft's events in order, after every module's before_apply(). Moves them out of the
  /// draft. Requires: check() accepted it, and no event was added since.
  void apply(Draft& draft);
  /// Executes a command as on_command() does, but without the wait for what has ended: for a
  /// command that a module accepted earlier and put off.
  void handle(Command command);
  /// Answers the command with that token, when this turn's batch is durable. Requires: one reply
  /// for each of its requests; one answer for each token. What has started by the turn's end is
  /// marked so.
  void reply(std::uint64_t token, std::vector<Reply> replies);

  /// These three leave when the batch of the events that were emitted so far is durable; without
  /// any in this turn, when the last batch is. A crash loses what waits.
  void send(NodeIndex node, ToAgent message);
  void launch(const StepId& step);
  void mail(Mail mail);
  /// Writes to the operator's log at once.
  void warn(const std::string& text) { port_.warn(text); }

  JobTimers& timers() { return timers_; }
  const JobTimers& timers() const { return timers_; }

  /// Returns how many more jobs this turn may end or change for work that spans many jobs; what is
  /// left of such work waits for the next turn. Single requests do not count. It starts at
  /// kJobsPerTurn.
  std::size_t allowance() const { return allowance_; }
  void spend(std::size_t jobs) { allowance_ -= std::min(allowance_, jobs); }

  /// Returns whose command is being executed; root (a default Identity) otherwise.
  const Identity& acting() const { return acting_; }
  /// True when a command of this turn came from inside the job: such a client gets its answer
  /// before what it asked for ends or signals it.
  bool has_asked(JobId job) const { return askers_.contains(job); }
  void remember_asker(JobId job) {
    if (job.value() != 0) askers_.insert(job);
  }
  /// Returns why new work is refused; nullopt: it is not.
  const std::optional<Error>& refusal() const { return refusal_; }

  /// Attributes what follows to `job`, whatever job the events name, so that a job which makes the
  /// controller crash can be held at the next start. 0: attributes each event to its own job again.
  void work_on(JobId job);

  /// Returns the number of the batch that this turn's events will have; while it has none, of the
  /// last one.
  Seq due() const;
  /// Returns the number of the batch of an event that is being applied.
  Seq applying() const { return Seq(state_.seq().value() + 1); }
  /// True when two batches or more are not durable yet: work that can wait should.
  bool is_journal_behind() const;

 private:
  struct Recorder;
  struct Outgoing {
    Seq seq;
    std::variant<std::pair<std::uint64_t, std::vector<Reply>>, std::pair<NodeIndex, ToAgent>,
                 StepId, Mail>
        what;
  };

  Module& module_for(const PreparedRequest& request) { return *modules_[index_of(request)]; }
  static std::size_t index_of(const PreparedRequest& request) {
    return static_cast<std::size_t>(module_of(request));
  }
  void append(EventBody&& body);
  void share_request(EventBody& body);
  void draft_and_apply(Command& command);
  std::vector<Reply> draft_replies(Draft& draft, const Command& command);
  void settle();
  void flush();
  void release(Outgoing out);

  JournalPort& journal_;
  EnginePort& port_;
  std::array<Module*, kModuleCount> modules_ = {};
  NodeSender* sender_ = nullptr;
  ClusterState state_;
  JobTimers timers_;
  RequestPool requests_;  ///< of the jobs taken up since the start
  bool is_started_ = false;
  std::optional<Error> refusal_;

  // These hold for one turn.
  TimePoint now_;
  std::deque<Event> events_;  ///< a module may add some while it is shown one
  std::vector<BlobWrite> new_blobs_;
  std::vector<HistoryRecord> history_;
  std::vector<std::pair<std::uint64_t, std::vector<Reply>>> replies_;
  std::set<JobId> askers_;
  std::size_t allowance_ = kJobsPerTurn;
  Identity acting_;
  JobId working_on_;

  // These hold between turns.
  std::deque<DurableUpdate> undurable_;
  std::deque<Outgoing> outbox_;

 public:
  static constexpr std::size_t kJobsPerTurn = 256;
};

}  // namespace muster
