// The turn of the one writer: what is asked and heard becomes events, events are applied and told
// to the modules, and all that a turn decided goes to the journal as one batch. Nothing leaves
// before its batch is durable.
//
//   commands, timers, messages ──▶ Engine ⇄ modules ──▶ batch of events ──▶ journal
//                                                             │ durable
//                                            replies, agent messages, followers ◀─┘
// Single-threaded; `now` is sampled once per turn by the caller. What does not belong here: any
// rule about jobs, nodes or experiments (workload/, platform/).
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

namespace muster {

/// What leaves for nodes, once it is durable.
class NodeSender {
 public:
  virtual ~NodeSender() = default;
  /// Sends the message, or keeps it until the node can take it.
  virtual void deliver(NodeIndex node, const ToAgent& message) = 0;
  /// Sends the step to its nodes.
  virtual void launch(const StepId& step) = 0;
};

class Engine {
 public:
  Engine(JournalPort& journal, EnginePort& port);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// The modules, by ModuleName. They outlive the engine's calls.
  void attach(std::array<Module*, kModuleCount> modules, NodeSender& sender);

  // ---- for whoever drives the controller ----

  /// To be restored before start().
  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Leads under `epoch` with the configuration that the file now says.
  void start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
             const CoreStart& beginning);
  bool is_started() const { return is_started_; }
  void begin_turn(TimePoint now) { now_ = now; }
  void on_command(Command command);
  void on_tick();
  bool has_work() const;
  void on_work();
  void on_durable(Seq seq);
  void end_turn();
  /// Refuses new work from now on; ends of jobs are still taken. Nullopt: takes it again.
  void refuse_new_work(std::optional<Error> why) { refusal_ = std::move(why); }

  // ---- for modules, within a turn ----

  /// Of this turn: the cluster's time (cluster_clock.h), which never jumps.
  TimePoint now() const { return now_; }
  /// Applies the event and tells every module.
  void emit(EventBody body);
  /// Whether the draft fits the state. What a handler has overlooked costs its client the request,
  /// and nobody else anything. Errors: kInternal.
  Status check(const Draft& draft);
  /// Requires: check().
  void apply(Draft& draft);
  /// Handles the command as if it had come now.
  void handle(Command command);
  void reply(std::uint64_t token, std::vector<Reply> replies);

  void send(NodeIndex node, ToAgent message);
  void launch(const StepId& step);
  void mail(Mail mail);
  /// At once: for the operator's log.
  void warn(const std::string& text) { port_.warn(text); }

  JobTimers& timers() { return timers_; }
  const JobTimers& timers() const { return timers_; }

  /// Jobs of which this turn, beside what came in for each, may still end or change: what is left
  /// waits for the next.
  std::size_t allowance() const { return allowance_; }
  void spend(std::size_t jobs) { allowance_ -= std::min(allowance_, jobs); }

  /// Whose command is being handled; root between commands.
  const Identity& acting() const { return acting_; }
  /// Ends or signals were asked for from inside the job in this turn.
  bool has_asked(JobId job) const { return askers_.contains(job); }
  void remember_asker(JobId job) {
    if (job.value() != 0) askers_.insert(job);
  }
  const std::optional<Error>& refusal() const { return refusal_; }

  /// What follows is done for `job`, whatever job the events name; 0: for that of each event.
  void work_on(JobId job);

  /// The number of the batch that this turn's events will have, or of the last one if it has none.
  Seq due() const;
  /// The number of the batch that an event has which is being applied.
  Seq applying() const { return Seq(state_.seq().value() + 1); }
  /// The journal is behind: no more than what must be is to be added.
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
  void append(EventBody body);
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
  bool is_started_ = false;
  std::optional<Error> refusal_;

  // This turn.
  TimePoint now_;
  std::deque<Event> events_;  ///< a module may add some while one is told
  std::vector<BlobWrite> new_blobs_;
  std::vector<HistoryRecord> history_;
  std::vector<std::pair<std::uint64_t, std::vector<Reply>>> replies_;
  std::set<JobId> askers_;
  std::size_t allowance_ = kJobsPerTurn;
  Identity acting_;
  JobId working_on_;

  // Between turns.
  std::deque<DurableUpdate> undurable_;
  std::deque<Outgoing> outbox_;

 public:
  static constexpr std::size_t kJobsPerTurn = 256;
};

}  // namespace muster
