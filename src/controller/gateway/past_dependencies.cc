#include "controller/gateway/past_dependencies.h"

#include <algorithm>
#include <variant>

namespace muster {
namespace {

bool is_outcome_wanted(const DependencyTerm& term) {
  return term.kind == DependencyKind::kAfterOk || term.kind == DependencyKind::kAfterNotOk ||
         term.kind == DependencyKind::kAfterCorr;
}

bool is_named(const DependencyTerm& term, const PastEnd& end) {
  if (term.array_index) return end.array == term.job && end.array_index == term.array_index;
  return end.job == term.job || end.array == term.job;
}

DependencyState decide(const DependencyTerm& term, const std::vector<PastEnd>& ended) {
  std::size_t count = 0;
  std::size_t completed = 0;
  for (const PastEnd& end : ended) {
    if (!is_named(term, end)) continue;
    ++count;
    completed += end.is_completed ? 1 : 0;
  }
  const bool is_all_good = completed == count;
  if (count == 0 || (term.kind == DependencyKind::kAfterCorr && !is_all_good))
    return DependencyState::kUnfulfilled;
  const bool is_good_wanted = term.kind != DependencyKind::kAfterNotOk;
  return is_all_good == is_good_wanted ? DependencyState::kFulfilled : DependencyState::kFailed;
}

}  // namespace

PastEnd past_end_of(const JobView& job) {
  return {job.id, job.array_job, job.array_index, job.state == JobState::kCompleted};
}

std::vector<JobId> past_jobs(const ClusterState& state,
                             const std::vector<PreparedRequest>& requests) {
  std::vector<JobId> jobs;
  for (const PreparedRequest& request : requests) {
    const auto* submit = std::get_if<PreparedSubmit>(&request);
    if (submit == nullptr) continue;
    for (const DependencyTerm& term : submit->dependencies.terms) {
      const bool is_here =
          state.jobs().find(term.job) != nullptr || state.jobs().elements(term.job) != nullptr;
      if (is_outcome_wanted(term) && !is_here && term.job.value() != 0 &&
          term.job < state.next_job())
        jobs.push_back(term.job);
    }
  }
  std::ranges::sort(jobs);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

void decide_past_terms(std::vector<PreparedRequest>& requests, const std::vector<JobId>& jobs,
                       const std::vector<PastEnd>& ended) {
  for (PreparedRequest& request : requests) {
    auto* submit = std::get_if<PreparedSubmit>(&request);
    if (submit == nullptr) continue;
    for (DependencyTerm& term : submit->dependencies.terms) {
      const bool is_past = is_outcome_wanted(term) && std::ranges::binary_search(jobs, term.job);
      if (is_past) term.state = decide(term, ended);
    }
  }
}

}  // namespace muster
