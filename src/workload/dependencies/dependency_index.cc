// Marks generously and decides exactly: every event marks those that may be affected (affected_),
// and evaluate() works out each of their terms from the state. A term that was decided once stays
// so, because what it depends on may have left memory.
#include "workload/dependencies/dependency_index.h"

#include <algorithm>
#include <utility>

namespace muster {
namespace {

bool is_successful(const Job& job) { return job.state == JobState::kCompleted; }

/// What a term names: the job, or every element of the array and what remains of it.
struct NamedJobs {
  std::vector<const Job*> jobs;
  bool has_past = false;          ///< elements of an array that have left memory
  bool has_past_failure = false;  ///< of those
};

/// Of an array that has elements in memory, how the others ended.
void add_past(NamedJobs& named, const ArrayRecord& array, std::optional<std::uint32_t> index) {
  const auto has = [index](const Bitmap& elements) {
    return index ? elements.test(*index) : !elements.empty();
  };
  named.has_past_failure = has(array.evicted_failed);
  named.has_past = named.has_past_failure || has(array.evicted_completed);
}

NamedJobs named_jobs(const DependencyTerm& term, const ClusterState& state,
                     std::optional<std::uint32_t> index) {
  NamedJobs named;
  const Job* record = state.jobs().find(term.job);
  const auto* elements = state.jobs().elements(term.job);
  // The element itself, where it has a record of its own.
  if (index && elements != nullptr) {
    if (const auto found = elements->find(*index); found != elements->end()) {
      named.jobs.push_back(state.jobs().find(found->second));
      return named;
    }
  }
  if (record == nullptr) return named;
  if (record->array != nullptr) add_past(named, *record->array, index);
  // That element is neither in the record nor in memory: what is known of it is in the past.
  if (index && record->array != nullptr && !record->array->remaining.indices.test(*index))
    return named;
  named.jobs.push_back(record);
  if (index || elements == nullptr) return named;
  for (const auto& [element_index, id] : *elements) {
    if (id != term.job) named.jobs.push_back(state.jobs().find(id));
  }
  return named;
}

/// Bitmaps of elements shrink as elements leave memory; the range alone says what was there.
/// Whether the range of an array whose indices have one distance say that it had such an element.
bool is_regular_index(const ArrayRange& range, std::uint32_t index) {
  // Count and step describe an array without holes; of any other the range proves nothing.
  if (range.index_step == 0 || index < range.index_min || index > range.index_max) return false;
  const std::uint32_t span = range.index_max - range.index_min;
  return range.task_count == span / range.index_step + 1 &&
         (index - range.index_min) % range.index_step == 0;
}

/// Whether the array has, or had, an element of that index. Of other jobs it is true: they are what
/// is waited for.
bool has_element(JobId array, const ClusterState& state, std::uint32_t index) {
  const Job* record = state.jobs().find(array);
  if (record == nullptr || record->array == nullptr) return true;
  const ArrayRecord& known = *record->array;
  if (known.remaining.indices.test(index) || known.evicted_completed.test(index) ||
      known.evicted_failed.test(index) || is_regular_index(known.range, index))
    return true;
  const auto* elements = state.jobs().elements(array);
  return elements != nullptr && elements->contains(index);
}

struct TermOutcome {
  DependencyState state = DependencyState::kUnfulfilled;
  TimePoint not_before;
};

/// `after`: every job named has started, or will never.
TermOutcome after_start(const std::vector<const Job*>& jobs, Duration delay) {
  TermOutcome outcome{DependencyState::kFulfilled, {}};
  // Cancelled before it started has no start time and delays nobody. Source: sbatch(1),
  // after:job_id[[+time]].
  for (const Job* job : jobs) {
    if (job->is_pending()) return {};
    if (job->start_time.is_set())
      outcome.not_before = std::max(outcome.not_before, job->start_time + delay);
  }
  return outcome;
}

TermOutcome after_end(const NamedJobs& named, DependencyKind kind) {
  const auto is_over = [](const Job* job) { return job->is_over(); };
  const auto has_failed = [](const Job* job) { return job->is_over() && !is_successful(*job); };
  const bool is_all_over = std::ranges::all_of(named.jobs, is_over);
  const bool is_any_failed = named.has_past_failure || std::ranges::any_of(named.jobs, has_failed);
  switch (kind) {
    // One failure decides afterok at once; all other kinds wait until everything that is named is
    // over.
    case DependencyKind::kAfterOk:
    case DependencyKind::kAfterCorr:
      if (is_any_failed) return {DependencyState::kFailed, {}};
      return {is_all_over ? DependencyState::kFulfilled : DependencyState::kUnfulfilled, {}};
    case DependencyKind::kAfterNotOk:
      if (!is_all_over) return {};
      return {is_any_failed ? DependencyState::kFulfilled : DependencyState::kFailed, {}};
    default: return {is_all_over ? DependencyState::kFulfilled : DependencyState::kUnfulfilled, {}};
  }
}

bool is_by_element(const DependencyTerm& term) {
  return term.kind == DependencyKind::kAfterCorr && term.state == DependencyState::kUnfulfilled;
}

/// The one element that `job` is or, as a record, still stands for; nullopt: no array, or several.
std::optional<std::uint32_t> element_of(const Job& job) {
  if (job.array_index || job.array == nullptr || job.array->remaining.indices.count() != 1)
    return job.array_index;
  return static_cast<std::uint32_t>(job.array->remaining.indices.indices().front());
}

TermOutcome evaluate_term(const DependencyTerm& term, std::optional<std::uint32_t> element,
                          const ClusterState& state, WholeArrays& wholes) {
  // Elements without a counterpart wait for the whole array: Slurm 22.05.8 does the same.
  if (is_by_element(term) && element && !has_element(term.job, state, *element))
    return {wholes.outcome(term.job), {}};
  const NamedJobs named =
      named_jobs(term, state, is_by_element(term) && element ? element : term.array_index);
  if (term.kind == DependencyKind::kAfter) return after_start(named.jobs, term.delay);
  // A job that has left memory has ended; how is no longer known here, and only success can be
  // relied on.
  const bool is_unknown = named.jobs.empty() && !named.has_past;
  if (is_unknown && term.kind == DependencyKind::kAfterNotOk) return {DependencyState::kFailed, {}};
  return after_end(named, term.kind);
}

}  // namespace

DependencyState WholeArrays::outcome(JobId array) {
  const auto [entry, is_new] = known_.try_emplace(array, DependencyState::kUnfulfilled);
  // Asked once for each array: with thousands of elements the walk below would be repeated for
  // each.
  DependencyState& outcome = entry->second;
  const Job& record = *state_.jobs().find(array);
  if (!is_new || !record.is_over()) return outcome;
  bool is_failed = !is_successful(record) || !record.array->evicted_failed.empty();
  if (const auto* elements = state_.jobs().elements(array)) {
    // The last ones are those that most often have not ended.
    for (auto element = elements->rbegin(); element != elements->rend(); ++element) {
      const Job& job = *state_.jobs().find(element->second);
      if (!job.is_over()) return outcome;
      is_failed = is_failed || !is_successful(job);
    }
  }
  outcome = is_failed ? DependencyState::kFailed : DependencyState::kFulfilled;
  return outcome;
}

bool is_awaited_array_over(const Job& record, WholeArrays& wholes, const ClusterState& state) {
  return std::ranges::any_of(record.dependencies->terms, [&](const DependencyTerm& term) {
    const Job* awaited = is_by_element(term) ? state.jobs().find(term.job) : nullptr;
    return awaited != nullptr && awaited->array != nullptr &&
           wholes.outcome(term.job) != DependencyState::kUnfulfilled;
  });
}

bool waits_by_element(const Job& job) {
  return job.array != nullptr && !element_of(job) && job.dependencies != nullptr &&
         std::ranges::any_of(job.dependencies->terms, is_by_element);
}

DependencyOutcome DependencyIndex::evaluate(const Job& job, const ClusterState& state,
                                            std::optional<std::uint32_t> element,
                                            WholeArrays* wholes) const {
  // Without a cache of the caller's, one for this call.
  WholeArrays own(state);
  if (wholes == nullptr) wholes = &own;
  if (!element) element = element_of(job);
  const bool is_record = job.array != nullptr && !element;
  DependencyOutcome outcome;
  outcome.set = *job.dependencies;
  std::size_t fulfilled = 0;
  std::size_t failed = 0;
  for (DependencyTerm& term : outcome.set.terms) {
    TermOutcome result{term.state, term.not_before};
    if (term.state != DependencyState::kUnfulfilled || (is_record && is_by_element(term))) {
      // Decided before, or to be asked for each element.
    } else if (term.kind == DependencyKind::kSingleton) {
      if (singletons_.is_first(job, state)) result.state = DependencyState::kFulfilled;
    } else {
      result = evaluate_term(term, element, state, *wholes);
    }
    term.state = result.state;
    term.not_before = result.not_before;
    fulfilled += result.state == DependencyState::kFulfilled ? 1 : 0;
    failed += result.state == DependencyState::kFailed ? 1 : 0;
  }
  const std::size_t count = outcome.set.terms.size();
  // With "?" between terms one is enough, and never is when all have failed; with "," all must
  // hold, and one failure is enough. Source: sbatch(1), --dependency.
  outcome.is_satisfied = outcome.set.is_any ? fulfilled > 0 : fulfilled == count;
  outcome.is_never = outcome.set.is_any ? failed == count : failed > 0;
  return outcome;
}

void DependencyIndex::affect(JobId job) { affected_[job] = AffectedJob{job, std::nullopt}; }

void DependencyIndex::watch(const Job& job, const ClusterState& state) {
  // Before the test below: a job without dependencies may stand before singletons of its name.
  for (const JobId id : singletons_.on_change(job, state)) affect(id);
  if (job.dependencies == nullptr || !job.is_pending()) return;
  for (const DependencyTerm& term : job.dependencies->terms) {
    if (term.kind != DependencyKind::kSingleton) waiters_[term.job].insert(job.id);
  }
  affect(job.id);
}

void DependencyIndex::affect_waiters_of(const Job& job, const ClusterState& state) {
  for (const JobId id : singletons_.on_run(job, state)) affect(id);
  // Terms name a job by its id, and all of an array by the array's.
  for (const JobId named : {job.id, job.array_job}) {
    const auto found = waiters_.find(named);
    if (found == waiters_.end()) continue;
    for (const JobId id : found->second) {
      const Job* waiter = state.jobs().find(id);
      if (waiter == nullptr) continue;
      // An array that waits for another element by element may be large: only what has moved is
      // looked at.
      const bool is_one_element =
          job.array_index && waits_by_element(*waiter) &&
          std::ranges::all_of(waiter->dependencies->terms, [&](const DependencyTerm& term) {
            return term.job != named || is_by_element(term);
          });
      if (!is_one_element) {
        affect(id);
        continue;
      }
      const AffectedJob none{id, std::set<std::uint32_t>()};
      AffectedJob& affected = affected_.try_emplace(id, none).first->second;
      // No list of elements means all of them already.
      if (affected.elements) affected.elements->insert(*job.array_index);
      affected.may_be_all = affected.may_be_all || job.is_over();
    }
  }
}

void DependencyIndex::load(const ClusterState& state) {
  singletons_.load(state);
  state.jobs().for_each([&](const Job& job) { watch(job, state); });
}

void DependencyIndex::on_event(const Event& event, const ClusterState& state) {
  visit(
      [&](const auto& body) {
        using Kind = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Kind, ArraySplit>) {
          watch(*state.jobs().find(body.element), state);
        } else if constexpr (std::is_same_v<Kind, JobSubmitted> ||
                             std::is_same_v<Kind, JobChanged> ||
                             std::is_same_v<Kind, JobRequeued>) {
          watch(*state.jobs().find(body.job), state);
        } else if constexpr (std::is_same_v<Kind, JobStarted> || std::is_same_v<Kind, JobEnding> ||
                             std::is_same_v<Kind, NodeReleased>) {
          affect_waiters_of(*state.jobs().find(body.job), state);
        } else if constexpr (std::is_same_v<Kind, JobsEvicted>) {
          // Who waited for it has been decided before: evictions wait for that
          // (TimerRole::evict_some).
          for (const JobId id : body.jobs) waiters_.erase(id);
        }
      },
      event.body);
}

std::vector<AffectedJob> DependencyIndex::extract_affected(std::size_t count) {
  std::vector<AffectedJob> jobs;
  while (jobs.size() < count && !affected_.empty()) {
    jobs.push_back(std::move(affected_.extract(affected_.begin()).mapped()));
  }
  return jobs;
}

}  // namespace muster
