// The index (dependencies/dependency_index.h) says which jobs are to be looked at and how their
// dependencies stand; this role turns that into events. It also splits an array whose elements come
// to different outcomes, which aftercorr alone can bring about.
#include "workload/dependency_role.h"

#include <array>

#include "admission/job_check.h"
#include "workload/run_role.h"

namespace muster {

DependencyRole::DependencyRole(WorkloadRoles& roles)
    : roles_(roles), engine_(roles.engine), state_(roles.engine.state()) {}

void DependencyRole::load() { index_.load(state_); }
void DependencyRole::on_event(const Event& event) { index_.on_event(event, state_); }

/// Elements of one outcome stay together on the record: those that still wait, or else the most.
/// The others split off. Returns what the record has come to.
DependencyOutcome DependencyRole::decide_elements_of(const Job& record, const AffectedJob& affected,
                                                     WholeArrays& wholes) {
  const JobId id = record.id;
  const Bitmap& remaining = record.array->remaining.indices;
  std::array<std::vector<std::uint32_t>, 3> groups;  // waiting, satisfied, never
  const auto sort_in = [&](std::size_t index) {
    const auto element = static_cast<std::uint32_t>(index);
    const DependencyOutcome outcome = index_.evaluate(record, state_, element, &wholes);
    groups[outcome.is_never ? 2 : outcome.is_satisfied ? 1 : 0].push_back(element);
  };
  std::size_t count = 0;
  // An element whose index the awaited array never had waits for that array as a whole: when this
  // ends, every such element may be decided, not only those that moved.
  const bool is_all =
      !affected.elements || (affected.may_be_all && is_awaited_array_over(record, wholes, state_));
  if (!is_all) {
    for (const std::uint32_t index : *affected.elements) {
      if (remaining.test(index)) sort_in(index), ++count;
    }
  } else {
    for (const std::size_t index : remaining.indices()) sort_in(index), ++count;
  }
  // Elements that were not looked at still wait. Without one that waits the larger group keeps the
  // record, because each split is an event and a job of its own.
  const bool is_one_waiting = count < remaining.count() || !groups[0].empty();
  const std::size_t kept = is_one_waiting ? 0 : groups[1].size() >= groups[2].size() ? 1 : 2;
  for (std::size_t group = 1; group < groups.size(); ++group) {
    if (group == kept) continue;
    for (const std::uint32_t element : groups[group])
      engine_.emit(ArraySplit{id, element, state_.next_job()});
  }
  // All elements of the kept group came to the same outcome, so that its first stands for the
  // record.
  return kept == 0 ? index_.evaluate(record, state_)
                   : index_.evaluate(record, state_, groups[kept].front());
}

void DependencyRole::decide_dependencies() {
  // What is decided here changes only jobs that wait: whom that affects is looked at next time.
  WholeArrays wholes(state_);
  for (const AffectedJob& affected : index_.extract_affected(engine_.allowance())) {
    engine_.spend(1);
    const Job* job = state_.jobs().find(affected.job);
    // Since it was marked it may have started, ended, or lost its dependencies by an update.
    if (job == nullptr || !job->is_pending() || job->dependencies == nullptr ||
        job->eligible_time.is_set())
      continue;
    DependencyOutcome outcome = index_.evaluate(*job, state_, {}, &wholes);
    if (!outcome.is_decided() && waits_by_element(*job))
      outcome = decide_elements_of(*job, affected, wholes);
    decide_dependencies_of(*job, outcome);
  }
}

void DependencyRole::decide_dependencies_of(const Job& job, const DependencyOutcome& outcome) {
  // Source: sbatch(1), --kill-on-invalid-dep. The reason comes first: end_job copies it into the
  // end.
  if (outcome.is_never && job.spec->kill_on_invalid_dependency) {
    JobChanged change;
    change.job = job.id;
    change.dependencies = outcome.set;
    change.reason = PendingReason::kDependencyNeverSatisfied;
    engine_.emit(std::move(change));
    roles_.runs->end_job(job.id, JobState::kCancelled, "its dependency can never be satisfied");
    return;
  }
  const bool is_known_never = job.reason == PendingReason::kDependencyNeverSatisfied;
  // Jobs are marked generously; an outcome that changes nothing recorded is worth no event.
  if (outcome.set == *job.dependencies && !outcome.is_satisfied &&
      outcome.is_never == is_known_never)
    return;
  JobChanged change;
  change.job = job.id;
  change.dependencies = outcome.set;
  // Satisfied: it becomes eligible. Never: it stays pending with that reason. Open again, after an
  // update gave it other dependencies: the reason goes.
  if (outcome.is_satisfied) {
    change.eligible_time = admission::eligible_from(now(), *job.spec, &outcome.set);
    change.reason = PendingReason::kNone;
  } else if (outcome.is_never) {
    change.reason = PendingReason::kDependencyNeverSatisfied;
  } else if (is_known_never) {
    change.reason = PendingReason::kNone;
  }
  engine_.emit(std::move(change));
}

}  // namespace muster
