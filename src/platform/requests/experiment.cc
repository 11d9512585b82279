#include "platform/requests/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "access/experiment_access.h"
#include "admission/job_check.h"
#include "admission/stop.h"
#include "admission/submit.h"
#include "admission/text_limits.h"
#include "base/check.h"
#include "base/hash.h"
#include "model/catalog_names.h"
#include "platform/requests/collection.h"
#include "platform/requests/trial_jobs.h"
#include "platform/rules/trial_rules.h"
#include "text/words.h"

// Verbs and decisions draft changes of at most kTrialEventsPerDraft trials; the rest follows from
// the experiment's state (carry_on).
namespace muster::requests {
namespace {

/// A trial may begin with the checkpoint. Errors: kNotFound; kFailedPrecondition: it is not whole.
Status check_source(const ClusterState& state, const std::string& uuid) {
  const CheckpointRef known = state.checkpoints().find(uuid);
  if (known == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("searcher.source_checkpoint_uuid: there is no checkpoint {}", uuid),
                "see muster checkpoint list");
  if (known->state != CheckpointState::kCompleted || state.checkpoints().is_going(uuid)) {
    return fail(ErrorCode::kFailedPrecondition, fmt::format("checkpoint {} is not whole", uuid),
                "begin with a completed one");
  }
  return {};
}

/// The checkpoint that the trials begin with. Errors: kNotFound; kFailedPrecondition: it is not
/// whole, or there is none.
Result<std::string> source_of(const ClusterState& state, const PreparedExperiment& prepared) {
  std::string uuid = prepared.spec->source_checkpoint;
  if (prepared.source_trial.value() != 0) {
    const Trial* trial = state.experiments().find(prepared.source_trial);
    if (trial == nullptr)
      return fail(ErrorCode::kNotFound,
                  fmt::format("searcher.source_trial_id: there is no trial {}",
                              prepared.source_trial.value()),
                  "");
    const CheckpointRef latest = state.checkpoints().latest(trial->id);
    if (latest == nullptr) {
      return fail(
          ErrorCode::kFailedPrecondition,
          fmt::format("searcher.source_trial_id: trial {} has no checkpoint", trial->id.value()),
          "");
    }
    uuid = latest->uuid;
  }
  if (!uuid.empty()) TRY(check_source(state, uuid));
  return uuid;
}

/// The code of a fork that brings none is its parent's.
Status inherit(const ClusterState& state, const PreparedExperiment& prepared,
               const Identity& identity, JobSpec& job) {
  if (prepared.spec->parent.value() == 0) return {};
  const Experiment* parent = state.experiments().find(prepared.spec->parent);
  if (parent == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no experiment {}", prepared.spec->parent.value()), "");
  // Own code makes no difference to whether the parent may be read: it is only named.
  if (prepared.script.bytes != nullptr) return {};
  TRY(access::check_readable(state, *parent, identity));
  job.script = parent->spec->job->script;
  // Imported experiments have no code.
  if (job.script.value() != 0) return {};
  return fail(ErrorCode::kFailedPrecondition,
              fmt::format("the code of experiment {} was not imported with it",
                          prepared.spec->parent.value()),
              "create an experiment from its configuration, with the code: muster experiment "
              "config, muster experiment create");
}

PreparedSubmit submission_of(const JobSpec& job) {
  PreparedSubmit submit;
  submit.spec = std::make_shared<JobSpec>(job);
  return submit;
}

Status check_open(const Document& place) {
  if (!place.is_archived) return {};
  const std::string_view kind = kind_name(place.kind);
  return fail(ErrorCode::kFailedPrecondition, fmt::format("{} {} is archived", kind, place.name),
              fmt::format("muster {} unarchive brings it back", kind));
}

/// Errors: kNotFound: the workspace or project that it names is not there. kFailedPrecondition: it
/// is archived.
Status check_place(const ClusterState& state, const ExperimentLabels& labels) {
  const auto is_first = [](const std::string& name) {
    return name.empty() || name == kUncategorized;
  };
  if (is_first(labels.workspace) && is_first(labels.project)) return {};
  const std::string way_out = fmt::format(
      "see muster workspace list and muster project list; leave both out for {}", kUncategorized);
  const DocumentRef workspace = state.catalog().find(DocumentKind::kWorkspace, 0, labels.workspace);
  if (workspace == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no workspace {}", labels.workspace),
                way_out);
  const DocumentRef project =
      state.catalog().find(DocumentKind::kProject, workspace->id, labels.project);
  if (project == nullptr)
    return fail(ErrorCode::kNotFound,
                fmt::format("workspace {} has no project {}", labels.workspace, labels.project),
                way_out);
  TRY(check_open(*workspace));
  return check_open(*project);
}

constexpr Identity kOperator{UserId(0), GroupId(0), true};

}  // namespace

Result<Reply> create_experiment(Draft& draft, const PreparedExperiment& prepared,
                                const Identity& identity) {
  const ClusterState& state = draft.state();
  TRY(admission::check_labels(prepared.labels));
  TRY(check_place(state, prepared.labels));
  auto job = std::make_shared<JobSpec>(*prepared.job);
  [[maybe_unused]] const auto partitions =
      TRY(admission::choose_partitions(state, job->get(JobText::kPartition)));
  give_slots(state, *job, prepared.spec->slots_per_trial, prepared.is_single_node);
  job->text.set(JobText::kName, prepared.labels.name.empty() ? "experiment" : prepared.labels.name);
  {
    // The owner's permission, limits of partitions and what can be satisfied are those of a job.
    Draft rehearsal(state, draft.now());  // what would be refused of a trial is refused now
    const PreparedSubmit trial = submission_of(*job);
    [[maybe_unused]] const Reply ignored = TRY(admission::submit(rehearsal, trial, identity));
    *job = *trial.spec;
  }
  // After the rehearsal: the script is common to all trials and stored once.
  job->script = draft.blob_for(prepared.script);
  TRY(inherit(state, prepared, identity, *job));
  job->environment = draft.blob_for(prepared.environment);

  ExperimentCreated event;
  event.experiment = draft.allot_experiment();
  event.labels = prepared.labels;
  if (event.labels.name.empty())
    event.labels.name = fmt::format("experiment-{}", event.experiment.value());
  event.state = prepared.is_paused ? ExperimentState::kPaused : ExperimentState::kActive;
  auto spec = std::make_shared<ExperimentSpec>(*prepared.spec);
  spec->run_folder = own_run_folder(draft, spec->run_folder,
                                    fmt::format("experiment-{}", event.experiment.value()));
  spec->source_checkpoint = TRY(source_of(state, prepared));
  // Without a seed of the user's, one that no other experiment has and that replay gives again.
  spec->seed =
      prepared.seed.value_or(static_cast<std::uint32_t>(Hasher()
                                                            .add(event.experiment.value())
                                                            .add(state.settings().cluster_name)
                                                            .add(spec->config)
                                                            .digest() &
                                                        // Determined's seeds have 31 bits.
                                                        0x7fffffff));
  spec->job = std::move(job);
  event.spec = std::move(spec);
  Reply reply;
  reply.experiment = event.experiment;
  draft.add(std::move(event));
  return reply;
}

namespace {

/// Drafts what a verb does to the trials that have not ended, of as many as a draft may have
/// changes: the core carries on with the others by the state that the experiment is in then
/// (carry_on). Whatever is done is not done again.
class TrialVerbs {
 public:
  /// `first`: the place in the experiment's list of the trial to begin with.
  TrialVerbs(Draft& draft, const Experiment& experiment, const Identity& identity,
             std::size_t first = 0)
      : draft_(draft), experiment_(experiment), identity_(identity), next_(first) {}

  void pause() {
    each([&](const Trial&, const Job& job) {
      if (job.is_pending()) {
        hold(job, job_flag::kTrialHeld);
      } else if (runs(job)) {
        // Stopped and not ended: it saves, and its stop sends it back to the queue, held.
        admission::draft_stop(draft_, job, StopCall::kPause, experiment_.spec->preemption_timeout);
      }
    });
  }
  void activate() {
    each([&](const Trial& trial, const Job& job) {
      // Those two have holds of their own reasons.
      if (job.is_pending() && !trial.is_waiting && !trial.awaits_source) hold(job, 0);
    });
  }
  void cancel(Duration grace) {
    each([&](const Trial&, const Job& job) {
      if (runs(job)) {
        admission::draft_stop(draft_, job, StopCall::kCancel, grace);
      } else {
        end(job);
      }
    });
  }
  void kill() {
    each([&](const Trial&, const Job& job) { end(job); });
  }
  /// Behind the last trial that was looked at.
  std::size_t next() const { return next_; }

 private:
  template <class Visit>
  void each(Visit&& visit) {
    for (; next_ < experiment_.trials.size() && draft_.events.size() < kTrialEventsPerDraft;
         ++next_) {
      const TrialId id = experiment_.trials[next_];
      const Trial& trial = *draft_.state().experiments().find(id);
      if (trial.is_over()) continue;
      const Job* job = draft_.state().jobs().find(trial.job);
      CHECK(job != nullptr, "trial {} has no job", id.value());
      visit(trial, *job);
    }
  }
  static bool runs(const Job& job) { return job.run != nullptr && !is_finished(job.state); }
  void hold(const Job& job, std::uint16_t bit) {
    const auto flags =
        static_cast<std::uint16_t>((job.flags & job_flag::kAnyHold & ~job_flag::kTrialHeld) | bit);
    if (flags == (job.flags & job_flag::kAnyHold)) return;
    JobChanged change;
    change.job = job.id;
    change.flags = flags;
    draft_.add(std::move(change));
  }
  void end(const Job& job) {
    const bool will_return = (job.flags & job_flag::kRequeueAfter) != 0;
    if (is_finished(job.state) && !will_return) return;  // it ends as it is
    // Another verb of the same request has decided about it.
    if (!draft_.claim(job.id)) return;
    JobEnding ending;
    ending.job = job.id;
    ending.state = JobState::kCancelled;
    ending.by = identity_.user;
    draft_.add(std::move(ending));
  }

  Draft& draft_;
  const Experiment& experiment_;
  const Identity& identity_;
  std::size_t next_;
};

/// How long what runs has to save what it has: an experiment that ends by itself asks for less than
/// its owner would.
Duration grace_of(const Experiment& experiment) {
  const Duration grace = experiment.spec->preemption_timeout;
  const bool is_by_itself =
      experiment.state == ExperimentState::kStoppingError || !experiment.detail.empty();
  return is_by_itself ? std::min(grace, Duration::minutes(1)) : grace;
}

std::optional<Error> has_ended(const Experiment& experiment) {
  if (!is_final(experiment.state)) return std::nullopt;
  return Error{ErrorCode::kFailedPrecondition,
               fmt::format("experiment {} has ended", experiment.id.value()),
               "what has ended can be archived and looked at; muster experiment continue, or fork, "
               "goes on from it"};
}

void change_state(Draft& draft, const Experiment& experiment, ExperimentState state) {
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.state = state;
  draft.add(std::move(change));
}

std::optional<Error> archive(Draft& draft, const Experiment& experiment, bool is_archived) {
  if (!is_final(experiment.state)) {
    return Error{ErrorCode::kFailedPrecondition,
                 fmt::format("experiment {} has not ended", experiment.id.value()),
                 "only what has ended can be archived"};
  }
  if (experiment.labels.is_archived == is_archived) return std::nullopt;
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.labels = experiment.labels;
  change.labels->is_archived = is_archived;
  draft.add(std::move(change));
  return std::nullopt;
}

std::optional<Error> control_one(Draft& draft, ExperimentId id, ExperimentVerb verb,
                                 const Identity& identity) {
  const auto found = access::find_own(draft.state(), id, identity);
  if (!found.has_value()) return found.error();
  const Experiment& experiment = **found;
  if (verb == ExperimentVerb::kArchive || verb == ExperimentVerb::kUnarchive) {
    return archive(draft, experiment, verb == ExperimentVerb::kArchive);
  }
  if (verb == ExperimentVerb::kDelete) {
    const Status drafted = delete_experiment(draft, experiment);
    return drafted.has_value() ? std::nullopt : std::optional(drafted.error());
  }
  // From here on verbs are about what runs; archive and delete are about what has ended.
  if (auto refused = has_ended(experiment)) return refused;
  TrialVerbs trials(draft, experiment, identity);
  const bool is_stopping = !is_searching(experiment.state);
  switch (verb) {
    case ExperimentVerb::kPause:
    case ExperimentVerb::kActivate: {
      if (is_stopping)
        return Error{ErrorCode::kFailedPrecondition,
                     fmt::format("experiment {} is stopping", id.value()), ""};
      const auto wanted =
          verb == ExperimentVerb::kPause ? ExperimentState::kPaused : ExperimentState::kActive;
      if (experiment.state == wanted) return std::nullopt;
      change_state(draft, experiment, wanted);
      verb == ExperimentVerb::kPause ? trials.pause() : trials.activate();
      return std::nullopt;
    }
    case ExperimentVerb::kCancel:
      if (is_stopping) return std::nullopt;
      change_state(draft, experiment, ExperimentState::kStoppingCanceled);
      trials.cancel(experiment.spec->preemption_timeout);
      return std::nullopt;
    // Kill, also of an experiment that stops more gently already.
    default:
      if (experiment.state != ExperimentState::kStoppingKilled)
        change_state(draft, experiment, ExperimentState::kStoppingKilled);
      trials.kill();
      return std::nullopt;
  }
}

}  // namespace

std::size_t carry_on(Draft& draft, const Experiment& experiment, std::size_t first,
                     const Identity& identity) {
  TrialVerbs trials(draft, experiment, identity, first);
  switch (experiment.state) {
    case ExperimentState::kPaused: trials.pause(); break;
    case ExperimentState::kActive: trials.activate(); break;
    case ExperimentState::kStoppingCanceled:
    case ExperimentState::kStoppingError: trials.cancel(grace_of(experiment)); break;
    case ExperimentState::kStoppingKilled: trials.kill(); break;
    // Final states: nothing is to be carried on.
    default: return experiment.trials.size();
  }
  return trials.next();
}

void stop_for_budget(Draft& draft, const Experiment& experiment) {
  const ExperimentBudget& budget = experiment.spec->budget;
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.state = ExperimentState::kStoppingCanceled;
  const bool is_wall =
      budget.wall_time != Duration() && experiment.submit_time + budget.wall_time <= draft.now();
  // Microseconds of an hour.
  constexpr double kHour = 3600e6;
  change.detail = is_wall
                      ? fmt::format("its budget of {:g} hours is used up",
                                    static_cast<double>(budget.wall_time.microseconds()) / kHour)
                      : fmt::format("its budget of {:g} GPU-hours is used up",
                                    static_cast<double>(budget.slot_time.microseconds()) / kHour);
  draft.add(std::move(change));
  TrialVerbs(draft, experiment, kOperator)
      .cancel(std::min(experiment.spec->preemption_timeout, Duration::minutes(1)));
}

Reply control_experiments(Draft& draft, const ControlExperiments& control,
                          const Identity& identity) {
  Reply reply;
  std::vector<ExperimentId> seen;
  for (const ExperimentId id : control.experiments) {
    // In one request the second mention would be drafted against a state that the first has left.
    const bool is_repeated = std::ranges::find(seen, id) != seen.end();
    seen.push_back(id);
    reply.experiments.push_back(
        {id, is_repeated ? std::nullopt : control_one(draft, id, control.verb, identity)});
  }
  return reply;
}

namespace {

std::optional<Error> check_share(const ExperimentShare& share) {
  // As Determined's resources.priority.
  if (share.priority < 1 || share.priority > 99)
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("priority {}: give a number from 1 to 99", share.priority),
                 "less is more important"};
  if (!(share.weight > 0) || !std::isfinite(share.weight))
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("weight {}: give a number above 0", share.weight), ""};
  return std::nullopt;
}

}  // namespace

Reply update_experiment(Draft& draft, const UpdateExperiment& update, const Identity& identity) {
  Reply reply;
  const auto found = access::find_own(draft.state(), update.experiment, identity);
  if (!found.has_value()) {
    reply.error = found.error();
    return reply;
  }
  const Experiment& experiment = **found;
  ExperimentChanged change;
  change.experiment = experiment.id;
  ExperimentLabels labels = experiment.labels;
  if (update.name) labels.name = *update.name;
  if (update.description) labels.description = *update.description;
  // Each field by itself: unset means unchanged, empty means cleared.
  if (update.notes) labels.notes = *update.notes;
  if (update.workspace) labels.workspace = *update.workspace;
  if (update.project) labels.project = *update.project;
  if (update.visibility) labels.visibility = *update.visibility;
  for (const std::string& label : update.add_labels) {
    if (std::ranges::find(labels.labels, label) == labels.labels.end())
      labels.labels.push_back(label);
  }
  std::erase_if(labels.labels, [&](const std::string& label) {
    return std::ranges::find(update.remove_labels, label) != update.remove_labels.end();
  });
  if (labels.visibility > Visibility::kCluster) {
    reply.error = Error{ErrorCode::kInvalidArgument, "there is no such visibility",
                        "private, project or cluster"};
    return reply;
  }
  if (labels.name.empty()) {
    reply.error = Error{ErrorCode::kInvalidArgument, "an experiment's name cannot be empty", ""};
    return reply;
  }
  if (labels != experiment.labels) {
    const bool is_moved = labels.workspace != experiment.labels.workspace ||
                          labels.project != experiment.labels.project;
    for (const Status& checked : {admission::check_labels(labels),
                                  is_moved ? check_place(draft.state(), labels) : Status()}) {
      if (checked.has_value()) continue;
      reply.error = checked.error();
      return reply;
    }
    change.labels = std::move(labels);
  }
  if (update.retention && *update.retention != experiment.retention)
    change.retention = update.retention;
  if (update.priority || update.weight) {
    change.share = experiment.share;
    change.share->priority = update.priority.value_or(change.share->priority);
    change.share->weight = update.weight.value_or(change.share->weight);
    if (auto refused = check_share(*change.share)) {
      reply.error = std::move(refused);
      return reply;
    }
  }
  // Of an experiment that has ended the labels, the retention and the share may change, the limits
  // of its search not.
  if (update.max_concurrent) {
    reply.error = has_ended(experiment);
    if (reply.error) return reply;
    change.max_concurrent = *update.max_concurrent;
    change.max_slots = update.max_slots;
  }
  if (change.labels || change.max_concurrent || change.retention || change.share)
    draft.add(std::move(change));
  return reply;
}

Reply operate_search(Draft& draft, const OperateSearch& operate, const Identity& identity) {
  Reply reply;
  const auto found = access::find_own(draft.state(), operate.experiment, identity);
  if (!found.has_value()) {
    reply.error = found.error();
    return reply;
  }
  const Experiment& experiment = **found;
  if (experiment.spec->searcher != "custom") {
    reply.error = Error{ErrorCode::kFailedPrecondition,
                        fmt::format("experiment {} decides by {}", operate.experiment.value(),
                                    experiment.spec->searcher),
                        "only a custom search takes operations"};
    return reply;
  }
  // What has ended or stops does nothing more; its client learns that from the next event.
  // An operation in flight when the search ended is no error of its client.
  if (!is_searching(experiment.state) || experiment.outcome) return reply;
  for (const SearchOperation& one : operate.input.operations) {
    // All of them before the event: operations are taken together or not at all.
    if (one.source.empty()) continue;
    if (const Status usable = check_source(draft.state(), one.source); !usable.has_value()) {
      reply.error = usable.error();
      return reply;
    }
  }
  draft.add(SearchOperated{experiment.id, operate.input});
  return reply;
}

namespace {

const NamedNumber* find_metric(const ReportTrial& report, std::string_view name) {
  const auto found = std::ranges::find(report.metrics, name, &NamedNumber::name);
  return found == report.metrics.end() ? nullptr : &*found;
}

/// A trial of the experiment has said something that its search can use.
bool is_searchable(const ClusterState& state, const Experiment& experiment) {
  return std::ranges::any_of(experiment.trials, [&](TrialId id) {
    return state.experiments().find(id)->metric.has_value();
  });
}

std::string missing_text(const ReportTrial& report, const std::string& missing,
                         std::string_view field) {
  std::vector<std::string_view> names;
  for (const NamedNumber& one : report.metrics) names.push_back(one.name);
  std::ranges::sort(names);
  const auto nearest = nearest_word(missing, names);
  constexpr std::size_t kShown = 20;
  const std::size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return fmt::format("the first validation, of trial {}, lacks {}, the experiment's {}; {}{}{}",
                     report.trial.value(), missing, field,
                     names.empty() ? "it reported no number"
                                   : fmt::format("reported were {}", fmt::join(names, ", ")),
                     more > 0 ? fmt::format(" and {} more", more) : "",
                     nearest ? fmt::format("; write {}: {}", field, *nearest) : "");
}

/// Its search can never decide anything: nothing is gained by training on.
void end_unsearchable(Draft& draft, const Experiment& experiment, std::string why) {
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.state = ExperimentState::kStoppingError;
  change.detail = std::move(why);
  draft.add(std::move(change));
  TrialVerbs(draft, experiment, kOperator)
      .cancel(std::min(experiment.spec->preemption_timeout, Duration::minutes(1)));
}

/// How far the trial has trained, in the units of its search.
Result<double> units_of(const ReportTrial& report, const ExperimentSpec& spec) {
  if (spec.time_metric.empty() || spec.time_metric == "batches")
    return static_cast<double>(report.steps);
  if (const NamedNumber* time = find_metric(report, spec.time_metric);
      time != nullptr && std::isfinite(time->value))
    return time->value;
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("the report has {} and lacks {}, the time metric", spec.metric, spec.time_metric),
      fmt::format(
          "report {0} with each validation, or name what is reported as searcher.time_metric",
          spec.time_metric));
}

}  // namespace

Reply report_trial(Draft& draft, const ReportTrial& report, const Identity& identity) {
  Reply reply;
  const ClusterState& state = draft.state();
  const auto found = access::find_running(state, report.trial, report.run, identity);
  if (!found.has_value()) {
    reply.error = found.error();
    return reply;
  }
  const Trial& trial = **found;
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  const NamedNumber* metric = find_metric(report, experiment.spec->metric);
  // A first validation that the search cannot use will not be followed by better ones.
  const auto is_first = [&] {
    return is_searching(experiment.state) && !is_searchable(state, experiment);
  };
  if (metric == nullptr) {
    if (is_first())
      end_unsearchable(draft, experiment,
                       missing_text(report, experiment.spec->metric, "searcher.metric"));
    // Later ones may be of another kind, say by another evaluation script.
    return reply;  // else a validation of something else
  }
  auto units = units_of(report, *experiment.spec);
  // A search that does not decide by how far its trials are needs no such metric: a script may
  // count as it likes.
  if (!units.has_value() && !trial.awaits && !trial.target) units = trial.units;
  if (!units.has_value()) {
    if (is_first()) {
      end_unsearchable(draft, experiment,
                       missing_text(report, experiment.spec->time_metric, "searcher.time_metric"));
      return reply;
    }
    reply.error = units.error();
    return reply;
  }
  TrialReported event{trial.id, {metric->value, *units}, false, false};
  // A client whose answer was lost reports again.
  const bool is_repeat =
      trial.metric && trial.units == *units &&
      // Bit for bit: a NaN equals itself here.
      std::bit_cast<std::uint64_t>(*trial.metric) == std::bit_cast<std::uint64_t>(metric->value);
  if (is_repeat) return reply;
  // Reports before the awaited point, or of a trial that is told to stop, decide nothing.
  event.is_input = trial.awaits && !trial.is_waiting && !trial.stop && *units >= *trial.awaits;
  event.is_at_target =
      !trial.is_waiting && trial.target && *units >= static_cast<double>(*trial.target);
  // It saves and leaves its slots to others until the search takes it further.
  if (event.is_at_target)
    admission::draft_stop(draft, *state.jobs().find(trial.job), StopCall::kRung,
                          experiment.spec->preemption_timeout);
  draft.add(event);
  return reply;
}

Reply flag_trial(Draft& draft, const FlagTrial& flag, const Identity& identity) {
  Reply reply;
  const auto found = access::find_running(draft.state(), flag.trial, flag.run, identity);
  if (!found.has_value()) {
    reply.error = found.error();
  } else if (!(*found)->is_invalid) {
    draft.add(TrialFlagged{flag.trial});
  }
  return reply;
}

namespace {

/// Drafts a decision's consequences for jobs.
class Decision {
 public:
  Decision(Draft& draft, const Experiment& experiment) : draft_(draft), experiment_(experiment) {}

  /// What a new trial begins with: a copy with what its original has saved, or will have when its
  /// present run is over.
  void find_source(TrialPlan& plan) {
    if (plan.source.empty()) plan.source = experiment_.spec->source_checkpoint;
    if (!plan.clone_of) return;
    const Trial& original =
        *draft_.state().experiments().find(experiment_.trials[plan.clone_of->value()]);
    const Job* job = draft_.state().jobs().find(original.job);
    // While the original runs its last checkpoint is still to come (Platform::source_copies).
    plan.awaits_source = !original.is_over() && job != nullptr && job->run != nullptr;
    const CheckpointRef latest =
        plan.awaits_source ? nullptr : draft_.state().checkpoints().latest(original.id);
    plan.source = latest == nullptr ? "" : latest->uuid;
  }
  Status submit_trial(TrialId id, const TrialPlan& plan) {
    const bool is_held = experiment_.state == ExperimentState::kPaused || plan.awaits_source;
    return requests::submit_trial(draft_, *experiment_.spec, experiment_.labels.name,
                                  {id, plan.trial, 0, is_held});
  }
  void train_further(const ContinueTrial& more) {
    const auto [trial, job] = find(more.trial);
    if (trial->metric && !trial->is_over() && trial->units >= static_cast<double>(more.target)) {
      draft_.add(TrialReported{trial->id,
                               {*trial->metric, trial->units},
                               true,
                               true});  // it trained that far before it stopped
      return;
    }
    // What runs goes on by itself; what is paused is released with its experiment.
    if (job == nullptr || !job->is_pending() || experiment_.state == ExperimentState::kPaused)
      return;
    JobChanged change;
    change.job = job->id;
    change.flags =
        static_cast<std::uint16_t>(job->flags & job_flag::kAnyHold & ~job_flag::kTrialHeld);
    draft_.add(std::move(change));
  }
  void stop(TrialIndex index) {
    const auto [trial, job] = find(index);
    if (job == nullptr) return;
    const bool will_return = (job->flags & job_flag::kRequeueAfter) != 0;
    // Ended in good order where it does not run: its search is done with it.
    if (job->run != nullptr && !is_finished(job->state)) {
      admission::draft_stop(draft_, *job, StopCall::kSearch, experiment_.spec->preemption_timeout);
    } else if (!is_finished(job->state) || will_return) {
      JobEnding ending;
      ending.job = job->id;
      ending.state = JobState::kCompleted;
      draft_.add(std::move(ending));
    }
  }

 private:
  /// The job is null when the trial has ended.
  std::pair<const Trial*, const Job*> find(TrialIndex index) {
    CHECK(index.value() < experiment_.trials.size(), "experiment {} has no trial {}",
          experiment_.id.value(), index.value());
    const Trial* trial = draft_.state().experiments().find(experiment_.trials[index.value()]);
    return {trial, trial->is_over() ? nullptr : draft_.state().jobs().find(trial->job)};
  }
  Draft& draft_;
  const Experiment& experiment_;
};

/// The experiment cannot go on: nothing is gained by asking again.
void give_up(Draft& draft, const Experiment& experiment, std::string why) {
  draft.events.clear();
  ExperimentChanged change;
  change.experiment = experiment.id;
  change.state = ExperimentState::kStoppingError;
  change.detail = std::move(why);
  draft.add(std::move(change));
  TrialVerbs(draft, experiment, kOperator).cancel(experiment.spec->preemption_timeout);
}

}  // namespace

Reply decide(Draft& draft, const SearchDecision& decision) {
  Reply reply;
  const Experiment* experiment = draft.state().experiments().find(decision.decided.experiment);
  // A decision may come twice, or late: one that is not upon the present inputs is passed over.
  // `covered` counts inputs: one that covers others than the present ones was made for another
  // moment.
  if (experiment == nullptr || !is_searching(experiment->state) ||
      experiment->covered != decision.basis)
    return reply;
  if (decision.failure) {
    give_up(draft, *experiment,
            fmt::format("its search cannot go on: {}", decision.failure->text()));
    return reply;
  }
  SearchDecided event = decision.decided;
  // Ids in a row: the event names the first, and replay gives the others.
  event.first_trial = draft.allot_trials(event.created.size());
  Decision consequences(draft, *experiment);
  const TrialId first = event.first_trial;
  // Before the event is added, which carries what is found.
  for (TrialPlan& plan : event.created) consequences.find_source(plan);
  draft.add(event);
  for (const StopTrial& stop : event.stops) consequences.stop(stop.trial);
  for (const ContinueTrial& more : event.continued) consequences.train_further(more);
  TrialId id = first;
  for (const TrialPlan& plan : event.created) {
    if (const Status submitted = consequences.submit_trial(id, plan); !submitted.has_value()) {
      // This may pass, and the decision is sent again until it is taken.
      if (submitted.error().code == ErrorCode::kResourceExhausted) {
        reply.error = submitted.error();
      } else {
        give_up(draft, *experiment,
                fmt::format("a trial could not be submitted: {}", submitted.error().text()));
      }
      return reply;
    }
    id = TrialId(id.value() + 1);
  }
  return reply;
}

}  // namespace muster::requests
