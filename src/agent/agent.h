// Decides for one node which steps are launched, what is passed on, and what is reported again
// after either side was away. Single-threaded and without I/O of its own; the simulator runs this
// same class.
//
// A step on this node is launched, linked when its supervisor dials in, ended with StepDone, and
// forgotten with AcknowledgeStep. One without a living supervisor and without an end in the spool
// is cleaned up after kSupervisorLostAfter, and has ended as lost.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "agent/own_fault.h"
#include "base/result.h"
#include "model/agent_message.h"

namespace muster {

using Leftovers = std::map<StepId, std::set<UserId>>;

class AgentWorld {
 public:
  virtual ~AgentWorld() = default;
  virtual void send_controller(const FromAgent& message) = 0;
  /// Records the launches durably, then starts their supervisors. Returns when they were started.
  /// Errors: nothing was started. kDeadlineExceeded: this process stood still meanwhile, and the
  /// launches may be out of date; anything else: the spool refuses.
  virtual Result<TimePoint> launch(const std::vector<LaunchStep>& steps) = 0;
  virtual void send_step(const StepId& step, const ToAgent& message) = 0;
  virtual void forget(const StepId& step) = 0;
  /// Returns the end that a supervisor left in the spool.
  virtual std::optional<StepDone> find_end(const StepId& step) = 0;
  /// Returns every step of which processes seem to be here, known to the spool or not, and their
  /// users: anybody may say so of his own. Cost: looks at all processes.
  virtual Leftovers leftovers() = 0;
  /// True when the step's supervisor lives, linked or not.
  virtual bool has_supervisor(const StepId& step) = 0;
  /// Records durably that the step was launched, because it was found and the spool did not know
  /// it.
  virtual Status record(const LaunchStep& brief) = 0;
  /// Ends whatever of the step is left without a supervisor. False: not all of it has gone yet.
  virtual bool clean_up(const StepId& step) = 0;
  /// Ends a supervisor that does not answer; what it leaves is cleaned up.
  virtual void end_supervisor(const StepId& step) = 0;
  virtual Heartbeat measure() = 0;
  /// Checks whether steps could be started now: called after a refusal, of the spool's or of a
  /// supervisor's. Errors: what is missing.
  virtual Status probe() = 0;
  /// Records durably which cluster the node serves, and forgets every step of the one that it
  /// served before.
  virtual Status adopt_cluster(const ClusterIdentity& cluster, JobId job_floor,
                               bool has_lost_records) = 0;
  /// True when the controller has all that the ended step's tasks wrote, as far as this node stored
  /// it.
  virtual bool is_output_stored(const StepId& step) = 0;
  /// Ends the connection to the controller, if there is one: the next one begins with a
  /// registration.
  virtual void reconnect() = 0;
};

class Agent {
 public:
  /// Begins with no steps. `uid` is the agent's own: only root can run steps of others. `self` also
  /// says which cluster the node served last. `now`, below, is on the steady clock.
  Agent(RegisterNode self, std::uint32_t uid, AgentWorld& world)
      : self_(std::move(self)), uid_(uid), world_(world) {}

  /// Adopts a step found in the spool at the start; `done` when it has ended. `launch_key`: of its
  /// launch.
  void adopt(const StepId& step, std::uint64_t launch_key, const std::optional<StepDone>& done,
             TimePoint now);

  /// Returns the registration with what is known now.
  RegisterNode registration();
  /// Handles what the controller says of itself in its answer to a registration, accepted or not.
  /// False: the node still runs steps of another cluster, which are being ended; it is called again
  /// until they are gone.
  bool on_cluster(const ClusterIdentity& cluster, TimePoint now);
  /// Called when the controller has accepted the registration: ends that it may not have are
  /// reported again.
  void on_registered(TimePoint now);
  void on_disconnected() { is_connected_ = false; }
  void on_controller(const ToAgent& message, TimePoint now);
  /// Starts the launches gathered by on_controller together, with one write to the spool for all.
  void end_turn();

  /// Called when a supervisor dials in. `launch_key`: of its launch, as the supervisor says it.
  /// False: it is of another run that had this number, of another cluster's perhaps. It must end,
  /// and nothing that it says is the step's.
  bool on_step_linked(const StepId& step, std::uint64_t launch_key);
  void on_step(const StepId& step, const FromAgent& message);
  void on_step_closed(const StepId& step, TimePoint now);
  void on_tick(TimePoint now);
  /// Called when output was stored: ends that waited for it may be reported.
  void on_output_stored();
  /// True when the step was launched and its end is not known.
  bool is_live(const StepId& step) const;

 private:
  struct Step {
    std::uint64_t launch_key = 0;  ///< of its launch
    bool is_linked = false;
    bool is_running = false;
    bool is_reported = false;  ///< that it runs; of short steps the controller hears the end alone
    TimePoint since;           ///< without a link
    TimePoint answer_by;  ///< when its supervisor must have said something since it was told to
                          ///< end; unset: it need not
    std::optional<StepDone> done;
    bool is_end_due = false;       ///< it waits for its output to be stored, for a time
    TimePoint due_since;           ///< unset until the next tick
    std::vector<ToAgent> waiting;  ///< orders until the supervisor dials in
  };
  void send(const FromAgent& message) {
    if (is_connected_) world_.send_controller(message);
  }
  void order(const StepId& id, Step& step, const ToAgent& message);
  void report_running(const StepId& id, Step& step);
  void finish(const StepId& id, Step& step, StepDone done);
  void report_end(const StepId& id, Step& step);
  void lose(const StepId& id, Step& step);
  void report_clean(JobId job, std::uint32_t attempt);
  bool has_live_step(JobId job, std::uint32_t attempt) const;
  bool is_stale(const LaunchStep& launch) const;
  bool is_left(const LaunchStep& launch) const;
  void report_lost(const StepId& id, std::uint64_t launch_key, std::uint32_t node_rank);
  Step& find_again(const StepId& id, std::uint64_t launch_key);
  void look_for(const FindSteps& wanted, TimePoint now);
  void look_for(const KnownStep& wanted, TimePoint now);
  void clean_up_strangers();
  void start(const LaunchStep& launch, TimePoint now);
  void suffer(const std::string& fault);
  Heartbeat with_fault(Heartbeat heartbeat) const;
  void look_at_fault(TimePoint now);
  void look_for_pause(TimePoint now);
  void ask_anew(const std::vector<LaunchStep>& launches);
  void register_anew();
  void end_strangers();
  bool is_past(const StepId& id, std::uint64_t launch_key) const;
  void remember_past(const StepId& id, std::uint64_t launch_key);

  void refuse(const LaunchStep& launch);

  RegisterNode self_;
  std::uint32_t uid_;
  AgentWorld& world_;
  std::map<StepId, Step> steps_;
  std::vector<LaunchStep> launches_;
  std::set<std::pair<JobId, std::uint32_t>> terminated_;  ///< jobs that are to be reported clean
  using PastStep = std::pair<StepId, std::uint64_t>;
  std::set<PastStep>
      past_;  ///< acknowledged steps with the keys of their launches, and ended runs, the newest
  std::deque<PastStep> past_order_;
  bool is_connected_ = false;
  /// What ran here before this agent: steps that its spool does not know. Looked for once, at the
  /// first registration.
  std::optional<Leftovers> left_;
  bool has_unrecorded_ = false;  ///< the spool did not record a step that was found
  std::set<StepId> strangers_;   ///< leftovers that nobody named, to be cleaned up
  TimePoint last_heartbeat_;
  TimePoint last_tick_;
  bool has_paused_ = false;  ///< since the last registration was made
  OwnFault fault_;           ///< why launches were refused, here or by their supervisors
};

}  // namespace muster
