// The core may not wait for history. So what a dependency's job came to is looked up here, before
// the command is sent, and travels with it as terms that are decided.
#include "gateway/past_dependencies.h"

#include <algorithm>
#include <variant>

#include "slurm/dependency_text.h"
#include "text/words.h"

namespace muster {
namespace {

// after and afterany need no outcome: gone means over.
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
    // In memory still, or again: the core decides.
    if (!end.is_over) return DependencyState::kUnfulfilled;
    ++count;
    completed += end.is_completed ? 1 : 0;
  }
  const bool is_all_good = completed == count;
  // Of an array of which some failed each element has an answer of its own: the term stays
  // undecided.
  if (count == 0 || (term.kind == DependencyKind::kAfterCorr && !is_all_good))
    return DependencyState::kUnfulfilled;
  const bool is_good_wanted = term.kind != DependencyKind::kAfterNotOk;
  return is_all_good == is_good_wanted ? DependencyState::kFulfilled : DependencyState::kFailed;
}

/// Whether the job is in memory, and will be when the core sees what depends on it: an array's
/// record as long as one of its elements. `now`: no earlier than the last event.
bool stays(const ClusterState& state, JobId id, TimePoint now) {
  // Time for the command to reach the core: a job near its eviction is asked about as if it were
  // gone.
  constexpr Duration kOnTheWay = Duration::minutes(1);
  const Job* job = state.jobs().find(id);
  const auto* elements = state.jobs().elements(id);
  const bool has_others =
      elements != nullptr && (elements->size() > 1 || elements->begin()->second != id);
  if (has_others) return true;
  if (job == nullptr) return false;
  return !job->is_over() || job->end_time + state.settings().min_job_age > now + kOnTheWay;
}

/// On whom a job is to depend. None of what cannot be understood: the core refuses that.
std::vector<DependencyTerm> terms_of(const PreparedRequest& request) {
  if (const auto* submit = get_if<PreparedSubmit>(&request)) return submit->dependencies.terms;
  const auto* update = get_if<PreparedUpdate>(&request);
  if (update == nullptr || update->kind != UpdateKind::kJob) return {};
  std::vector<DependencyTerm> terms;
  for (const auto& [name, value] : update->values) {
    if (lower(name) != "dependency" || value.empty()) continue;
    auto parsed = parse_dependency(value);
    if (parsed.has_value()) terms.insert(terms.end(), parsed->terms.begin(), parsed->terms.end());
  }
  return terms;
}

}  // namespace

PastEnd past_end_of(const JobView& job) {
  return {job.id, job.array_job, job.array_index, job.state == JobState::kCompleted,
          is_finished(job.state)};
}

std::vector<JobId> past_jobs(const ClusterState& state, TimePoint now,
                             const std::vector<PreparedRequest>& requests) {
  std::vector<JobId> jobs;
  for (const PreparedRequest& request : requests) {
    for (const DependencyTerm& term : terms_of(request)) {
      if (is_outcome_wanted(term) && !stays(state, term.job, now) && term.job.value() != 0 &&
          // Numbers that were never given are the core's to refuse.
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
    std::vector<DependencyTerm> terms = terms_of(request);
    for (DependencyTerm& term : terms) {
      const bool is_past = is_outcome_wanted(term) && std::ranges::binary_search(jobs, term.job);
      if (is_past) term.state = decide(term, ended);
    }
    if (auto* submit = get_if<PreparedSubmit>(&request)) {
      submit->dependencies.terms = std::move(terms);
    } else if (auto* update = get_if<PreparedUpdate>(&request)) {
      // An update's terms are in a text: those that were decided go beside it.
      std::erase_if(terms, [](const DependencyTerm& term) {
        return term.state == DependencyState::kUnfulfilled;
      });
      update->past = std::move(terms);
    }
  }
}

}  // namespace muster
