// Plays the events of a draft on a small picture of the jobs that they touch, each filled from the
// state when it is first met. Only what a table's CHECK would stop the process for is asked, and of
// what later events of the same draft depend on.
#include "engine/draft_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace muster {
namespace {

/// What of a job the following events of the same draft depend on.
struct DraftedJob {
  bool is_pending = true;
  bool is_running = false;
  bool is_suspended = false;
  bool is_finished = false;
  bool is_completing = false;
  bool has_run = false;
  std::uint32_t attempt = 0;
  std::set<std::uint32_t> new_steps = {};
  const Job* known = nullptr;            ///< null: made by this draft
  std::optional<Bitmap> remaining = {};  ///< of an array's record
};

DraftedJob drafted_job(const Job& job) {
  DraftedJob drafted;
  drafted.is_pending = job.is_pending() && !job.holds_resources();
  drafted.is_running = job.state == JobState::kRunning;
  drafted.is_suspended = job.state == JobState::kSuspended;
  drafted.is_finished = is_finished(job.state);
  drafted.is_completing = job.is_completing();
  drafted.has_run = job.run != nullptr;
  drafted.attempt = job.attempt;
  drafted.known = &job;
  if (job.array != nullptr) drafted.remaining = job.array->remaining.indices;
  return drafted;
}

Status wrong(std::string detail) {
  return fail(ErrorCode::kInternal, "The request was refused: it does not fit the cluster's state",
              detail + "; nothing of it was done, and the controller's log has it");
}

/// One draft's events in order, over the state that they begin at.
class Check {
 public:
  explicit Check(const Draft& draft) : state_(draft.state()), next_job_(state_.next_job()) {
    for (const BlobWrite& blob : draft.blobs) new_blobs_.insert(blob.id);
  }

  Status operator()(const JobSubmitted& event) {
    TRY(check_new_job(event.job));
    if (event.spec == nullptr)
      return wrong(fmt::format("job {} has no specification", event.job.value()));
    TRY(check_partitions(event.job, event.partitions));
    TRY(check_blob(event.job, event.spec->script));
    TRY(check_blob(event.job, event.spec->environment));
    if (event.first_step != nullptr) TRY(check_blob(event.job, event.first_step->environment));
    if (event.array && event.array->indices.empty())
      return wrong(fmt::format("array {} has no elements", event.job.value()));
    if (const TrialId trial = event.spec->trial; trial.value() != 0)
      TRY(check_trial_job(event.job, trial));
    DraftedJob drafted;
    if (event.array) drafted.remaining = event.array->indices;
    jobs_[event.job] = std::move(drafted);
    return {};
  }
  Status operator()(const ArraySplit& event) {
    DraftedJob* record = find(event.array);
    // The last element is the record itself and is never split off.
    const bool has_element =
        record != nullptr && record->remaining && record->remaining->test(event.index);
    if (!has_element || record->remaining->count() < 2) {
      return wrong(
          fmt::format("array {} has no element {} to split off", event.array.value(), event.index));
    }
    TRY(check_new_job(event.element));
    // Taken out for the copy below: an element has no elements of its own.
    Bitmap remaining = std::move(*record->remaining);
    remaining.reset(event.index);
    record->remaining.reset();
    jobs_[event.element] = *record;
    record->remaining = std::move(remaining);
    return {};
  }
  Status operator()(const JobEnding& event) {
    DraftedJob* job = find(event.job);
    if (job == nullptr) return missing(event.job);
    if (job->is_finished && !job->is_completing)
      return wrong(fmt::format("job {} ends twice", event.job.value()));
    // Its nodes may still have to be cleaned; a job that waited is over at once.
    job->is_completing = job->is_running || job->is_suspended || job->is_completing;
    job->is_pending = job->is_running = job->is_suspended = false;
    job->is_finished = true;
    return {};
  }
  Status operator()(const JobRequeued& event) {
    DraftedJob* job = find(event.job);
    if (job == nullptr) return missing(event.job);
    // A step that still runs would report into the next attempt.
    const bool has_step = job->known != nullptr && job->known->run != nullptr &&
                          std::ranges::any_of(job->known->run->steps, &StepState::is_running);
    if (!job->is_finished || job->is_completing || has_step) {
      return wrong(fmt::format("job {} is requeued before its end", event.job.value()));
    }
    job->is_pending = true;
    job->is_finished = job->has_run = false;
    ++job->attempt;
    return {};
  }
  Status operator()(const JobChanged& event) {
    const DraftedJob* job = find(event.job);
    if (job == nullptr) return missing(event.job);
    if (event.partitions) TRY(check_partitions(event.job, *event.partitions));
    if (event.spec == nullptr || job->known == nullptr) return {};
    const JobSpec& before = *job->known->spec;
    // References to blobs are counted by the job's specification: a change would upset the counts.
    const bool is_same = event.spec->script == before.script &&
                         event.spec->environment == before.environment &&
                         event.spec->trial == before.trial;
    return is_same ? Status()
                   : wrong(fmt::format("job {} gets another script, environment or trial",
                                       event.job.value()));
  }
  Status operator()(const JobSuspended& event) {
    DraftedJob* job = find(event.job);
    if (job == nullptr || !job->is_running)
      return wrong(fmt::format("job {} is suspended while not running", event.job.value()));
    job->is_running = false;
    job->is_suspended = true;
    return {};
  }
  Status operator()(const JobResumed& event) {
    DraftedJob* job = find(event.job);
    if (job == nullptr || !job->is_suspended)
      return wrong(fmt::format("job {} is resumed while not suspended", event.job.value()));
    job->is_suspended = false;
    job->is_running = true;
    return {};
  }
  Status operator()(const StopRequested& event) {
    const DraftedJob* job = find(event.job);
    if (job == nullptr || !job->has_run)
      return wrong(fmt::format("job {} is asked to stop while it does not run", event.job.value()));
    return {};
  }
  Status operator()(const StepCreated& event) {
    DraftedJob* job = find(event.step.job);
    if (job == nullptr || !job->has_run || job->attempt != event.step.attempt) {
      return wrong(fmt::format("step {} is of another run of job {}", event.step.step,
                               event.step.job.value()));
    }
    const bool is_known =
        job->known != nullptr && job->known->run->find_step(event.step.step) != nullptr;
    if (is_known || !job->new_steps.insert(event.step.step).second) {
      return wrong(fmt::format("step {} of job {} is there already", event.step.step,
                               event.step.job.value()));
    }
    if (event.layout == nullptr || event.layout->nodes.empty())
      return wrong(
          fmt::format("step {} of job {} has no nodes", event.step.step, event.step.job.value()));
    return event.spec == nullptr ? Status() : check_blob(event.step.job, event.spec->environment);
  }
  Status operator()(const StepCancelled& event) {
    const DraftedJob* job = find(event.step.job);
    const bool is_of_run = job != nullptr && job->known != nullptr && job->has_run &&
                           job->attempt == event.step.attempt;
    const StepState* step = is_of_run ? job->known->run->find_step(event.step.step) : nullptr;
    const bool is_running = step != nullptr && step->is_running();
    return is_running ? Status()
                      : wrong(fmt::format("step {} of job {} is cancelled while not running",
                                          event.step.step, event.step.job.value()));
  }
  Status operator()(const NodeChanged& event) {
    const bool is_there = event.node.value() < state_.nodes().all().size();
    return is_there ? Status() : wrong(fmt::format("there is no node {}", event.node.value()));
  }
  Status operator()(const PartitionChanged& event) {
    const bool is_there = event.partition.value() < state_.partitions().size();
    return is_there ? Status()
                    : wrong(fmt::format("there is no partition {}", event.partition.value()));
  }
  Status operator()(const SearchDecided& event) {
    if (state_.experiments().find(event.experiment) == nullptr)
      return wrong(fmt::format("there is no experiment {}", event.experiment.value()));
    // Their jobs stand in the same draft.
    for (std::size_t i = 0; i < event.created.size(); ++i)
      new_trials_.insert(TrialId(event.first_trial.value() + static_cast<std::uint32_t>(i)));
    return {};
  }
  Status operator()(const ExperimentContinued& event) {
    for (const TrialAgain& again : event.trials) new_trials_.insert(again.id);
    return {};
  }
  Status operator()(const CollectionBegun& event) {
    for (const std::string& uuid : event.collection.uuids) {
      if (state_.checkpoints().find(uuid) == nullptr)
        return wrong(fmt::format("there is no checkpoint {}", uuid));
      // Also between two collections of one draft.
      if (state_.checkpoints().is_going(uuid) || !going_.insert(uuid).second)
        return wrong(fmt::format("checkpoint {} is deleted twice", uuid));
    }
    return {};
  }
  /// The rest names nothing but what its handler has just looked up.
  template <class Other>
  Status operator()(const Other&) {
    return {};
  }

 private:
  Status missing(JobId id) const { return wrong(fmt::format("there is no job {}", id.value())); }
  DraftedJob* find(JobId id) {
    if (const auto found = jobs_.find(id); found != jobs_.end()) return &found->second;
    const Job* job = state_.jobs().find(id);
    return job == nullptr ? nullptr : &(jobs_[id] = drafted_job(*job));
  }
  // In rising order, as the state allots them: also what the draft splits off.
  Status check_new_job(JobId id) {
    if (id < next_job_) return wrong(fmt::format("job id {} was given before", id.value()));
    next_job_ = JobId(id.value() + 1);
    return {};
  }
  Status check_partitions(JobId job, const std::vector<PartitionIndex>& partitions) const {
    const bool is_sound =
        !partitions.empty() && std::ranges::all_of(partitions, [&](PartitionIndex index) {
          return index.value() < state_.partitions().size();
        });
    return is_sound ? Status() : wrong(fmt::format("job {} has no such partition", job.value()));
  }
  Status check_blob(JobId job, BlobId blob) const {
    const bool is_there =
        blob.value() == 0 || new_blobs_.contains(blob) || state_.blobs().record(blob).has_value();
    return is_there ? Status()
                    : wrong(fmt::format("job {} names blob {}, which is not there", job.value(),
                                        blob.value()));
  }
  /// A trial has one job at a time.
  Status check_trial_job(JobId job, TrialId trial) {
    if (!new_trials_.contains(trial)) {
      const Trial* known = state_.experiments().find(trial);
      if (known == nullptr)
        return wrong(
            fmt::format("job {} is of trial {}, which is not there", job.value(), trial.value()));
      if (known->job.value() != 0)
        return wrong(fmt::format("trial {} has job {} already", trial.value(), known->job.value()));
    }
    const bool is_first = trials_with_job_.insert(trial).second;
    return is_first ? Status() : wrong(fmt::format("trial {} gets two jobs", trial.value()));
  }

  const ClusterState& state_;
  JobId next_job_;
  std::map<JobId, DraftedJob> jobs_;
  std::set<BlobId> new_blobs_;
  std::set<TrialId> new_trials_;
  std::set<TrialId> trials_with_job_;
  std::set<std::string> going_;
};

}  // namespace

Status check_draft(const Draft& draft) {
  Check check(draft);
  for (const EventBody& event : draft.events) TRY(visit(check, event));
  return {};
}

}  // namespace muster
