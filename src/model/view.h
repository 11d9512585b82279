// What a query returns: objects as they look at one sequence number, ready to be shown. Reasons and
// priorities in them are derived, not state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/allocation.h"
#include "model/array.h"
#include "model/cluster_config.h"
#include "model/experiment.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/reason.h"
#include "model/request.h"
#include "model/step.h"

namespace muster {

/// The texts of a job that fit a column of a list, as bits of JobText.
inline constexpr std::uint64_t kBriefTexts = [] {
  using enum JobText;
  std::uint64_t bits = 0;
  for (const JobText key : {kName, kUserName, kGroupName, kAccount, kPartition, kQos, kWckey,
                            kFeatures, kReservation, kLicenses, kGresPerNode, kGresPerJob,
                            kGresPerTask, kGresPerSocket, kNetwork, kPrefer, kMcsLabel}) {
    bits |= 1ULL << static_cast<unsigned>(key);
  }
  return bits;
}();

/// One job, array record, or ended attempt.
struct JobView {
  JobId id;
  JobSpecRef spec;
  std::uint32_t attempt = 0;  ///< restart count
  JobState state = JobState::kPending;
  std::uint16_t flags = 0;  ///< job_flag
  Reasons reasons;
  std::int64_t priority = 0;
  std::string partition;  ///< where it runs, or the list it was submitted to
  Duration time_limit;
  TimePoint submit_time;
  TimePoint eligible_time;
  TimePoint start_time;  ///< unset: not started
  TimePoint end_time;    ///< of a running job: its limit; unset: none
  TimePoint suspend_time;
  Duration suspended_before;  ///< spent in suspensions that are over, of its present run
  ExitStatus exit;
  ExitStatus derived_exit;  ///< highest of its steps
  UserId cancelled_by;
  std::string detail;  ///< what ended it, in words

  JobId array_job;                           ///< zero: no array
  std::optional<std::uint32_t> array_index;  ///< an element's
  std::string array_remaining;               ///< of an array's record: "0-15:2"
  std::uint32_t array_throttle = 0;
  std::uint32_t array_remaining_count = 0;

  std::string dependency;         ///< as shown: "afterok:12(unfulfilled)"
  std::string node_list;          ///< allocated, as a host list
  std::string planned_node_list;  ///< kept for it while it waits, as a host list
  std::string batch_host;
  std::uint32_t node_count = 0;         ///< allocated, or the least that it needs
  std::uint32_t cpu_count = 0;          ///< allocated, or the least that it needs
  std::uint64_t memory_mib = 0;         ///< over all nodes
  std::vector<NodeGrant> grants;        ///< per allocated node, in node-list order
  std::vector<std::string> node_names;  ///< in the same order
  std::string requested_tres;           ///< "cpu=4,mem=8G,node=2,billing=4,gres/gpu=4"
  std::string allocated_tres;
  std::string std_out;  ///< with patterns expanded where they can be
  std::string std_err;
  std::string std_in;
  Usage usage;
};

/// One step or batch script.
struct StepView {
  StepId id;
  StepSpecRef spec;  ///< null: the batch step
  std::string name;
  std::string user;
  std::string partition;
  std::string account;
  UserId uid;
  JobId array_job;
  std::optional<std::uint32_t> array_index;
  JobState state = JobState::kRunning;
  TimePoint start_time;
  TimePoint end_time;
  Duration time_limit;
  ExitStatus exit;
  UserId cancelled_by;
  std::string node_list;
  std::uint32_t node_count = 0;
  std::uint32_t task_count = 0;
  std::uint32_t cpu_count = 0;
  std::string allocated_tres;
  Usage usage;
  std::string detail;
  std::uint64_t launch_key =
      0;  ///< of its launch, as in StepState; 0: of a step from before it was kept
};

/// One node with what is in use on it.
struct NodeView {
  NodeConfig config;
  NodeStatus status;
  std::uint32_t allocated_cpus = 0;
  std::uint64_t allocated_memory_mib = 0;
  std::vector<GresGrant> allocated_gres;  ///< per name and type
  bool is_completing = false;
  std::uint32_t load_hundredths = 0;
  std::uint64_t free_memory_mib = 0;
  TimePoint last_contact;
  std::vector<std::string> partitions;
  bool is_planned = false;  ///< kept for a pending job
};

struct PartitionView {
  PartitionConfig config;
  std::vector<std::string> nodes;
  std::uint32_t total_cpus = 0;
  std::uint32_t total_nodes = 0;
  std::string tres;
};

/// How many of an experiment's trials are in each condition.
struct TrialCounts {
  std::uint32_t queued = 0;  ///< their jobs wait
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;  ///< at a target, or paused
  std::uint32_t completed = 0;
  std::uint32_t canceled = 0;
  std::uint32_t errored = 0;
  std::uint32_t total() const {
    return queued + running + waiting + completed + canceled + errored;
  }
};

struct ExperimentView {
  ExperimentId id;
  ExperimentSpecRef spec;  ///< without its texts `config` and `original` unless in full
  ExperimentLabels labels;
  ExperimentState state = ExperimentState::kActive;
  TimePoint submit_time;
  TimePoint end_time;   ///< unset: it has not ended
  double progress = 0;  ///< 0..1
  std::string detail;   ///< what stopped it
  CheckpointRetention retention;
  ExperimentShare share;
  Duration used_slot_time;                 ///< of runs that are over
  std::optional<std::uint32_t> max_slots;  ///< as last set; nothing: as configured
  TrialCounts trials;
  TrialId best_trial;  ///< by the best of all reports; 0: none has reported
  double best_metric = 0;
};

struct TrialView {
  TrialId id;
  ExperimentId experiment;
  TrialIndex index;
  JobId job;
  TrialState state = TrialState::kActive;
  JobState job_state = JobState::kPending;  ///< of one that has not ended
  PendingReason job_reason = PendingReason::kNone;
  std::uint32_t runs = 0;  ///< started so far
  std::uint32_t restarts = 0;
  std::uint32_t seed = 0;
  std::uint32_t bracket = 0;
  std::string hparams;  ///< a JSON object
  std::optional<std::uint64_t> target;
  bool is_waiting = false;
  std::optional<StopReason> stop;
  std::optional<StopCall> stopping;   ///< the present run is asked to stop
  std::optional<double> metric;       ///< last reported
  std::optional<double> best_metric;  ///< the best of all reports
  double units = 0;
  TimePoint submit_time;
  TimePoint start_time;  ///< of the present run
  TimePoint end_time;
  std::string detail;
  std::string folder;                  ///< where its output and checkpoints lie
  std::string latest_checkpoint;       ///< uuid of what its next run goes on from; empty: none
  std::uint64_t checkpoint_bytes = 0;  ///< of all that are not deleted
  std::uint32_t checkpoints = 0;       ///< how many those are
  std::string source;  ///< the checkpoint of another trial that it began with; empty: none
  std::vector<LogMatch>
      log_matches;  ///< lines that matched log policies, a run's after its predecessor's
  std::int32_t log_retention_days =
      -1;                   ///< that its logs are kept after its experiment's end; -1: for ever
  std::uint32_t slots = 0;  ///< of its present run or its next one
};

/// The controller itself, as `scontrol ping` and `muster check` see it.
struct PingView {
  std::string host;
  std::string version;
  bool is_ready = false;         ///< leads and accepts work
  Seq seq;                       ///< durable
  std::uint64_t state_hash = 0;  ///< of the query replica at `seq`
  Epoch epoch;
  std::string http_address;           ///< host:port; empty: HTTP is not served
  std::string cluster_id;             ///< tells this cluster from every other of its name
  std::vector<std::string> warnings;  ///< what operators should look at now
};

/// One page of an answer: at most about 1 MiB, of the one kind that was asked for.
struct Page {
  std::vector<JobView> jobs;
  std::vector<StepView> steps;
  std::vector<NodeView> nodes;
  std::vector<PartitionView> partitions;
  std::optional<ClusterSettings> settings;
  std::string bytes;  ///< a batch script
  std::optional<PingView> ping;
  std::vector<ExperimentView> experiments;
  std::vector<TrialView> trials;
  std::vector<Checkpoint> checkpoints;
  std::vector<Document> documents;
};

/// What a query asks for.
enum class QueryKind : std::uint8_t {
  kJobs = 0,
  kSteps = 1,
  kNodes = 2,
  kPartitions = 3,
  kConfig = 4,
  kHistory = 5,  ///< ended and live jobs with steps, for sacct
  kBatchScript = 6,
  kPing = 7,
  kStateHash = 8,
  kExperiments = 9,
  kTrials = 10,
  kCheckpoints = 11,
  kDocuments = 12,
  kToken = 13,  ///< the caller's own token for HTTP, until the day of `until`, as the page's bytes
};

/// How much of each job a query wants, rising. kRow: what the usual columns of a list show; of the
/// specification only the user, its name, the job's name, account and QOS. kBrief: all but grants,
/// expanded file names and texts that are not in kBriefTexts.
enum class QueryDetail : std::uint8_t { kRow = 0, kBrief = 1, kFull = 2, kWhy = 3 };

/// A query and its parameters. Requires for kHistory: `since` < `until`.
struct Query {
  QueryKind kind = QueryKind::kJobs;
  QueryDetail detail = QueryDetail::kFull;
  JobFilter filter;
  TimePoint since;  ///< kHistory: jobs in any of the states between these
  TimePoint until;
  bool is_duplicates = false;  ///< every attempt of a requeued job
  bool is_steps = true;
  std::vector<ExperimentId> experiments;  ///< kExperiments, kTrials: these; empty: all
  std::vector<TrialId> trials;     ///< kTrials, kCheckpoints: these, instead of an experiment's
  std::vector<std::string> uuids;  ///< kCheckpoints: these, whosever they are
  DocumentKind document_kind = DocumentKind::kModel;  ///< kDocuments
  std::vector<std::uint32_t> documents;               ///< kDocuments: these; empty: all of the kind
};

}  // namespace muster
