// The requests of clients, and the replies to them. Every client (command line, HTTP, in-process
// role) comes in through these, under an identity that the transport has verified.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bitmap.h"
#include "base/result.h"
#include "base/variant.h"
#include "model/catalog.h"
#include "model/checkpoint.h"
#include "model/experiment.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/job_state.h"
#include "model/step.h"

namespace muster {

/// Who makes a request: verified by the transport, never claimed by the client.
struct Identity {
  UserId user;
  GroupId group;
  bool is_operator = false;  ///< root, or the user that the controller runs as
  std::vector<std::string> groups =
      {};  ///< names of all that the user is a member of; looked up by the gateway
};

using Bytes = std::shared_ptr<const std::string>;

/// Names one job, one array (indices empty: all of it) or some elements of one; `step` names one
/// step of it.
struct JobSelector {
  JobId job;
  Bitmap indices;
  bool is_element = false;  ///< written as N_K: the elements in `indices`, not the whole record
  std::optional<std::uint32_t> step;
  friend bool operator==(const JobSelector&, const JobSelector&) = default;
};

/// Says which jobs are meant: all conditions must hold; an empty one holds for every job.
struct JobFilter {
  std::vector<JobSelector> jobs;
  std::vector<std::string> users;
  std::vector<std::uint32_t> uids;
  std::vector<std::string> names;
  std::vector<std::string> accounts;
  std::vector<std::string> partitions;
  std::vector<std::string> qos;
  std::vector<std::string> wckeys;
  std::vector<std::string> reservations;
  std::vector<std::string> licenses;
  std::vector<std::string> nodes;  ///< host names
  std::vector<JobState> states;
  bool is_active_only = false;  ///< pending, running, suspended, completing
  friend bool operator==(const JobFilter&, const JobFilter&) = default;
};

struct SubmitJob {
  JobSpecRef spec;         ///< blob ids, user and names are filled in by the controller
  Bytes script;            ///< null: none
  Bytes environment;       ///< NUL-separated NAME=VALUE
  StepSpecRef first_step;  ///< for `srun` alone; shares the job's environment
  bool is_test_only = false;
};

/// The request of scancel. Without a signal the jobs end; with one it is sent to their processes.
struct CancelJobs {
  JobFilter filter;
  std::uint16_t signal = 0;
  bool batch_only = false;  ///< --batch: only the batch script's shell
  bool full = false;        ///< --full: the batch script and its steps
  bool is_lenient = false;  ///< plain `scancel ID`: unknown or ended ids are no error
  JobId asked_from = {};    ///< the job that the client itself runs in, by its own word; 0: none
};

enum class JobVerb : std::uint8_t {
  kHold = 0,
  kUserHold = 1,
  kRelease = 2,
  kRequeue = 3,
  kRequeueHold = 4,
  kSuspend = 5,
  kResume = 6,
  kRequeueSpecialExit = 7,
};

struct ControlJobs {
  JobVerb verb = JobVerb::kHold;
  std::vector<JobSelector> jobs;
  JobId asked_from = {};  ///< as CancelJobs
};

/// The kind of object that `scontrol update` changes, by NAME=VALUE pairs with names as the user
/// wrote them.
enum class UpdateKind : std::uint8_t { kJob = 0, kNode = 1, kPartition = 2, kStep = 3 };
struct UpdateObject {
  UpdateKind kind = UpdateKind::kJob;
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

/// The request of srun inside an allocation.
struct CreateStep {
  JobId job;
  StepSpecRef spec;
  Bytes environment;
};

/// Gives back the allocation of salloc or srun.
struct ReleaseAllocation {
  JobId job;
  std::uint32_t attempt = 0;
  ExitStatus exit;
};

/// The sign of life of srun or salloc; the allocation lives 60 s without it.
struct RenewLease {
  JobId job;
};

/// Ends or signals one step.
struct CancelStep {
  StepId step;
  std::uint16_t signal = 9;
  JobId asked_from = {};  ///< as CancelJobs
  /// The key of the launch that is meant: where another step has the number now, nothing is done.
  /// 0: whichever step has the number.
  std::uint64_t launch_key = 0;
};

/// Applies new settings, which the controller itself reads from the configuration file.
struct Reconfigure {};

/// Creates an experiment.
struct CreateExperiment {
  std::string config;    ///< YAML or JSON: the user's file with template and overrides merged
  std::string original;  ///< as the user wrote it; empty: `config`
  JobSpecRef
      job;  ///< the submitter's folder, limits and mask; the rest follows from the configuration
  Bytes context;      ///< the code: a tar archive, compressed or not; null: none
  Bytes environment;  ///< NUL-separated NAME=VALUE
  bool is_paused = false;
  ExperimentId parent = {};  ///< whose code it has when `context` is null; 0: none
};

/// Continues an experiment that has ended.
struct ContinueExperiment {
  ExperimentId experiment;
  std::string overrides;  ///< YAML or JSON, over its configuration; empty: none
};

enum class ExperimentVerb : std::uint8_t {
  kPause = 0,
  kActivate = 1,
  kCancel = 2,
  kKill = 3,
  kArchive = 4,
  kUnarchive = 5,
  kDelete = 6
};
struct ControlExperiments {
  ExperimentVerb verb = ExperimentVerb::kPause;
  std::vector<ExperimentId> experiments;
};

/// Changes an experiment. A field that is absent stays as it was.
struct UpdateExperiment {
  ExperimentId experiment;
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> notes;
  std::optional<std::string> workspace;
  std::optional<std::string> project;
  std::optional<std::uint32_t>
      max_concurrent;  ///< trials that train at once; 0: as many as the method likes
  std::vector<std::string> add_labels;
  std::vector<std::string> remove_labels;
  std::optional<CheckpointRetention> retention;
  std::optional<std::uint32_t> priority;
  std::optional<double> weight;
  std::optional<std::uint32_t> max_slots;  ///< that its trials may use at once, from 1
  std::optional<Visibility> visibility = std::nullopt;
};

struct NamedNumber {
  std::string name;
  double value = 0;
  friend bool operator==(const NamedNumber&, const NamedNumber&) = default;
};
/// Reports a validation of a trial, by its present run, which counts from 1. `steps`: what the
/// script counts, batches if nothing else.
struct ReportTrial {
  TrialId trial;
  std::uint32_t run = 0;
  std::uint64_t steps = 0;
  std::vector<NamedNumber> metrics;
};
/// Reports that a run finds its hyperparameters invalid: the trial is not tried again.
struct FlagTrial {
  TrialId trial;
  std::uint32_t run = 0;
};

/// Reports a signal of a trial's present run.
struct RecordRun {
  TrialId trial;
  std::uint32_t run = 0;
  RunSignal note = RunSignal::kSession;
};

/// Records a checkpoint as it is now. `is_change`: it is known, and its owner changes it; else the
/// run that wrote it records it.
struct RecordCheckpoint {
  Checkpoint checkpoint;
  bool is_change = false;
};

/// Stores a document with this value. Id 0: a new one. Who made it and when follow from the
/// request.
struct StoreDocument {
  Document document;
  bool is_import = false;  ///< it keeps its owner and its times: for operators
};
struct DeleteDocument {
  DocumentKind kind = DocumentKind::kModel;
  std::uint32_t id = 0;
};

/// Deletes the files of checkpoints, by jobs of their owner's.
struct DeleteCheckpoints {
  std::vector<std::string> uuids;
};

/// Asks, as the client of a custom search, for operations in this order. A repeat for the same or
/// an earlier event changes nothing.
struct OperateSearch {
  ExperimentId experiment;
  OperationsInput input;
};

// Imports an experiment that ended in another cluster, with the names, owners and times that it had
// there: for operators. What was imported before is left as it is.
struct ImportExperiment {
  ImportedExperiment experiment;  ///< its id is the number it should have if that is free
};
struct ImportTrial {
  ImportedTrial trial;  ///< its id is the number it should have if that is free
};
struct ImportCheckpoint {
  Checkpoint checkpoint;
};

/// Sets how long logs are kept after the experiment's end.
struct SetLogRetention {
  ExperimentId experiment;  ///< 0: of one trial
  TrialId trial;
  std::int32_t days = -1;  ///< -1: for ever; at most 32767
};

struct RequestKinds
    : TypeList<SubmitJob, CancelJobs, ControlJobs, UpdateObject, CreateStep, ReleaseAllocation,
               RenewLease, CancelStep, Reconfigure, CreateExperiment, ControlExperiments,
               UpdateExperiment, ReportTrial, FlagTrial, RecordRun, RecordCheckpoint, StoreDocument,
               DeleteDocument, ContinueExperiment, DeleteCheckpoints, SetLogRetention,
               OperateSearch, ImportExperiment, ImportTrial, ImportCheckpoint> {};
/// One request of a client.
struct Request : Variant<RequestKinds> {
  using Variant::Variant;
};

/// One job that a request touched and what came of it.
struct JobOutcome {
  JobSelector job;
  std::optional<Error> error;
  friend bool operator==(const JobOutcome&, const JobOutcome&) = default;
};
/// One experiment that a request touched and what came of it.
struct ExperimentOutcome {
  ExperimentId experiment;
  std::optional<Error> error;
  friend bool operator==(const ExperimentOutcome&, const ExperimentOutcome&) = default;
};

/// The answer to one request. `error` unset: it was done.
struct Reply {
  std::optional<Error> error;
  JobId job;
  std::optional<StepId> step;
  std::vector<JobOutcome> outcomes;
  std::vector<std::string> warnings;  ///< for standard error, one line each
  bool is_started = false;            ///< an allocation or step that is ready
  TimePoint expected_start;           ///< of --test-only
  std::string text;                   ///< of --test-only: node list and partition
  ExperimentId experiment;            ///< that was created
  std::vector<ExperimentOutcome> experiments;
  std::uint32_t document = 0;  ///< that was stored
  TrialId trial;               ///< that was imported, now or before
  friend bool operator==(const Reply&, const Reply&) = default;
};

}  // namespace muster
