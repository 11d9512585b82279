#include "controller/backend/dependency_index.h"

#include <algorithm>

namespace muster {
namespace {

bool is_successful(const Job& job) { return job.state == JobState::kCompleted; }

/// All records that a term names: the job, or every element of the array and what remains of it.
std::vector<const Job*> named_jobs(const DependencyTerm& term, const ClusterState& state, std::optional<std::uint32_t> index) {
  std::vector<const Job*> jobs;
  const Job* record = state.jobs().find(term.job);
  const auto* elements = state.jobs().elements(term.job);
  if (index && elements != nullptr) {
    if (const auto found = elements->find(*index); found != elements->end()) {
      jobs.push_back(state.jobs().find(found->second));
      return jobs;
    }
  }
  if (record == nullptr) return jobs;
  if (index && record->array != nullptr && !record->array->remaining.indices.test(*index)) return jobs;
  jobs.push_back(record);
  if (index || elements == nullptr) return jobs;
  for (const auto& [element_index, id] : *elements) {
    if (id != term.job) jobs.push_back(state.jobs().find(id));
  }
  return jobs;
}

struct TermOutcome {
  DependencyState state = DependencyState::kUnfulfilled;
  TimePoint not_before;
};

/// `after`: every job named has started, or will never.
TermOutcome after_start(const std::vector<const Job*>& jobs, Duration delay) {
  TermOutcome outcome{DependencyState::kFulfilled, {}};
  for (const Job* job : jobs) {
    if (job->is_pending()) return {};
    if (job->start_time.is_set()) outcome.not_before = std::max(outcome.not_before, job->start_time + delay);
  }
  return outcome;
}

TermOutcome after_end(const std::vector<const Job*>& jobs, DependencyKind kind) {
  const bool is_all_over = std::ranges::all_of(jobs, [](const Job* job) { return job->is_over(); });
  const bool is_all_good = std::ranges::all_of(jobs, [](const Job* job) { return is_successful(*job); });
  const auto has_failed = [](const Job* job) { return job->is_over() && !is_successful(*job); };
  switch (kind) {
    case DependencyKind::kAfterOk:
    case DependencyKind::kAfterCorr:
      if (std::ranges::any_of(jobs, has_failed)) return {DependencyState::kFailed, {}};
      return {is_all_over ? DependencyState::kFulfilled : DependencyState::kUnfulfilled, {}};
    case DependencyKind::kAfterNotOk:
      if (!is_all_over) return {};
      return {is_all_good ? DependencyState::kFailed : DependencyState::kFulfilled, {}};
    default:
      return {is_all_over ? DependencyState::kFulfilled : DependencyState::kUnfulfilled, {}};
  }
}

TermOutcome singleton(const Job& job, const ClusterState& state) {
  TermOutcome outcome{DependencyState::kFulfilled, {}};
  state.jobs().for_each([&](const Job& other) {
    const bool is_same = other.id < job.id && other.spec->user == job.spec->user &&
                         other.spec->name() == job.spec->name() && other.id != job.array_job;
    if (is_same && !other.is_over()) outcome.state = DependencyState::kUnfulfilled;
  });
  return outcome;
}

TermOutcome evaluate_term(const DependencyTerm& term, const Job& job, std::optional<std::uint32_t> element, const ClusterState& state) {
  if (term.state != DependencyState::kUnfulfilled) return {term.state, {}};
  if (term.kind == DependencyKind::kSingleton) return singleton(job, state);
  const auto index = term.kind == DependencyKind::kAfterCorr && element ? element : term.array_index;
  const std::vector<const Job*> jobs = named_jobs(term, state, index);
  if (term.kind == DependencyKind::kAfter) return after_start(jobs, term.delay);
  // A job that has left memory has ended; how is no longer known here, and only success can be relied on.
  if (jobs.empty() && term.kind == DependencyKind::kAfterNotOk) return {DependencyState::kFailed, {}};
  return after_end(jobs, term.kind);
}

}  // namespace

DependencyOutcome evaluate_dependencies(const Job& job, const ClusterState& state, std::optional<std::uint32_t> element) {
  if (!element) element = job.array_index;
  DependencyOutcome outcome;
  outcome.set = *job.dependencies;
  std::size_t fulfilled = 0;
  std::size_t failed = 0;
  for (DependencyTerm& term : outcome.set.terms) {
    const TermOutcome result = evaluate_term(term, job, element, state);
    term.state = result.state;
    outcome.not_before = std::max(outcome.not_before, result.not_before);
    fulfilled += result.state == DependencyState::kFulfilled ? 1 : 0;
    failed += result.state == DependencyState::kFailed ? 1 : 0;
  }
  const std::size_t count = outcome.set.terms.size();
  outcome.is_satisfied = outcome.set.is_any ? fulfilled > 0 : fulfilled == count;
  outcome.is_never = outcome.set.is_any ? failed == count : failed > 0;
  return outcome;
}

void DependencyIndex::watch(const Job& job) {
  if (job.dependencies == nullptr || !job.is_pending()) return;
  for (const DependencyTerm& term : job.dependencies->terms) {
    if (term.kind == DependencyKind::kSingleton) {
      singletons_[{job.spec->user, std::string(job.spec->name())}].insert(job.id);
    } else {
      waiters_[term.job].insert(job.id);
    }
  }
  affected_.insert(job.id);
}

void DependencyIndex::affect_waiters_of(const Job& job) {
  for (const JobId id : {job.id, job.array_job}) {
    if (const auto found = waiters_.find(id); found != waiters_.end()) {
      affected_.insert(found->second.begin(), found->second.end());
    }
  }
  if (singletons_.empty()) return;
  const auto found = singletons_.find({job.spec->user, std::string(job.spec->name())});
  if (found == singletons_.end()) return;
  if (job.is_over()) found->second.erase(job.id);
  affected_.insert(found->second.begin(), found->second.end());
  if (found->second.empty()) singletons_.erase(found);
}

void DependencyIndex::load(const ClusterState& state) {
  state.jobs().for_each([&](const Job& job) { watch(job); });
}

void DependencyIndex::on_event(const Event& event, const ClusterState& state) {
  std::visit(
      [&](const auto& body) {
        using Kind = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Kind, ArraySplit>) {
          watch(*state.jobs().find(body.element));
        } else if constexpr (std::is_same_v<Kind, JobSubmitted> || std::is_same_v<Kind, JobChanged>) {
          watch(*state.jobs().find(body.job));
        } else if constexpr (std::is_same_v<Kind, JobStarted> || std::is_same_v<Kind, JobEnding> ||
                             std::is_same_v<Kind, NodeReleased>) {
          if (!waiters_.empty() || !singletons_.empty()) affect_waiters_of(*state.jobs().find(body.job));
        } else if constexpr (std::is_same_v<Kind, JobsEvicted>) {
          for (const JobId id : body.jobs) waiters_.erase(id);
        }
      },
      event.body);
}

std::vector<JobId> DependencyIndex::take_affected() {
  std::vector<JobId> jobs(affected_.begin(), affected_.end());
  affected_.clear();
  return jobs;
}

}  // namespace muster
