// Requests on their way into the core: they are decoded, and checked as far as that needs no state.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/variant.h"
#include "model/array.h"
#include "model/dependency.h"
#include "model/event.h"
#include "model/metric.h"
#include "model/request.h"

namespace muster {

/// Bytes with their content address. Null bytes: there are none.
struct PreparedBlob {
  std::string digest;
  Bytes bytes;
};

struct PreparedSubmit {
  std::shared_ptr<JobSpec> spec;  ///< ours alone until it is submitted
  StepSpecRef first_step;
  PreparedBlob script;
  PreparedBlob environment;
  std::optional<ArraySpec> array;
  DependencySet dependencies;
  bool is_test_only = false;  ///< a question (workload/planning/forecast.h): never the core's
  std::uint16_t hold = 0;     ///< hold bits beside the user's own
};

/// An update with what history says of the jobs that it names. It is made of an update as it came
/// where that names none.
struct PreparedUpdate : UpdateObject {
  PreparedUpdate(UpdateObject update) : UpdateObject(std::move(update)) {}  // NOLINT(*-explicit-*)
  std::vector<DependencyTerm> past;  ///< terms about jobs that have left memory, decided
};

struct PreparedStep {
  JobId job;
  std::shared_ptr<StepSpec> spec;
  PreparedBlob environment;
};

struct PreparedExperiment {
  std::shared_ptr<ExperimentSpec> spec;  ///< without job, seed and the experiment's own folder
  std::shared_ptr<JobSpec> job;
  ExperimentLabels labels;
  PreparedBlob script;
  PreparedBlob environment;
  bool is_single_node = false;
  std::optional<std::uint32_t> seed;
  bool is_paused = false;
  TrialId source_trial;  ///< whose last checkpoint its trials begin with; 0: none
};

struct PreparedContinuation {
  ExperimentId experiment;
  ExperimentSpecRef spec;   ///< with the overrides
  std::uint64_t basis = 0;  ///< the hash of the specification that they were put over
  std::string hparams =
      {};  ///< a JSON object of the values that are new, nested as they are; empty: none is
  bool is_single_node = false;
};

/// Deletes checkpoints of an experiment that its retention does not keep. Not for clients.
struct CollectCheckpoints {
  ExperimentId experiment;
  CheckpointRetention retention;  ///< by which it was decided
  std::vector<std::string> uuids;
};

/// What the search role decided upon its inputs. Not for clients.
struct SearchDecision {
  SearchDecided decided;         ///< `first_trial` is allotted by the core
  std::uint64_t basis = 0;       ///< inputs that were covered before
  std::optional<Error> failure;  ///< the search cannot go on, and nothing of the above is there
};

/// Records a line that matches a policy of its trial, as the log thread found it. Not for clients.
struct RecordLogMatch {
  TrialId trial;
  NodeIndex node;  ///< that sent the line
  LogMatch match;  ///< without the node's name
};

/// What a line of a log leads to.
using LogFinding = std::variant<RecordLogMatch, MetricReport>;

struct PreparedRequestKinds
    : TypeList<PreparedSubmit, PreparedStep, CancelJobs, ControlJobs, PreparedUpdate,
               ReleaseAllocation, RenewLease, CancelStep, Reconfigure, PreparedExperiment,
               ControlExperiments, UpdateExperiment, ReportTrial, FlagTrial, SearchDecision,
               RecordRun, RecordCheckpoint, StoreDocument, DeleteDocument, PreparedContinuation,
               DeleteCheckpoints, CollectCheckpoints, SetLogRetention, RecordLogMatch,
               OperateSearch, ImportExperiment, ImportTrial, ImportCheckpoint> {};
/// A request that has been checked as far as that needs no state.
struct PreparedRequest : Variant<PreparedRequestKinds> {
  using Variant::Variant;
  PreparedRequest(UpdateObject update)  // NOLINT(*-explicit-*): as a PreparedUpdate is made of it
      : Variant(PreparedUpdate(std::move(update))) {}
};

/// One atomic batch of a client. `token` is the gateway's, by which it knows the replies.
struct Command {
  std::uint64_t token = 0;
  Identity identity;
  RequestId request;
  std::vector<PreparedRequest> requests;
};

}  // namespace muster
