// The one writer: validates requests, applies and journals events, starts jobs, keeps nodes in
// step.
//
//   commands, agent messages, plans, time ──▶ Core ──▶ batch of events ──▶ journal
//                                                          │ durable
//                                         replies, agent messages, followers ◀─┘
// Single-threaded; `now` is sampled once per turn by the caller. A turn ends with end_turn(), which
// hands everything that the turn decided to the journal as one batch. Nothing leaves before its
// batch is durable.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "controller/backend/blob_cache.h"
#include "controller/backend/dependency_index.h"
#include "controller/backend/launch_queue.h"
#include "controller/backend/mail.h"
#include "controller/backend/node_link.h"
#include "controller/command.h"
#include "controller/draft.h"
#include "controller/frontend/frontend.h"
#include "controller/frontend/sweep.h"
#include "controller/job_timers.h"
#include "controller/planning/planner_role.h"
#include "journal/journal_port.h"
#include "model/agent_message.h"
#include "model/view.h"
#include "sched/fast_path.h"
#include "trials/trial_text.h"

namespace muster {

/// An ended attempt or step on its way to history.
struct HistoryRecord {
  Seq seq;
  std::variant<JobView, StepView> object;
};

/// What is told to followers once it is durable.
struct DurableUpdate {
  EventBatchRef batch;
  std::vector<HistoryRecord> history;
};

/// Where the core's decisions go. Called within a turn; must not call back.
class CorePort {
 public:
  virtual ~CorePort() = default;
  virtual void reply(std::uint64_t token, std::vector<Reply> replies) = 0;
  virtual void send(NodeIndex node, const ToAgent& message) = 0;
  virtual void publish(DurableUpdate update) = 0;
  /// The plan last given has become events up to `until`.
  virtual void plan_consumed(Seq until) = 0;
  /// Asks for a blob; Core::on_blob answers.
  virtual void fetch_blob(BlobId id) = 0;
  /// Mail for a user, after the event that causes it is durable. Sent at most once: a crash here
  /// loses it.
  virtual void mail(Mail mail) = 0;
  /// The configuration file is to be read again, soon after this returns. Errors: what is wrong
  /// with the file; nothing changes then.
  virtual Status reconfigure() = 0;
  /// For the operator's eyes.
  virtual void warn(const std::string& text) = 0;
  /// A node has met a newer leader than this one: the state is an older copy. The controller is to
  /// start again under an epoch beyond that.
  virtual void lead_beyond(Epoch epoch) = 0;
  /// What follows is done for this job, until another is named; 0: for none. Should the process die
  /// of it, this is who it was.
  virtual void works_on(JobId) {}
};

/// The job from inside which the request ends or signals something; 0: none.
JobId asking_job(const PreparedRequest& request);

/// What runs of trials must know to reach the controller by HTTP.
struct HttpFacts {
  std::string master;     ///< "http://host:port"
  std::string token_key;  ///< signs their tokens
  std::string cluster;    ///< the cluster's uuid
};

/// What a start brings along beside the state.
struct CoreStart {
  std::string new_cluster_id = "new";  ///< for a state that has none yet
  Duration clock_step = {};            ///< a jump of the wall clock that is followed; zero: none
  JobId job_floor = {};  ///< ids up to it were given by a state that was lost; 0: none
  JobId suspect = {};    ///< over which the last runs of the controller died: to be held; 0: none
  /// Conditions and reasons, by name, of nodes that the state does not know yet, as configured.
  std::map<std::string, NodeStatus> first_status = {};
};

class Core {
 public:
  struct Options {
    std::string version;
    Duration silence = Duration::seconds(5);  ///< after which a node counts as not responding
    Duration lease = Duration::seconds(60);   ///< of a client's allocation
    /// What a client that ends its own job has to read the answer, and its caller to see it exit.
    Duration answer_grace = Duration::seconds(1);
    /// What a client that signals its own job has to read the answer.
    Duration signal_grace = Duration::milliseconds(100);
    LaunchQueue::Bounds launches = {};
  };
  Core(Options options, JournalPort& journal, CorePort& port);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// To be restored before start().
  ClusterState& state() { return state_; }
  const ClusterState& state() const { return state_; }
  /// Takes the lead under `epoch` with the configuration that the file now says. `now`, here and
  /// below, is the cluster's time (cluster_clock.h): it never jumps.
  void start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
             const CoreStart& beginning = {});

  /// Where HTTP is served: told to the runs of trials. Empty members: it is not.
  void serve_http(HttpFacts facts) { http_ = std::move(facts); }

  void on_command(Command command, TimePoint now);
  /// A node's agent has connected. Errors: kNotFound for an unknown name; kAlreadyExists while
  /// another one is connected.
  Result<NodeIndex> on_register(const RegisterNode& hello, TimePoint now);
  /// A node speaks of what runs on it: what it says of anything else is logged and not obeyed.
  /// False: it was not obeyed.
  bool on_agent(NodeIndex node, const FromAgent& message, TimePoint now);
  void on_agent_lost(NodeIndex node);
  /// Signals sent there of which nobody knows whether they arrived: a connection of the node is
  /// over, perhaps not its last.
  void on_unheard(NodeIndex node, const std::vector<SignalStep>& signals);
  /// The node's agent does not take it, and says why.
  void on_refused(NodeIndex node, const LaunchStep& launch, const std::string& why);
  /// The node's agent has received its part of the launch.
  void on_received(NodeIndex node, const StepId& step, TimePoint now);
  void on_plan(PlanResult result, TimePoint now);
  void on_durable(Seq seq, TimePoint now);
  /// What was asked for by CorePort::fetch_blob. An error ends the launches that wait for it.
  void on_blob(BlobId id, Result<Bytes> bytes);
  /// Time passes: limits, warnings, leases, silence, eviction. Cheap when nothing is due; call at
  /// least every 250 ms.
  void on_tick(TimePoint now);
  /// Something is left of what was asked for or has happened: on_work() and end_turn() are due, as
  /// soon as what has arrived meanwhile has had its turn.
  bool has_work() const;
  /// Takes up a bounded part of what is left.
  void on_work(TimePoint now);
  /// Just started, and nodes that were there before have not registered yet: one of them may know
  /// that this state is an older copy, in which ids would be given twice. No command should be
  /// taken up; ends by itself after a second.
  bool awaits_nodes(TimePoint now) const;
  /// What is still to happen to jobs: none of it is of jobs that are over (the simulator looks at
  /// it in the end).
  std::size_t timer_count() const { return timers_.size(); }
  /// A node registers with what this says.
  ClusterIdentity identity() const { return {state_.cluster_id(), state_.epoch()}; }
  /// Closes the turn. Every other call must be followed by one before the caller waits.
  void end_turn(TimePoint now);

  /// Refuses new work from now on (the disk is full); ends of jobs are still taken.
  void refuse_new_work(std::optional<Error> why) { refusal_ = std::move(why); }
  const std::vector<NodeLink>& links() const { return links_; }
  /// History has all batches up to `seq` on stable storage: what ended in them may leave memory.
  void on_history(Seq seq) { history_seq_ = seq; }
  bool is_started() const { return is_started_; }

 private:
  // core.cc: the turn
  void append_event(EventBody body, TimePoint now);
  void hold_suspect(JobId suspect, TimePoint now);
  Status check_before_apply(const Draft& draft);
  void emit(EventBody body, TimePoint now);
  void apply_draft(Draft& draft, TimePoint now);
  void after_event(const Event& event);
  void settle(TimePoint now);
  void take(Command command, TimePoint now);
  void answer(Command& command, TimePoint now);
  Reply handle(Draft& draft, const PreparedRequest& request, const Identity& identity,
               std::vector<frontend::SignalOrder>& orders, TimePoint now);
  void check_changes(const Draft& draft, std::size_t from, Reply& reply) const;
  void send_signals(const std::vector<frontend::SignalOrder>& orders, TimePoint now);
  Reply create_step(const PreparedStep& request, const Identity& identity, TimePoint now,
                    Command& command);
  void flush(TimePoint now);

  // core_sweeps.cc: what concerns many jobs
  struct Sweeping {
    frontend::Sweep sweep;
    Identity identity;
    RequestId request;
    std::vector<std::uint64_t> tokens;  ///< of those who wait for the answer
    JobId asker;                        ///< as askers_
    bool has_changed = false;
  };
  bool joins_sweep(const Command& command);
  bool begin_sweep(const Command& command, TimePoint now);
  bool advance(Sweeping& sweeping, TimePoint now);
  void end_jobs_on_downed(TimePoint now);
  /// An experiment whose state has changed, and some of its trials may not know it yet.
  struct CarriedOn {
    std::size_t next = 0;  ///< trial to look at, by its place in the experiment's list
    Identity by;
  };
  void carry_on_experiments(TimePoint now);

  // core_start.cc: from plan to running
  void start_candidates(TimePoint now);
  void start_successors(TimePoint now);
  std::optional<JobId> first_of(const sched::Successor& successor,
                                std::span<const NodeIndex> freed) const;
  /// Starts that a turn tries, what is left waits for the next: a try looks at every node, and
  /// takes up to some 50 ns for each.
  static std::size_t tries_per_turn(std::size_t nodes);
  /// False: it waits for the next plan.
  bool try_start(JobId job, TimePoint now);
  bool has_starts_left() const;
  bool commit(const sched::Start& start, TimePoint now);
  bool commit_start(const sched::Start& start, TimePoint now);
  void create_first_step(const Job& job, TimePoint now);
  Status check_change(const JobChanged& change) const;
  Status check_satisfiable(const JobSpec& spec,
                           const std::vector<PartitionIndex>& partitions) const;
  /// As check_satisfiable, of the trials of an experiment and of a run of one: elastic ones with
  /// the least that they can do with.
  Status check_trials(const ExperimentSpec& spec) const;
  Status check_run(const JobSpec& job, const std::vector<PartitionIndex>& partitions) const;
  void order_launch(const StepId& step);
  void watch_launch(const StepId& step);
  void extend_launch(const StepId& step, TimePoint deadline);
  bool is_launch_held_up(const StepId& step, TimePoint now);
  void forget_launch(const StepId& step);
  void watch_launches(TimePoint now);
  const TrialSettings& settings_of(const Experiment& experiment);
  void note_begun(TimePoint now);
  void fail_launch(const StepId& step, const std::string& why, bool is_node_fault, TimePoint now,
                   std::optional<NodeIndex> culprit = std::nullopt);
  const StepState* find_launchable(const StepId& step) const;
  bool is_launchable_on(const StepState& step, std::size_t part) const;
  std::size_t launch_bytes(const Job& job, const StepState& step) const;
  bool launch(const StepId& step);
  bool resume_launch(const StepId& step);
  void serve_launches(TimePoint now);
  bool take_turn(const LaunchPart& part);
  const LaunchStep& common_launch(const Job& job, const StepState& step);
  enum class Launch { kSent, kWaits, kDoomed };
  Launch send_launch(const Job& job, const StepState& step, std::span<const std::size_t> parts);
  void send_part(LaunchStep& message, const Job& job, const StepState& step, std::size_t part);
  void connect_trial(LaunchStep& message, const Job& job, const Trial& trial) const;
  void connect_service(LaunchStep& message, const Job& job) const;
  Bytes bytes_of(BlobId id, const StepId& waiting);
  bool awaits_blob(const StepId& step) const;
  void begin_time(const StepId& step, std::span<const std::size_t> parts);

  // core_jobs.cc: from running to ended
  void on_step_done(NodeIndex node, const StepDone& done, TimePoint now);
  void finish_step(const Job& job, const StepState& step, TimePoint now);
  void end_with_step(JobId job, const StepEnded& ended, const StepProgress& progress,
                     TimePoint now);
  void on_ending(const Job& job, TimePoint now);
  void release_clean_nodes(JobId job, TimePoint now);
  std::vector<StepPart> take_parts(const Job& job, NodeIndex node);
  void after_clean(JobId job, TimePoint now);
  void end_job(JobId job, JobState state, std::string cause, TimePoint now);
  void retry_waiting_steps(JobId job, TimePoint now);
  bool is_running_on(const Job& job, NodeIndex node) const;

  // core_dependencies.cc: from waiting to eligible
  void settle_dependencies(TimePoint now);
  void settle_dependencies_of(const Job& job, const DependencyOutcome& outcome, TimePoint now);
  DependencyOutcome settle_elements_of(const Job& record, const AffectedJob& affected,
                                       WholeArrays& wholes, TimePoint now);

  // core_trials.cc: runs of trials
  Reply handle_experiment(Draft& draft, const PreparedRequest& request, const Identity& identity);
  void note_trial(JobId job);
  void end_trials(TimePoint now);
  void resize(const sched::Resize& wish, TimePoint now);
  void recover_retentions(TimePoint now);
  void source_copies(const Job& job, TimePoint now);
  void end_collection(const Job& job, TimePoint now);
  void arm_budget(const Job& job);
  void enforce_budget(const Job& job, TimePoint now);
  Reply continue_experiment(Draft& draft, const PreparedContinuation& continued,
                            const Identity& identity);
  void settle_trial(const Job& job, bool is_own_fault, JobEnding& ending) const;
  Reply note_log_match(Draft& draft, const NoteLogMatch& note) const;
  void deliver_stop(const Job& job, std::optional<NodeIndex> only);
  void end_stopped(const Job& job, TimePoint now);
  void stop_before_limit(const Job& job, const Trial& trial, TimePoint now);

  // core_nodes.cc: agents and silence
  bool fence_job(NodeIndex node, JobId job, std::uint32_t attempt);
  bool fence_step(NodeIndex node, const StepId& step, std::uint64_t launch_key);
  void end_alone(NodeIndex node, const StepId& step, std::uint64_t launch_key);
  void reconcile(NodeIndex node, const RegisterNode& hello, bool is_same_boot);
  void launch_or_find(NodeIndex node, const RegisterNode& hello);
  void deliver_missed_signals(NodeIndex node);
  void keep_signal(NodeIndex node, const SignalStep& signal);
  bool has_begun_on(NodeIndex node, const StepId& step) const;
  bool is_wanted_on(NodeIndex node, const Job* job, const StepState* step) const;
  void end_stranger(NodeIndex node, const StepRunning& running, TimePoint now);
  void count_losses(NodeIndex node, const StepDone& done, TimePoint now);
  void fail_jobs_on(NodeIndex node, const std::string& why, TimePoint now);
  void fence_jobs_on(NodeIndex node);
  bool end_jobs_on(NodeIndex node, TimePoint now);
  void launch_on(NodeIndex node);
  void welcome_back(NodeIndex node, TimePoint now);
  std::optional<Error> check_identity(const RegisterNode& hello, TimePoint now);
  void note_fault(NodeIndex node, const std::string& fault, TimePoint now);
  void drain_for_launch(NodeIndex index, const StepDone& done, TimePoint now);
  bool is_away(NodeIndex node) const;
  void drain_for(NodeIndex node, const std::string& reason, TimePoint now);
  void notice_pause(TimePoint now);
  bool may_judge(const Job& job, TimePoint now) const;
  void watch_nodes(TimePoint now);
  std::optional<std::string> why_not_of(NodeIndex node, const FromAgent& message) const;
  void hear(NodeIndex node, const FromAgent& message, TimePoint now);
  void mark(NodeIndex node, ConditionChange what, TimePoint now,
            std::optional<std::string> fault = std::nullopt);

  // core_timers.cc
  void arm(const Job& job);
  void fire(const Timer& timer, TimePoint now);
  void warn(const Job& job, TimePoint now);
  void mail_time_share(const Job& job, TimePoint now);
  void mail_when_durable(Mail mail);
  void evict_some(TimePoint now);
  void forget_steps(TimePoint now);
  Duration over_time_limit(const Job& job) const;

  static constexpr std::size_t kJobsPerTurn = 256;
  /// Supervisors lost in a row, after which a node is drained or a job is held.
  static constexpr std::uint32_t kLossesMax = 5;

  struct Recorder;
  struct Outgoing {
    Seq seq;
    std::variant<std::pair<std::uint64_t, std::vector<Reply>>, std::pair<NodeIndex, ToAgent>,
                 StepId, Mail>
        what;
  };
  /// With which batch what this turn decides becomes durable: its own, or the last one's if it has
  /// none.
  Seq due() const;
  void send_when_durable(NodeIndex node, ToAgent message);
  void send_or_keep(NodeIndex node, const ToAgent& message);
  /// As send_when_durable; to the asker's own job only once the answer can have been read.
  void send_end(JobId job, NodeIndex node, ToAgent message, TimePoint now);
  void send_due_orders(TimePoint now);
  bool is_to_be_terminated(const TerminateJob& order, NodeIndex node) const;
  void tell_nodes(const Job& job, const ToAgent& message);
  ChangeEnd end_of(const Job& job) const;

  Options options_;
  JournalPort& journal_;
  CorePort& port_;
  ClusterState state_;
  sched::ClusterSnapshot snapshot_;
  SnapshotFeed feed_{snapshot_};
  DependencyIndex dependencies_;
  BlobCache blobs_;
  std::vector<NodeLink> links_;
  TimePoint start_time_;
  bool is_new_state_ = false;  ///< no job has ever been in it
  bool is_started_ = false;
  std::optional<Error> refusal_;
  HttpFacts http_;
  Seq history_seq_;

  // This turn.
  std::vector<Event> events_;
  std::vector<BlobWrite> new_blobs_;
  std::vector<HistoryRecord> history_;
  std::vector<JobId> candidates_;      ///< submitted or unblocked in this turn
  std::vector<JobId> endings_;         ///< jobs whose end was decided in this turn
  std::vector<JobId> room_for_steps_;  ///< jobs in which waiting steps may find room now
  std::vector<JobId> trial_jobs_;      ///< of trials, whose runs came to an end in this turn
  std::set<JobId> askers_;  ///< jobs from inside which ends or signals were asked for in this turn
  bool has_freed_ = false;
  /// Jobs of which a turn, beside what came in for each, may still end or change: what is left
  /// waits for the next.
  std::size_t allowance_ = kJobsPerTurn;
  std::map<ExperimentId, CarriedOn> carried_on_;
  Identity acting_;  ///< whose command is being taken; root between commands
  JobId starting_;   ///< the job whose start is being committed
  std::vector<std::pair<std::uint64_t, std::vector<Reply>>> replies_;

  // Between turns.
  std::deque<Sweeping> sweeps_;  ///< requests about many jobs of which a part is done
  std::vector<NodeIndex>
      downed_;  ///< nodes that an operator took down and on which jobs may still run
  bool is_node_watch_cut_ = false;  ///< more nodes are to be given up than one turn could
  std::deque<DurableUpdate> undurable_;
  std::deque<Outgoing> outbox_;
  std::shared_ptr<const sched::Plan> plan_;
  std::deque<std::pair<Seq, std::uint64_t>>
      revisions_;  ///< the snapshot's revision after each recent batch
  JobTimers timers_;
  /// Orders that wait until the client, whom they may end, has its answer. A crash loses them:
  /// agents that register are told anew.
  std::multimap<TimePoint, std::pair<NodeIndex, ToAgent>> later_orders_;
  std::map<StepId, StepProgress> progress_;
  std::deque<HeardStart>
      heard_starts_;  ///< in the order in which they were heard, until they are in the journal
  std::map<BlobId, std::set<StepId>> waiting_launches_;
  /// What has come for a launch that waits for more: the cache may be too small for all that one
  /// launch needs.
  std::map<StepId, std::map<BlobId, Bytes>> fetched_;
  LaunchQueue launches_{options_.launches};
  /// What launches of late say to all their nodes, and what they were made of.
  struct CommonLaunchKey {
    std::uint64_t launch_key = 0;
    TimePoint end_time;
    JobSpecRef spec;
    AllocationRef allocation;
    StepLayoutRef layout;
    friend bool operator==(const CommonLaunchKey&, const CommonLaunchKey&) = default;
  };
  std::map<StepId, std::pair<CommonLaunchKey, LaunchStep>> common_launches_;
  std::map<StepId, Bitmap>
      told_;                     ///< parts that were sent in their turn, of steps that are launched
  bool has_turns_left_ = false;  ///< launches may go that this turn had no time for
  /// When a step that no node has said to run yet is given up.
  std::map<StepId, TimePoint> launch_deadlines_;
  std::set<std::pair<TimePoint, StepId>> launch_watch_;
  /// Launches that cannot be, until the next tick ends them.
  struct Doom {
    std::string why;
    std::uint64_t launch_key = 0;
    std::optional<NodeIndex> node = {};  ///< whose fault it is; none: the job's own
  };
  std::map<StepId, Doom> doomed_launches_;
  std::map<ExperimentId, std::pair<ExperimentSpecRef, TrialSettings>> trial_settings_;
  /// Ended jobs on their way out of memory.
  struct Eviction {
    TimePoint at;
    JobId job;
    Seq ended;  ///< with which it ended: history must have it
    friend constexpr auto operator<=>(const Eviction&, const Eviction&) = default;
  };
  std::set<Eviction> evictions_;
  /// Steps that have ended, with the batch in which they did: history must have it before they
  /// leave their jobs' records.
  std::deque<std::pair<Seq, StepId>> ended_steps_;
  std::map<JobId, std::deque<StepId>> kept_steps_;  ///< ended ones that history has and the record
                                                    ///< still shows, in the order of their ends
  TimePoint last_tick_;
  TimePoint patience_since_;  ///< nobody's silence from before it counts
  TimePoint now_;             ///< of this turn
  std::map<JobId, std::uint32_t>
      lost_runs_;  ///< how many in a row ended because their supervisor was lost
  std::map<JobId, TimePoint> leases_;
  std::map<JobId, std::uint32_t>
      wished_slots_;  ///< of elastic trials that are asked to stop for it
  std::map<JobId, std::vector<Command>> waiting_steps_;
  sched::FastMemo fast_memo_;
  std::size_t tries_left_ = 0;      ///< of starts, in this turn
  std::size_t next_successor_ = 0;  ///< of the plan's; those from it on are still to be tried
};

}  // namespace muster
