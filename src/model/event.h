// Events: the facts that the cluster's state is a function of. Each says what was decided, never
// what was asked: ids are allotted, CPUs and devices chosen, limits effective. Applying one takes
// no decision.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/variant.h"
#include "model/allocation.h"
#include "model/array.h"
#include "model/catalog.h"
#include "model/checkpoint.h"
#include "model/cluster_config.h"
#include "model/dependency.h"
#include "model/experiment.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/reason.h"
#include "model/request.h"
#include "model/step.h"

namespace muster {

/// The rules by which this version's events are applied. Journals of earlier versions go by theirs:
/// 0: the end of an experiment and the inputs of its search follow from other events;
/// 1: each is an event of its own, ExperimentEnded and SearchAsked;
/// 2: an array's record remembers how elements ended that have left memory;
/// 3: a node's conditions have causes. Those of before are found (find_causes) when the rules
/// change.
inline constexpr std::uint32_t kEventRules = 3;

/// A controller took the lead. Everything after it in the journal was decided under this epoch.
struct EpochStarted {
  Epoch epoch;
  std::string cluster_id = {};  ///< what tells this cluster's state from every other's, from its
                                ///< first start on; empty: as it is
  std::uint32_t rules = 0;      ///< by which the events after it are applied
};

/// The wall clock jumped, and that is believed: the cluster's time goes on `by` later, and the
/// times of everything that has not ended move along, so that no limit grows shorter or longer.
struct ClockStepped {
  Duration by;  ///< negative: back
};

/// A node knows ids that a lost state had given: ids below `next` may be in use and are given to no
/// new job.
struct JobIdsReserved {
  JobId next;
};

struct ConfigApplied {
  std::shared_ptr<const ClusterConfig> config;
};

struct NodeRegistered {
  NodeIndex node;
  std::string boot_id;
  TimePoint boot_time;
  TimePoint agent_start_time;
  std::string version;
  std::string arch;
  std::string os;
  std::uint16_t set_conditions = 0;
  std::uint16_t clear_conditions = 0;
  std::string reason;  ///< set when not empty
  std::string machine_id;
  std::string shortfall = {};  ///< as in NodeStatus
};

struct NodeChanged {
  NodeIndex node;
  std::uint16_t set_conditions = 0;
  std::uint16_t clear_conditions = 0;
  std::optional<std::string> reason;  ///< empty: cleared
  UserId user;
  std::optional<std::uint32_t> weight;
  std::optional<std::vector<std::string>> features;
  std::optional<std::string> comment;
  std::optional<std::string> extra;
  std::optional<std::string> fault;  ///< as in NodeStatus
};

struct PartitionChanged {
  PartitionIndex partition;
  PartitionConfig config;
};

struct JobSubmitted {
  JobId job;
  JobSpecRef spec;
  std::int64_t priority = 0;
  std::uint16_t flags = 0;                 ///< job_flag bits: holds
  std::vector<PartitionIndex> partitions;  ///< in the user's order
  Duration time_limit;                     ///< effective
  std::optional<ArraySpec> array;
  DependencySet dependencies;
  StepSpecRef first_step;  ///< of `srun` alone: created when the job starts
  PendingReason reason = PendingReason::kNone;
};

/// Element `index` leaves the array's record under an id of its own.
struct ArraySplit {
  JobId array;
  std::uint32_t index = 0;
  JobId element;
};

struct JobStarted {
  JobId job;
  PartitionIndex partition;
  AllocationRef allocation;
  Duration time_limit;        ///< effective, of this run
  std::uint64_t run_key = 0;  ///< as in JobRun
};

/// The run's outcome is decided. Unless `is_clean`, its nodes are still held until each reports
/// that nothing runs.
struct JobEnding {
  JobId job;
  JobState state = JobState::kCompleted;
  PendingReason reason = PendingReason::kNone;
  ExitStatus exit;
  UserId by;                     ///< who cancelled; meaningful for CANCELLED alone
  std::string detail;            ///< what ended it, in words; may be empty
  bool is_clean = false;         ///< every node has released it already, or it never ran
  bool requeue_after = false;    ///< goes back to the queue once it is clean
  std::uint16_t hold_after = 0;  ///< hold bits that it gets when it goes back
  bool is_restart =
      false;  ///< of a trial: it goes back because of a failure of its own, which counts
  bool is_early =
      false;  ///< of a trial: its script ended in good order before it reported at its target
};

/// One node is done with the job: nothing of it runs there. The last one ends COMPLETING.
struct NodeReleased {
  JobId job;
  NodeIndex node;
  std::vector<StepPart> parts = {};  ///< of steps that another node has still to end
};

/// The job is in the queue again under the same id, one attempt further.
struct JobRequeued {
  JobId job;
  TimePoint eligible_time;
  std::uint16_t flags = 0;  ///< hold bits
};

/// What `scontrol update`, hold, release and the passing of time change. A field that is absent
/// stays as it was.
struct JobChanged {
  JobId job;
  JobSpecRef spec;  ///< null: as it was
  std::optional<std::int64_t> priority;
  std::optional<Duration> time_limit;
  std::optional<TimePoint> eligible_time;
  std::optional<std::uint16_t> flags;  ///< replaces the hold bits
  std::optional<DependencySet> dependencies;
  std::optional<std::uint32_t> array_throttle;
  std::optional<std::vector<PartitionIndex>> partitions;
  std::optional<PendingReason> reason;
  std::optional<ArraySpec> array;  ///< remaining elements, when some are cancelled unsplit
  bool is_warned = false;          ///< --signal has been sent in this run
};

struct JobSuspended {
  JobId job;
};
struct JobResumed {
  JobId job;
};

/// Ended jobs that leave memory. History has them.
struct JobsEvicted {
  std::vector<JobId> jobs;
};

struct StepCreated {
  StepId step;
  StepSpecRef spec;  ///< null for the batch step
  StepLayoutRef layout;
  std::uint64_t launch_key = 0;  ///< as in StepState
};

/// Nodes have reported that they run their parts of a step: what they know of it may be lost, and
/// they must not start it again.
struct StepBegun {
  StepId step;
  Bitmap parts;  ///< positions in the step's layout
};

/// Somebody asked for a step's end. Its nodes are sent the order until the end has come, whichever
/// of the nodes or the controller is away meanwhile.
struct StepCancelled {
  StepId step;
  UserId by;
};

struct StepEnded {
  StepId step;
  JobState state = JobState::kCompleted;
  ExitStatus exit;
  Usage usage;
  std::string detail;
};

/// Steps that have ended leave the job's record. History has them.
struct StepsForgotten {
  JobId job;
  std::vector<std::uint32_t> steps;  ///< rising
};

/// A running job is asked to stop: it may save what it has until the deadline.
struct StopRequested {
  JobId job;
  StopOrder order;
};

struct ExperimentCreated {
  ExperimentId experiment;
  ExperimentSpecRef spec;
  ExperimentLabels labels;
  ExperimentState state = ExperimentState::kActive;
};

/// What its owner changed. A field that is absent stays as it was.
struct ExperimentChanged {
  ExperimentId experiment;
  std::optional<ExperimentState> state;
  std::optional<ExperimentLabels> labels;
  std::optional<std::uint32_t> max_concurrent;  ///< an input of the search
  std::optional<std::uint32_t> max_slots;       ///< from which that came
  std::string detail;                           ///< why, in words; empty: as it was
  std::optional<CheckpointRetention> retention;
  std::optional<ExperimentShare> share;
  bool is_collected = false;  ///< what its retention does not keep has been dealt with
};

/// The experiment's last trial is over, and none will be made.
struct ExperimentEnded {
  ExperimentId experiment;
  ExperimentState state = ExperimentState::kCompleted;
};

/// An input to a search, which decides upon it later.
struct SearchAsked {
  ExperimentId experiment;
  std::vector<SearchInput> inputs;
};

/// A new trial is created; its job follows in the same batch.
struct TrialPlan {
  TrialIndex trial;
  std::uint32_t seed = 0;
  std::uint32_t bracket = 0;
  std::string hparams;  ///< a JSON object
  std::optional<std::uint64_t> target;
  std::optional<TrialIndex> clone_of;
  std::string source = {};     ///< the checkpoint that it begins with; empty: none
  bool awaits_source = false;  ///< that is not known before the present run of `clone_of` is over
  friend bool operator==(const TrialPlan&, const TrialPlan&) = default;
};
/// The units of training at which a search next needs a trial's report; nothing: not before its
/// end.
struct TrialAwait {
  TrialIndex trial;
  std::optional<double> units;
  friend bool operator==(const TrialAwait&, const TrialAwait&) = default;
};
/// What a search decided upon its inputs up to `covered`, with all that it must remember.
struct SearchDecided {
  ExperimentId experiment;
  std::uint64_t covered = 0;
  std::shared_ptr<const std::string> state;
  double progress = 0;
  std::vector<StopTrial> stops;
  std::vector<ContinueTrial> continued;
  std::vector<TrialPlan> created;  ///< the first has the experiment's next TrialIndex, and so on
  TrialId first_trial;             ///< the id of the first created; the others follow
  std::vector<TrialAwait> awaits;
  std::optional<SearchOutcome> outcome;  ///< set: the search is over
};

/// A trial reported a validation. `is_input`: its search awaits it. `is_at_target`: the trial waits
/// from now on.
struct TrialReported {
  TrialId trial;
  TrialReport report;
  bool is_input = false;
  bool is_at_target = false;
};
/// A trial finds its own hyperparameters invalid; what follows is up to its run's end.
struct TrialFlagged {
  TrialId trial;
};

/// A trial's last run is over.
struct TrialEnded {
  TrialId trial;
  TrialState state = TrialState::kCompleted;
  TrialExit exit = TrialExit::kCompleted;
  std::string detail;
};

/// The client of a custom search asks for operations: an input of that search.
struct SearchOperated {
  ExperimentId experiment;
  OperationsInput input;
};

/// An elastic trial gets another number of slots from its next run on; its job changes in the same
/// batch.
struct TrialResized {
  TrialId trial;
  std::uint32_t slots = 0;
};

/// An experiment that ended in another cluster is known here from now on.
struct ExperimentImported {
  ImportedExperiment experiment;
};
struct TrialImported {
  ImportedTrial trial;
};

/// The checkpoint that a copy of a trial begins with is known. Empty: there is none, because the
/// original has saved nothing.
struct TrialSourced {
  TrialId trial;
  std::string source;
};

/// A trial that had ended is tried again; its new job follows in the same batch.
struct TrialAgain {
  TrialId id;
  TrialIndex trial;
  TrialExit was = TrialExit::kErrored;  ///< how it had ended
};
/// An experiment that had ended goes on.
struct ExperimentContinued {
  ExperimentId experiment;
  ExperimentSpecRef spec;
  std::vector<TrialAgain> trials;
  std::vector<TrialIndex> closed;  ///< have ended and stay so; its search may not know
  std::uint64_t covered = 0;       ///< as it was, for those who forgot it at its end
  std::shared_ptr<const std::string> search_state;  ///< so too; null or empty: it had not begun
  std::string
      hparams;  ///< a JSON object: the new hyperparameters of the trials; empty: as they were
};

/// Returns the inputs that the search of such an experiment must get first.
std::deque<SearchInput> continued_inputs(const ExperimentContinued& event);

/// An experiment is deleted with all its trials and checkpoints. Requires: it had ended.
struct ExperimentDeleted {
  ExperimentId experiment;
};

/// A job begins to delete checkpoints; it follows in the same batch.
struct CollectionBegun {
  Collection collection;
};
/// The job of a collection is over. `is_done`: none of the files is left.
struct CollectionEnded {
  JobId job;
  bool is_done = false;
};

/// A run of a trial reported a signal of its own.
struct RunSignalled {
  JobId job;
  RunSignal note = RunSignal::kSession;
};

/// A checkpoint has this value from now on.
struct CheckpointRecorded {
  CheckpointRef checkpoint;
};

/// A document has this value from now on.
struct DocumentStored {
  DocumentRef document;
};
struct DocumentDeleted {
  DocumentKind kind = DocumentKind::kModel;
  std::uint32_t id = 0;
};

/// A line of a run's log matched a policy, for the first time in that run.
struct LogMatched {
  TrialId trial;
  LogMatch match;
};
/// Sets how long logs are kept after an experiment's end: those of one trial, or of all that the
/// experiment has and will have.
struct LogRetentionSet {
  ExperimentId experiment;
  TrialId trial;           ///< 0: all
  std::int32_t days = -1;  ///< -1: for ever
};

/// A client's batch was answered: a repeat of the same id gets the same answer.
struct RequestAnswered {
  RequestId request;
  UserId user;
  std::vector<Reply> replies;
};

/// Says whether a module of the controller acts when an event of that kind has been applied, beyond
/// what the state itself shows: the `Follower` of each module names every kFollowed kind.
enum class EventEcho : std::uint8_t { kQuiet, kFollowed };

/// Every kind of event, once: X(Type, its name in the union of schema/journal.capnp, its echo). The
/// state's EventApplier, the records and the modules' followers are made from this list; a new kind
/// comes last.
// clang-format off
#define MUSTER_EVENTS(X) \
  X(EpochStarted, EPOCH_STARTED, kQuiet)               \
  X(ConfigApplied, CONFIG_APPLIED, kQuiet)             \
  X(NodeRegistered, NODE_REGISTERED, kFollowed)        \
  X(NodeChanged, NODE_CHANGED, kFollowed)              \
  X(PartitionChanged, PARTITION_CHANGED, kQuiet)       \
  X(JobSubmitted, JOB_SUBMITTED, kFollowed)            \
  X(ArraySplit, ARRAY_SPLIT, kFollowed)                \
  X(JobStarted, JOB_STARTED, kFollowed)                \
  X(JobEnding, JOB_ENDING, kFollowed)                  \
  X(NodeReleased, NODE_RELEASED, kFollowed)            \
  X(JobRequeued, JOB_REQUEUED, kFollowed)              \
  X(JobChanged, JOB_CHANGED, kFollowed)                \
  X(JobSuspended, JOB_SUSPENDED, kFollowed)            \
  X(JobResumed, JOB_RESUMED, kFollowed)                \
  X(JobsEvicted, JOBS_EVICTED, kQuiet)                 \
  X(StepCreated, STEP_CREATED, kQuiet)                 \
  X(StepEnded, STEP_ENDED, kFollowed)                  \
  X(RequestAnswered, REQUEST_ANSWERED, kQuiet)         \
  X(StopRequested, STOP_REQUESTED, kFollowed)          \
  X(ExperimentCreated, EXPERIMENT_CREATED, kQuiet)     \
  X(ExperimentChanged, EXPERIMENT_CHANGED, kFollowed)  \
  X(SearchDecided, SEARCH_DECIDED, kQuiet)             \
  X(TrialReported, TRIAL_REPORTED, kQuiet)             \
  X(TrialFlagged, TRIAL_FLAGGED, kQuiet)               \
  X(TrialEnded, TRIAL_ENDED, kQuiet)                   \
  X(RunSignalled, RUN_SIGNALLED, kQuiet)                       \
  X(CheckpointRecorded, CHECKPOINT_RECORDED, kQuiet)         \
  X(DocumentStored, DOCUMENT_STORED, kQuiet)           \
  X(DocumentDeleted, DOCUMENT_DELETED, kQuiet)         \
  X(TrialSourced, TRIAL_SOURCED, kQuiet)               \
  X(ExperimentContinued, EXPERIMENT_CONTINUED, kQuiet) \
  X(ExperimentDeleted, EXPERIMENT_DELETED, kQuiet)     \
  X(CollectionBegun, COLLECTION_BEGUN, kQuiet)         \
  X(CollectionEnded, COLLECTION_ENDED, kQuiet)         \
  X(LogMatched, LOG_MATCHED, kQuiet)                   \
  X(LogRetentionSet, LOG_RETENTION_SET, kQuiet)        \
  X(SearchOperated, SEARCH_OPERATED, kQuiet)           \
  X(TrialResized, TRIAL_RESIZED, kQuiet)               \
  X(ExperimentImported, EXPERIMENT_IMPORTED, kQuiet)   \
  X(TrialImported, TRIAL_IMPORTED, kQuiet)             \
  X(ClockStepped, CLOCK_STEPPED, kQuiet)               \
  X(JobIdsReserved, JOB_IDS_RESERVED, kQuiet)          \
  X(StepsForgotten, STEPS_FORGOTTEN, kQuiet)           \
  X(ExperimentEnded, EXPERIMENT_ENDED, kQuiet)         \
  X(SearchAsked, SEARCH_ASKED, kQuiet)                 \
  X(StepBegun, STEP_BEGUN, kQuiet)                     \
  X(StepCancelled, STEP_CANCELLED, kQuiet)
// clang-format on

#define MUSTER_NEXT_EVENT(Type, NAME, echo) , Type
struct EventKinds : TailOf<void MUSTER_EVENTS(MUSTER_NEXT_EVENT)> {};
#undef MUSTER_NEXT_EVENT

template <class Kind>
inline constexpr EventEcho kEventEcho = EventEcho::kQuiet;
#define MUSTER_EVENT_ECHO(Type, NAME, echo) \
  template <>                               \
  inline constexpr EventEcho kEventEcho<Type> = EventEcho::echo;
MUSTER_EVENTS(MUSTER_EVENT_ECHO)
#undef MUSTER_EVENT_ECHO
/// The body of an event, of one of the kinds above.
struct EventBody : Variant<EventKinds> {
  using Variant::Variant;
};

/// One fact and the time at which it became one. Time never goes back from one event to the next.
struct Event {
  TimePoint time;
  EventBody body;
};

/// The bytes of a script or environment that the batch adds, because an event of it names them.
struct BlobWrite {
  BlobId id;
  std::string digest;  ///< SHA-256 of `bytes`, 32 bytes
  std::uint64_t size = 0;
  std::shared_ptr<const std::string> bytes;  ///< null in a batch read back: the store has them
};

/// The events that are journalled at once, as one row. `seq` counts batches from 1 without a gap.
struct EventBatch {
  Seq seq;
  Epoch epoch;
  std::vector<Event> events;
  std::vector<BlobWrite> blobs;
  std::vector<BlobId> dead_blobs;  ///< no longer named by the state after this batch
};

using EventBatchRef = std::shared_ptr<const EventBatch>;

}  // namespace muster
