// Requests are drafted by requests/, consequences are worked out by rules/; here they become
// events, in the order that matters. An event is told to the search after all roles have followed
// it (notify_search), and an experiment's state reaches its trials a part a turn (carried_on_),
// since a search may have ten thousand.
#include "platform/platform.h"

#include <algorithm>
#include <utility>

#include "admission/job_check.h"
#include "base/check.h"
#include "platform/requests/catalog.h"
#include "platform/requests/collection.h"
#include "platform/requests/continuation.h"
#include "platform/requests/experiment.h"
#include "platform/requests/import.h"
#include "platform/requests/log_calls.h"
#include "platform/rules/experiment_rules.h"
#include "platform/rules/log_rules.h"
#include "platform/rules/retention.h"
#include "platform/rules/trial_rules.h"
#include "trials/trial_text.h"

namespace muster {

Platform::Platform(Engine& engine, const Feasibility& feasibility)
    : engine_(engine), state_(engine.state()), feasibility_(feasibility) {}
Platform::~Platform() = default;

void Platform::begin(const CoreStart&) {
  // First: what is collected below must not go by a retention that the record lacks.
  recover_retentions();
  state_.jobs().for_each([&](const Job& job) { arm(job.id); });
  // A crash may have come between an experiment's change and that of its trials.
  for (const auto& [id, experiment] : state_.experiments().experiments()) {
    if (!is_final(experiment.state))
      // From the first trial on, whatever was done before the crash: a verb does nothing twice.
      // Under the owner's name, because who asked for it is not recorded.
      carried_on_[id] = CarriedOn{0, Identity{experiment.spec->user, experiment.spec->job->group}};
  }
}

// ---- requests ----

/// One overload for each kind of the platform's requests: the compiler names one that is forgotten.
struct Platform::Handler {
  Platform& platform;
  Draft& draft;
  const Identity& identity;

  Reply operator()(const PreparedContinuation& request) {
    return platform.continue_experiment(draft, request, identity);
  }
  Reply operator()(const PreparedExperiment& request) {
    // Two conditions: the request itself, and that some node could ever run such a trial.
    auto created = requests::create_experiment(draft, request, identity);
    if (!created.has_value()) return refused(created.error());
    const Status possible =
        platform.check_trials(*get<ExperimentCreated>(draft.events.back()).spec);
    return possible.has_value() ? std::move(created).value() : refused(possible.error());
  }
  Reply operator()(const ControlExperiments& request) {
    return requests::control_experiments(draft, request, identity);
  }
  Reply operator()(const UpdateExperiment& request) {
    return requests::update_experiment(draft, request, identity);
  }
  Reply operator()(const ReportTrial& request) {
    return requests::report_trial(draft, request, identity);
  }
  Reply operator()(const FlagTrial& request) {
    return requests::flag_trial(draft, request, identity);
  }
  Reply operator()(const SearchDecision& request) { return requests::decide(draft, request); }
  Reply operator()(const RecordRun& request) {
    return requests::record_run(draft, request, identity);
  }
  Reply operator()(const RecordCheckpoint& request) {
    return requests::record_checkpoint(draft, request, identity);
  }
  Reply operator()(const StoreDocument& request) {
    return requests::store_document(draft, request, identity);
  }
  Reply operator()(const DeleteDocument& request) {
    return requests::delete_document(draft, request, identity);
  }
  Reply operator()(const DeleteCheckpoints& request) {
    return requests::delete_checkpoints(draft, request, identity);
  }
  Reply operator()(const CollectCheckpoints& request) { return requests::collect(draft, request); }
  Reply operator()(const SetLogRetention& request) {
    return requests::set_log_retention(draft, request, identity);
  }
  Reply operator()(const OperateSearch& request) {
    return requests::operate_search(draft, request, identity);
  }
  Reply operator()(const ImportExperiment& request) {
    return requests::import_experiment(draft, request, identity);
  }
  Reply operator()(const ImportTrial& request) {
    return requests::import_trial(draft, request, identity);
  }
  Reply operator()(const ImportCheckpoint& request) {
    return requests::import_checkpoint(draft, request, identity);
  }
  Reply operator()(const RecordLogMatch& request) {
    return platform.record_log_match(draft, request);
  }
  template <WorkloadRequest Kind>
  Reply operator()(const Kind&) {
    CHECK(false, "a request of the workload comes to the platform");
  }
};

Reply Platform::handle(Draft& draft, const PreparedRequest& request, const Identity& identity) {
  return visit(Handler{*this, draft, identity}, request);
}

// ---- events ----

/// What each kind of event sets in motion, beyond what its search is told. The compiler names a
/// kind that stands nowhere.
struct Platform::Follower {
  Platform& platform;

  template <class Kind>
  requires(kEventEcho<Kind> == EventEcho::kQuiet) void operator()(const Kind&) {}
  void operator()(const NodeRegistered&) {}
  void operator()(const NodeChanged&) {}
  void operator()(const ArraySplit&) {}
  void operator()(const JobSuspended&) {}
  void operator()(const StepEnded&) {}
  void operator()(const StopRequested&) {}

  void operator()(const ExperimentChanged& event) {
    if (event.state)
      // Its trials are told in the turns to come; a later change of state begins with the first
      // again.
      platform.carried_on_[event.experiment] = CarriedOn{0, platform.engine_.acting()};
  }
  void operator()(const JobSubmitted& event) { platform.arm(event.job); }
  void operator()(const JobChanged& event) { platform.arm(event.job); }
  void operator()(const JobRequeued& event) { platform.arm(event.job); }
  void operator()(const JobStarted& event) { platform.arm(event.job); }
  void operator()(const JobResumed& event) { platform.arm(event.job); }
  // A job may be over at once (it waited), or with the last node that it releases.
  void operator()(const JobEnding& event) { platform.queue_trial(event.job); }
  void operator()(const NodeReleased& event) { platform.queue_trial(event.job); }
};

void Platform::after_event(const Event& event) {
  visit(Follower{*this}, event.body);
  notify_search(event);
}

/// What follows from the event for an experiment's search, and for the experiment itself.
void Platform::notify_search(const Event& event) {
  const auto asked = search_asked_by(event.body, state_);
  const auto concerned = experiment_of(event.body, state_);
  // The question is an event: a restart asks the search the same again, in the same order.
  if (asked) engine_.emit(*asked);
  if (!concerned) return;
  // Looked up after the emit, which changes experiments.
  const Experiment& experiment = *state_.experiments().find(*concerned);
  const auto ended = end_state(experiment);
  if (!ended) return;
  // Completed without a number to rank by is most often a misnamed metric: the experiment says so.
  if (std::string doubt = unheard_metric_text(experiment, state_);
      *ended == ExperimentState::kCompleted && !doubt.empty()) {
    ExperimentChanged change;
    change.experiment = *concerned;
    change.detail = std::move(doubt);
    return engine_.emit(std::move(change));  // which brings us here again, without a doubt
  }
  engine_.emit(ExperimentEnded{*concerned, *ended});
}

Reply Platform::continue_experiment(Draft& draft, const PreparedContinuation& continued,
                                    const Identity& identity) {
  Reply reply;
  auto drafted = requests::continue_experiment(draft, continued, identity);
  if (!drafted.has_value()) {
    reply.error = drafted.error();
    return reply;
  }
  const auto made = std::ranges::find_if(draft.events, [](const EventBody& event) {
    // The draft has the jobs of the trials as well.
    return holds_alternative<ExperimentContinued>(event);
  });
  const Status possible = check_trials(*get<ExperimentContinued>(*made).spec);
  if (possible.has_value()) return std::move(drafted).value();
  // Drafted and possible are both asked: what was drafted is dropped.
  draft.events.clear();
  reply.error = possible.error();
  return reply;
}

namespace {

/// The job as it is, or an elastic trial's with the least slots that it can do with.
JobSpec least_of(const JobSpec& job, const ExperimentSpec& spec) {
  return spec.is_elastic() ? with_slots(job, spec.min_slots_per_trial) : job;
}

}  // namespace

Status Platform::check_trials(const ExperimentSpec& spec) const {
  const auto partitions =
      TRY(admission::choose_partitions(state_, spec.job->get(JobText::kPartition)));
  return feasibility_.check_satisfiable(least_of(*spec.job, spec), partitions);
}

Status Platform::check_run(const JobSpec& job,
                           const std::vector<PartitionIndex>& partitions) const {
  const Trial& trial = *state_.experiments().find(job.trial);
  return feasibility_.check_satisfiable(
      least_of(job, *state_.experiments().find(trial.experiment)->spec), partitions);
}

/// A trial that waits for a node and has none left ends.
Reply Platform::record_log_match(Draft& draft, const RecordLogMatch& note) const {
  Reply reply = requests::record_log_match(draft, note);
  const auto* change = draft.events.empty() ? nullptr : get_if<JobChanged>(&draft.events.back());
  if (reply.error || change == nullptr) return reply;
  const Job& job = *state_.jobs().find(change->job);
  // It runs on without the node: the exclusion counts from its next start.
  if (!will_start_again(job)) return reply;
  const Status possible = check_run(*change->spec, job.partitions.to_vector());
  if (possible.has_value()) return reply;
  // With the match that is only drafted, so that the text names this node, too.
  Trial trial = *state_.experiments().find(note.trial);
  trial.log_matches.push_back(get<LogMatched>(*(draft.events.end() - 2)).match);
  JobEnding ending;
  ending.job = job.id;
  ending.state = JobState::kFailed;
  ending.detail = no_node_left(trial, possible.error());
  draft.add(std::move(ending));
  return reply;
}

/// As decide_run_end; a trial that no node is left for does not go back to the queue.
void Platform::refine_ending(const Job& job, bool is_own_fault, JobEnding& ending) const {
  decide_run_end(state_, job, is_own_fault, ending);
  const Trial* trial = ending.requeue_after ? trial_of(state_, job) : nullptr;
  // Only log policies narrow down the nodes of a trial between runs; anything else was checked when
  // it was submitted.
  if (trial == nullptr || !has_excluded_nodes(*trial)) return;
  const Status possible = check_run(*job.spec, job.partitions.to_vector());
  if (possible.has_value()) return;
  ending.state = JobState::kFailed;
  ending.detail = no_node_left(*trial, possible.error());
  ending.requeue_after = ending.is_restart = false;
  ending.hold_after = 0;
}

void Platform::queue_trial(JobId id) {
  const Job& job = *state_.jobs().find(id);
  // Asked again in end_trials: what follows in this turn may put the job back.
  if (job.spec->trial.value() != 0 && job.is_over()) trial_jobs_.push_back(id);
}

/// A trial ends with its job, in the same batch.
void Platform::end_trials() {
  for (const JobId id : std::exchange(trial_jobs_, {})) {
    const Job* job = state_.jobs().find(id);
    const Trial* trial = job == nullptr || !job->is_over() ? nullptr : trial_of(state_, *job);
    if (trial != nullptr) engine_.emit(trial_end(state_, *job, *trial));
  }
}

void Platform::resize(JobId id, std::uint32_t slots) {
  const Job* job = state_.jobs().find(id);
  const Trial* trial = job == nullptr ? nullptr : trial_of(state_, *job);
  if (trial == nullptr) return;
  const Experiment& experiment = *state_.experiments().find(trial->experiment);
  if (experiment.state != ExperimentState::kActive || slots_of(*trial, *experiment.spec) == slots)
    return;
  if (job->run != nullptr) {
    // A stop that is under way has a meaning of its own.
    if (job->state != JobState::kRunning || job->run->stop) return;
    // A trial cannot change its size while it runs: it is stopped, saves what it has, and begins
    // again with the new number (after_run).
    wished_slots_[id] = slots;
    engine_.emit(
        StopRequested{id, {StopCall::kPreempt, now() + experiment.spec->preemption_timeout}});
    return;
  }
  if (!job->is_pending()) return;
  JobChanged change;
  change.job = id;
  change.spec = std::make_shared<const JobSpec>(with_slots(*job->spec, slots));
  // Both in this order: the trial's slots are what launches and budgets count.
  engine_.emit(TrialResized{trial->id, slots});
  engine_.emit(std::move(change));
}

/// Before anything is collected by what an older version did not record.
void Platform::recover_retentions() {
  // Collected first: emitting changes the table that is walked.
  std::vector<ExperimentChanged> changes;
  for (const auto& [id, experiment] : state_.experiments().experiments()) {
    const auto said = experiment.is_collected ? std::nullopt : unrecorded_retention(experiment);
    if (!said) continue;
    changes.emplace_back();
    changes.back().experiment = id;
    changes.back().retention = said;
  }
  for (ExperimentChanged& change : changes) engine_.emit(std::move(change));
}

/// Copies of a trial begin with what it had saved when its run was over.
void Platform::source_copies(const Job& job) {
  const Trial* original =
      job.spec->trial.value() == 0 ? nullptr : state_.experiments().find(job.spec->trial);
  if (original == nullptr) return;
  const CheckpointRef saved = state_.checkpoints().latest(original->id);
  // A copy, since the events below change experiments.
  const std::vector<TrialId> trials = state_.experiments().find(original->experiment)->trials;
  for (const TrialId id : trials) {
    const Trial& copy = *state_.experiments().find(id);
    if (!copy.awaits_source || copy.clone_of != original->index) continue;
    engine_.emit(TrialSourced{id, saved == nullptr ? "" : saved->uuid});
    const Job* held = copy.is_over() ? nullptr : state_.jobs().find(copy.job);
    if (held == nullptr || !held->is_pending() || trial_hold(state_, copy) != 0) continue;
    JobChanged change;
    change.job = held->id;
    // Whatever else holds it stays.
    change.flags =
        static_cast<std::uint16_t>(held->flags & job_flag::kAnyHold & ~job_flag::kTrialHeld);
    engine_.emit(std::move(change));
  }
}

/// A job that deletes is over: what it deleted is gone. One that never began has touched nothing.
void Platform::end_collection(const Job& job) {
  const auto found = state_.checkpoints().collections().find(job.id);
  if (found == state_.checkpoints().collections().end()) return;
  const Collection collection = found->second;
  const bool is_done = job.state == JobState::kCompleted;
  engine_.emit(CollectionEnded{job.id, is_done});
  if (is_done) {
    // The experiment is removed only when its files are gone; until then a failure can be told.
    if (collection.is_whole) engine_.emit(ExperimentDeleted{collection.experiment});
    return;
  }
  // It may have deleted some of it: nobody can tell which.
  const std::vector<CheckpointRef> broken = broken_off(state_.checkpoints(), collection, job);
  for (const CheckpointRef& one : broken) engine_.emit(CheckpointRecorded{one});
  engine_.emit(deletion_failed(collection, job));
}

void Platform::arm_budget(const Job& job) {
  const Trial* trial = trial_of(state_, job);
  // The budget is the experiment's; each of its running jobs has a timer, and the first that fires
  // finds it used up.
  const auto end =
      trial == nullptr
          ? std::nullopt
          : budget_end(state_, *state_.experiments().find(trial->experiment), state_.time());
  if (end) engine_.timers().set(Timer{*end, job.id, job.attempt, TimerKind::kBudget});
}

/// What was used since the timer was set may be less than was thought then.
void Platform::enforce_budget(const Job& job) {
  const Trial* trial = trial_of(state_, job);
  if (trial == nullptr) return;
  const Experiment& experiment = *state_.experiments().find(trial->experiment);
  const auto end = budget_end(state_, experiment, now());
  if (!end || !is_searching(experiment.state)) return;
  if (*end > now()) {
    engine_.timers().set(Timer{*end, job.id, job.attempt, TimerKind::kBudget});
    return;
  }
  Draft draft(state_, now());
  requests::stop_for_budget(draft, experiment);
  // A draft that does not fit is a bug, which check() has reported: it is tried again.
  if (engine_.check(draft).has_value()) {
    engine_.apply(draft);
  } else {
    engine_.timers().set(
        Timer{now() + Duration::minutes(1), job.id, job.attempt, TimerKind::kBudget});
  }
}

/// The limit may have been moved since the timer was set.
void Platform::stop_before_limit(const Job& job, const Trial& trial) {
  if (!job.end_time.is_set() || job.run->stop || stop_before_limit_at(state_, job, trial) > now())
    return;
  engine_.emit(StopRequested{job.id, {StopCall::kPreempt, job.end_time}});
}

// ---- time ----

/// Sets the timers that the condition of a trial's job asks for. Those that no longer hold are
/// dropped when they fire.
void Platform::arm(JobId id) {
  const Job& job = *state_.jobs().find(id);
  if (job.is_over()) return;
  arm_budget(job);
  if (job.state != JobState::kRunning || !job.end_time.is_set()) return;
  if (const Trial* trial = trial_of(state_, job)) {
    engine_.timers().set(Timer{stop_before_limit_at(state_, job, *trial), job.id, job.attempt,
                               TimerKind::kTrialLimit});
  }
}

void Platform::on_timer(const Timer& timer, const Job& job) {
  const Trial* trial = trial_of(state_, job);
  if (trial == nullptr) return;
  // Of whatever attempt: a budget runs across them.
  if (timer.kind == TimerKind::kBudget) return enforce_budget(job);
  if (job.state == JobState::kRunning && job.attempt == timer.attempt)
    stop_before_limit(job, *trial);
}

bool Platform::settle() {
  end_trials();
  return true;
}

void Platform::on_work() { carry_on_experiments(); }

/// What an experiment's state means for its trials, a part of them a turn.
void Platform::carry_on_experiments() {
  while (engine_.allowance() > 0 && !carried_on_.empty()) {
    const auto [id, carried] = *carried_on_.begin();
    const Experiment* experiment = state_.experiments().find(id);
    Draft draft(state_, now());
    const std::size_t next = experiment == nullptr
                                 ? 0
                                 : requests::carry_on(draft, *experiment, carried.next, carried.by);
    // Where the draft does not fit the experiment is given up: the next turn would draft the same.
    const bool is_sound = engine_.check(draft).has_value();
    const bool is_done = experiment == nullptr || next >= experiment->trials.size() || !is_sound;
    engine_.spend(std::max<std::size_t>(draft.events.size(), 1));
    // Before the events are applied: they may begin this experiment again, at its first trial.
    if (is_done) {
      carried_on_.erase(carried_on_.begin());
    } else {
      carried_on_.begin()->second.next = next;
    }
    if (is_sound) engine_.apply(draft);
  }
}

// ---- runs ----

bool Platform::after_run(const Job& job) {
  const JobId id = job.id;
  // The job is over and its trial with it: end_trials follows in this turn.
  if ((job.flags & job_flag::kRequeueAfter) == 0) {
    wished_slots_.erase(id);
    source_copies(job);
    end_collection(job);
    return false;
  }
  const Trial* trial = trial_of(state_, job);
  if (trial == nullptr) return false;
  // Held where its search or its experiment holds it, and without RequeueDelay.
  engine_.emit(JobRequeued{id, now(), trial_hold(state_, *trial)});
  source_copies(job);
  // A controller that died since the wish has forgotten it: then the trial goes on as it was.
  if (const auto wish = wished_slots_.extract(id)) resize(id, wish.mapped());
  return true;
}

}  // namespace muster
