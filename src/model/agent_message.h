// The messages between the controller and the agents of nodes. Every message is idempotent: it
// names job, attempt and step, and receiving it twice, late or after a restart of either side
// changes nothing more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/variant.h"
#include "model/allocation.h"
#include "model/array.h"
#include "model/experiment.h"
#include "model/job_spec.h"
#include "model/node.h"
#include "model/request.h"
#include "model/step.h"
#include "model/task_log.h"

namespace muster {

/// A supervisor of which the agent has not heard for so long after its launch counts as lost, and
/// its resources may be given to others.
inline constexpr Duration kSupervisorLostAfter = Duration::seconds(5);
/// A supervisor that begins later than this after its launch therefore exits silently.
inline constexpr Duration kSupervisorStartsWithin = Duration::seconds(4);

// ---- controller → agent ----

/// A file that is there when a step's tasks begin: the user's own, and nobody else may read it.
struct TaskFile {
  std::string path;  ///< absolute, below a private folder
  std::string text;
};

/// A folder or file of the host that a step's tasks see under another path too.
struct TaskBind {
  std::string source;  ///< absolute; a folder that is not there is made with the user's rights
  std::string target;  ///< absolute
  bool is_read_only = false;
};

/// Orders the node to run its part of a step. The order holds all that the supervisor needs, so
/// that it can outlive both sides.
struct LaunchStep {
  StepId id;
  JobSpecRef job;
  StepSpecRef step;  ///< null: the batch script
  Bytes script;
  Bytes environment;
  std::string cluster_name;
  std::string node_name;                 ///< of this node
  std::uint32_t node_rank = 0;           ///< this node's position in the step
  std::uint32_t job_node_rank = 0;       ///< and in the job
  std::string job_node_list;             ///< host list text
  std::vector<std::uint32_t> job_cpus;   ///< CPUs per node of the job
  std::vector<std::uint32_t> job_tasks;  ///< tasks per node of the job
  std::string step_node_list;
  std::vector<std::uint32_t> step_tasks;  ///< tasks per node of the step
  NodeGrant job_grant;                    ///< the job's on this node
  NodeGrant step_grant;                   ///< the step's on this node
  std::vector<GresPool> pools;            ///< this node's devices, for their files
  std::string partition;
  TimePoint start_time;  ///< of this run of the job
  TimePoint end_time;    ///< its limit; never: none
  JobId array_job;       ///< zero: no array
  std::uint32_t array_index = 0;
  ArrayRange array;
  std::uint32_t restart_count = 0;
  Duration kill_wait;
  bool is_file_append = false;
  std::uint8_t kill_on_bad_exit = 0;
  std::vector<std::string>
      variables;  ///< NAME=VALUE, over the job's environment: those of its trial
  /// Absolute paths. Each stands in the tasks' view as an empty folder of the step's own, shared by
  /// its tasks on this node, which nobody else sees and which ends with the step.
  std::vector<std::string> private_folders;
  std::vector<TaskFile> files;
  std::vector<TaskBind> binds;
  std::string cluster_id;  ///< whose order it is
  Epoch epoch;
  /// The time left until `end_time`, which is a time on the controller's clock; infinite: no limit.
  Duration time_left = Duration::infinite();
  /// The key of the launch, as in StepState: it tells this order from one for a step that had the
  /// same number before an older copy of the state was restored.
  std::uint64_t launch_key = 0;
};

/// Orders the node to send a signal to a step's processes on it.
struct SignalStep {
  StepId id;
  std::uint16_t signal = 0;
  bool batch_only = false;  ///< the batch script's own process alone, not its descendants
  std::uint64_t launch_key =
      0;  ///< of its launch: nothing is sent to another step of that number. 0: whichever it is
};

/// Orders the node to ask a step to save what it has and end: its stop file appears, and the signal
/// is sent once.
struct StopStep {
  StepId id;
  StopCall call = StopCall::kPreempt;
  TimePoint deadline;        ///< when it will be ended
  std::uint16_t signal = 0;  ///< 0: none
};

/// Orders the node to end the job: every step gets SIGCONT, SIGTERM and, after KillWait, SIGKILL;
/// then the agent reports JobClean.
struct TerminateJob {
  JobId job;
  std::uint32_t attempt = 0;
  std::string cause;   ///< for the job's own error stream: "DUE TO TIME LIMIT"; empty: silent
  Duration kill_wait;  ///< zero: SIGKILL at once
};

struct SuspendJob {
  JobId job;
  std::uint32_t attempt = 0;
  bool is_suspend = true;  ///< false: resume
};

enum class StepPhase : std::uint8_t { kStarting = 0, kRunning = 1, kEnded = 2, kLost = 3 };

/// What an agent knows of a step that the controller has not acknowledged.
struct KnownStep {
  StepId id;
  StepPhase phase = StepPhase::kStarting;
  std::uint64_t launch_key = 0;  ///< of its launch
};

/// Names all steps that the node ran, or may have run, and that its registration did not name. The
/// agent finds what is left of them and never starts one again; it answers for each with
/// StepRunning or StepDone.
struct FindSteps {
  std::vector<KnownStep> steps;
};

/// Tells the agent that this step's end is on the controller's stable storage: the agent may forget
/// it.
struct AcknowledgeStep {
  StepId id;
  std::uint64_t launch_key = 0;  ///< of its launch; 0: whichever the node has
};

/// Orders the node to end a step that the controller's state does not know, though the run that it
/// belongs to goes on there, and to report its end. Nothing else of the run is touched.
struct EndStep {
  StepId id;
  std::uint64_t launch_key = 0;  ///< of its launch
};

/// Tells the agent that the job is over everywhere: it forgets all of it.
struct ForgetJob {
  JobId job;
  std::uint32_t attempt = 0;
};

/// Tells the agent that the deadline of a running job has moved.
struct ChangeEnd {
  JobId job;
  std::uint32_t attempt = 0;
  TimePoint end_time;
  Duration time_left = Duration::infinite();  ///< as in LaunchStep
};

/// Tells the agent how much of a stream is on the controller's stable storage: the answer to each
/// OutputSent.
struct OutputReceived {
  LogStreamId stream;
  std::uint64_t next_offset = 0;
  bool is_end = false;  ///< the fragment was the stream's last
};

struct ToAgentKinds : TypeList<LaunchStep, SignalStep, TerminateJob, SuspendJob, AcknowledgeStep,
                               ForgetJob, ChangeEnd, StopStep, OutputReceived, FindSteps, EndStep> {
};
/// One message from the controller to a node.
struct ToAgent : Variant<ToAgentKinds> {
  using Variant::Variant;
};

// ---- agent → controller ----

/// The version of the orders that an agent understands: it is raised whenever ToAgent gets another.
/// 1: EndStep.
inline constexpr std::uint32_t kAgentProtocol = 1;

/// Registers a node: the first message on every connection.
struct RegisterNode {
  std::string node_name;
  std::string boot_id;
  TimePoint boot_time;
  TimePoint agent_start_time;
  std::string version;
  std::string arch;
  std::string os;
  std::uint32_t cpus = 0;  ///< found
  std::uint32_t sockets = 0;
  std::uint32_t cores_per_socket = 0;
  std::uint32_t threads_per_core = 0;
  std::uint64_t memory_mib = 0;
  std::vector<GresPool> gres;
  std::vector<KnownStep> steps;
  std::string cluster_id;      ///< of the controller that the node served last; empty: none
  Epoch epoch;                 ///< the highest that it has met there
  JobId job_floor;             ///< the highest job that it was ordered to start there
  std::uint64_t agent_id = 0;  ///< drawn when the agent started: tells two agents of one name apart
  std::string machine_id;      ///< the same after a reboot; empty: not known
  /// The bytes of the spool that could not be read when the controller last said what they may have
  /// held. Only the spool holds this.
  std::uint64_t known_damage = 0;
  /// The agent may not know all steps that run on the node, and has not had a FindSteps since.
  bool has_lost_records = false;
  std::uint32_t protocol =
      0;  ///< kAgentProtocol of the agent's version; 0: of one before it said so
};

/// The cluster that a node serves: it is in the controller's answer to the node's registration, and
/// in the node's spool.
struct ClusterIdentity {
  std::string cluster_id;
  Epoch epoch;
};

/// Says that the node is there; sent every second.
struct Heartbeat {
  std::uint32_t load_hundredths = 0;  ///< one-minute load average * 100
  std::uint64_t free_memory_mib = 0;
  std::string fault;  ///< what keeps the node from starting anything; empty: nothing
};

/// Says that this node has the step and runs it. It is a supervisor's first word to its agent,
/// which sends it to the controller again after a connection was lost.
struct StepRunning {
  StepId id;
  std::uint64_t launch_key = 0;  ///< of its launch
};

/// Says that this node's part of a step is over.
struct StepDone {
  StepId id;
  std::uint32_t node_rank = 0;
  std::vector<ExitStatus> tasks;  ///< by local task number
  Usage usage;
  bool is_out_of_memory = false;
  bool is_lost = false;  ///< supervisor gone without a record: never started, or its end is unknown
  std::string error;     ///< why it could not be started; empty: it ran
  bool is_node_fault = false;    ///< the error is the node's, not the job's: requeue elsewhere
  bool is_timeout = false;       ///< ended because the step's own time limit was over
  std::uint64_t launch_key = 0;  ///< of its launch
  /// The node's fault is a lack of room or the like, which may be gone soon: the agent checks
  /// whether it is.
  bool may_pass = false;
};

/// Says that nothing of this job's attempt runs on the node any more.
struct JobClean {
  JobId job;
  std::uint32_t attempt = 0;
};

/// Carries a piece of a task's output. Without bytes it asks how much of the stream is known.
struct OutputSent {
  LogFragment fragment;
};

struct FromAgentKinds
    : TypeList<RegisterNode, Heartbeat, StepRunning, StepDone, JobClean, OutputSent> {};
/// One message from a node to the controller.
struct FromAgent : Variant<FromAgentKinds> {
  using Variant::Variant;
};

}  // namespace muster
