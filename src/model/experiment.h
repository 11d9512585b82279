// Experiments and their trials as the state has them. What a search decided is stored as it was
// decided; nothing here computes.
//
//   experiment:  ACTIVE ⇄ PAUSED ──▶ STOPPING_… ──(its last trial has ended)──▶ COMPLETED |
//   CANCELED | ERROR trial:       training ⇄ waiting (at its target) ──▶ ended COMPLETED | CANCELED
//   | ERROR
//
// A trial is one job for life, a run of it one attempt of that job: whether a trial runs, waits in
// the queue or is held is the job's to say. Source: Determined 0.38 for states and verbs.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/hash.h"
#include "base/time.h"
#include "model/checkpoint.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/log_policy.h"
#include "model/search_action.h"

namespace muster {

/// Numbers are part of journal and wire.
enum class ExperimentState : std::uint8_t {
  kActive = 0,
  kPaused = 1,
  kStoppingCanceled = 2,  ///< trials are asked to stop and may save a checkpoint
  kStoppingKilled = 3,    ///< trials are ended
  kStoppingError = 4,
  kCompleted = 5,
  kCanceled = 6,
  kError = 7,
  kDeleting = 8,      ///< a job deletes its files
  kDeleteFailed = 9,  ///< that job failed: it may be tried again
};
constexpr bool is_final(ExperimentState state) { return state >= ExperimentState::kCompleted; }
/// True when the search of an experiment in this state is asked for decisions.
constexpr bool is_searching(ExperimentState state) { return state <= ExperimentState::kPaused; }

/// Who besides its owner and operators may read an experiment's code, configuration and logs, and
/// begin others from them. Its name, state, progress, trials and metrics are everybody's. Numbers
/// are part of journal and wire.
enum class Visibility : std::uint8_t {
  kPrivate = 0,  ///< nobody
  kProject = 1,  ///< whoever made the project or the workspace that it lies in
  kCluster = 2,  ///< every user
};
inline constexpr std::array<std::string_view, 3> kVisibilityNames{"private", "project", "cluster"};
/// Returns the visibility of that name. Nullopt: none has it.
constexpr std::optional<Visibility> visibility_named(std::string_view name) {
  for (std::size_t i = 0; i < kVisibilityNames.size(); ++i) {
    if (kVisibilityNames[i] == name) return static_cast<Visibility>(i);
  }
  return std::nullopt;
}

/// A trial is kActive until its last run is over. Numbers are part of journal and wire.
enum class TrialState : std::uint8_t { kActive = 0, kCompleted = 1, kCanceled = 2, kError = 3 };

/// How an experiment's trials rank among the same user's other work; they never come before anybody
/// else's.
struct ExperimentShare {
  std::uint32_t priority = 42;  ///< 1..99, less is more important
  double weight = 1;            ///< of equal priority: trials that run are shared out by it
  friend bool operator==(const ExperimentShare&, const ExperimentShare&) = default;
};

/// What an experiment may use before it is stopped for good. Zero: no limit.
struct ExperimentBudget {
  Duration slot_time;  ///< time of its runs times their slots: GPU-hours
  Duration wall_time;  ///< from its submission, pauses included
  friend bool operator==(const ExperimentBudget&, const ExperimentBudget&) = default;
};

/// What of an experiment never changes, except for what a continuation overrides. Immutable and
/// shared by every replica of a process.
struct ExperimentSpec {
  UserId user;
  std::string user_name;
  std::string config;    ///< all layers merged and checked: a JSON object
  std::string original;  ///< as the user wrote it
  std::string searcher;  ///< its method's name, as in the file
  std::string metric;
  bool smaller_is_better = true;
  std::string time_metric;                ///< empty: trials are not judged before they end
  std::uint32_t slots_per_trial = 1;      ///< of elastic trials the most
  std::uint32_t min_slots_per_trial = 0;  ///< of elastic trials the least; 0: slots are fixed
  std::uint32_t max_restarts = 5;
  Duration preemption_timeout;  ///< from the request to stop until what is left is ended
  std::uint64_t trial_length =
      0;                   ///< units of training of a trial without a target; 0: the script decides
  std::uint64_t seed = 0;  ///< of all chance in the search
  std::string entrypoint;  ///< a line for the shell, with {{hp.name}} where values go
  std::string run_folder;  ///< absolute; trials have folders in it
  JobSpecRef job;          ///< what is common to the trials' jobs, with script and environment
  ExperimentId parent;     ///< that it was forked from; 0: none
  std::string source_checkpoint;  ///< that its trials begin with; empty: none
  CheckpointRetention retention;  ///< at its creation
  ExperimentShare share;          ///< at its creation
  ExperimentBudget budget;
  std::optional<std::int32_t>
      log_retention_days;  ///< after its end; -1: for ever; nothing: as the cluster says
  std::string imported_from =
      {};  ///< another cluster and its number there, as "uuid/12"; empty: it is our own
  bool is_elastic() const { return min_slots_per_trial > 0; }
  friend bool operator==(const ExperimentSpec&, const ExperimentSpec&) = default;
};
using ExperimentSpecRef = std::shared_ptr<const ExperimentSpec>;

/// The part of an experiment that its owner may edit at any time.
struct ExperimentLabels {
  std::string name;
  std::string description;
  std::string notes;
  std::vector<std::string> labels;
  std::string workspace;
  std::string project;
  bool is_archived = false;
  Visibility visibility = Visibility::kPrivate;
  friend bool operator==(const ExperimentLabels&, const ExperimentLabels&) = default;
};

/// The inputs of a search, of the kinds below, come in this order; each is decided upon once. This
/// one is the first.
struct SearchBegun {
  friend bool operator==(const SearchBegun&, const SearchBegun&) = default;
};
struct ReportInput {
  TrialIndex trial;
  TrialReport report;
  friend bool operator==(const ReportInput&, const ReportInput&) = default;
};
struct ExitInput {
  TrialIndex trial;
  TrialExit exit = TrialExit::kCompleted;
  std::optional<double> metric;  ///< the searcher metric that it reported last
  friend bool operator==(const ExitInput&, const ExitInput&) = default;
};
struct LimitInput {
  std::uint32_t max_concurrent = 0;  ///< 0: none
  friend bool operator==(const LimitInput&, const LimitInput&) = default;
};
/// A trial that had ended is tried again.
struct AgainInput {
  TrialIndex trial;
  TrialExit was = TrialExit::kErrored;  ///< how it had ended
  friend bool operator==(const AgainInput&, const AgainInput&) = default;
};
/// What the client of a custom search wants done upon the event `trigger`, and so upon all before
/// it.
struct OperationsInput {
  std::uint64_t trigger = 0;
  std::vector<SearchOperation> operations;
  friend bool operator==(const OperationsInput&, const OperationsInput&) = default;
};
using SearchInput =
    std::variant<SearchBegun, ReportInput, ExitInput, LimitInput, AgainInput, OperationsInput>;

struct Experiment {
  ExperimentId id;
  ExperimentSpecRef spec;
  ExperimentLabels labels;
  ExperimentState state = ExperimentState::kActive;
  TimePoint submit_time;
  TimePoint end_time;              ///< unset while it has none
  std::uint64_t covered = 0;       ///< inputs that the search has decided upon, from the first
  std::deque<SearchInput> inputs;  ///< those after them
  std::shared_ptr<const std::string>
      search_state;                      ///< after `covered` inputs; null: it has not begun
  std::optional<SearchOutcome> outcome;  ///< set once the search is over
  double progress = 0;                   ///< 0..1, as of the last decision
  std::string detail;                    ///< what stopped it, in words; may be empty
  std::vector<TrialId> trials;           ///< by TrialIndex
  std::uint32_t open_trials = 0;         ///< that have not ended
  CheckpointRetention retention;
  ExperimentShare share;
  std::optional<std::uint32_t> max_slots;  ///< as last set; nothing: as configured
  bool is_collected = false;  ///< since its end, or since its retention changed: what is not kept
                              ///< is deleted or being so
  Duration used_slot_time;    ///< of runs that are over
  std::optional<std::int32_t>
      log_retention_days;  ///< its specification's until its owner changed it
  std::uint64_t spec_hash = 0;
  CachedHash hash;  ///< as it stands in the table's sum
  const std::string& name() const { return labels.name; }
};

/// Returns how an experiment ends that has no open trial and will have none: nullopt while it goes
/// on, or once it has ended.
std::optional<ExperimentState> end_state(const Experiment& experiment);

struct Trial {
  TrialId id;
  ExperimentId experiment;
  TrialIndex index;
  JobId job;  ///< 0 until it is submitted, in the same batch
  TrialState state = TrialState::kActive;
  std::uint32_t seed = 0;
  std::uint32_t bracket = 0;
  std::string hparams;                  ///< a JSON object
  std::optional<std::uint64_t> target;  ///< units of training until it waits
  std::optional<TrialIndex> clone_of;
  bool is_waiting = false;  ///< it has reached its target, and its search has not continued it
  std::optional<StopReason> stop;  ///< why its search ended it
  bool is_invalid = false;         ///< it said that its hyperparameters make no sense
  std::uint32_t restarts = 0;      ///< failures of its own that it was started again after
  std::string
      source;  ///< the checkpoint that it begins with while it has none of its own; empty: none
  bool awaits_source = false;  ///< a copy whose original is still saving: held until then
  std::uint32_t last_run =
      0;  ///< the number of its last run that began, when it ended; 0: it has not, or none began
  std::optional<double> awaits;       ///< units of training at which the search decides next
  std::optional<double> metric;       ///< the searcher metric as last reported; may be NaN
  std::optional<double> best_metric;  ///< the best of all its reports, NaN aside
  double units = 0;                   ///< units of training at the last report
  TimePoint submit_time;
  TimePoint end_time;
  std::string detail;                 ///< what ended it, in words; may be empty
  std::vector<LogMatch> log_matches;  ///< in the order in which they became known
  std::vector<std::uint32_t>
      failed_runs;  ///< that it was started again after, as far as `restarts` counts them
  std::optional<std::int32_t> log_retention_days;  ///< its own; nothing: as its experiment's
  std::uint32_t slots = 0;  ///< as last set of an elastic trial; 0: as its experiment has them
  TimePoint resize_time;    ///< when they were; unset: never
  std::optional<double>
      ended_early_at;  ///< units when a script of it last ended in good order below its target
  std::string
      imported_from;  ///< its number in the cluster that it comes from; empty: it is our own
  CachedHash hash;    ///< as it stands in the table's sum
  bool is_over() const { return state != TrialState::kActive; }
};
/// Returns the slots of the trial's runs from now on.
inline std::uint32_t slots_of(const Trial& trial, const ExperimentSpec& spec) {
  return trial.slots > 0 ? trial.slots : spec.slots_per_trial;
}

/// An experiment that has ended in another cluster, as it was there. Its specification names where;
/// its code is not known.
struct ImportedExperiment {
  ExperimentId id;
  ExperimentSpecRef spec;
  ExperimentLabels labels;
  ExperimentState state = ExperimentState::kCompleted;  ///< final
  TimePoint submit_time;
  TimePoint end_time;
};
/// A trial of such an experiment: the next in its order.
struct ImportedTrial {
  TrialId id;
  ExperimentId experiment;
  std::string imported_from;
  std::uint32_t seed = 0;
  std::string hparams;                        ///< a JSON object
  TrialState state = TrialState::kCompleted;  ///< not active
  std::uint32_t restarts = 0;
  std::uint32_t last_run = 0;
  std::optional<double> metric = {};
  double units = 0;
  TimePoint submit_time;
  TimePoint end_time;
  friend bool operator==(const ImportedTrial&, const ImportedTrial&) = default;
};

/// Why a run is asked to stop. A later, stronger reason replaces a weaker one.
enum class StopCall : std::uint8_t {
  kPreempt = 0,  ///< back to the queue
  kPause = 1,    ///< back to the queue and held
  kRung = 2,     ///< it has reached its target: held until the search continues it
  kSearch = 3,   ///< its search ended the trial: COMPLETED
  kCancel = 4,   ///< its user did: CANCELED
};

/// What a run says of itself. A run with a session asks whether it should stop: it gets no signal
/// before its deadline, and its exit answers a request to stop only when it has acknowledged it.
enum class RunSignal : std::uint8_t { kSession = 0, kStopAcknowledged = 1 };

/// A run that is asked to stop, and when it will be made to.
struct StopOrder {
  StopCall call = StopCall::kPreempt;
  TimePoint deadline;
  friend bool operator==(const StopOrder&, const StopOrder&) = default;
};

}  // namespace muster
