// A walk over the graph "waits for", from the job as it would be. Terms that are decided and jobs
// that are eligible wait for nothing and end their branch.
#include "workload/dependencies/dependency_circle.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "workload/dependencies/singleton_index.h"

namespace muster::requests {
namespace {

/// Walks from job to job along what each waits for.
class Walk {
 public:
  Walk(const ClusterState& state, const Job& start, std::optional<std::uint32_t> element,
       const JobSpec& spec)
      : state_(state), start_(start), element_(element), spec_(spec) {}

  void add_waits(const Job& job, const DependencySet& dependencies) {
    for (const DependencyTerm& term : dependencies.terms) {
      if (term.state != DependencyState::kUnfulfilled) continue;
      if (term.kind == DependencyKind::kSingleton) {
        add_earlier_of_name(job);
      } else {
        add_named(term);
      }
    }
  }

  bool comes_back() {
    while (!open_.empty() && !is_back_) {
      const JobId id = open_.back();
      open_.pop_back();
      if (id == start_.id && !element_) return true;
      const Job* job = state_.jobs().find(id);
      // Has it begun, or are its dependencies over, then it cannot be kept back any more.
      const bool waits = job != nullptr && job->is_pending() && !job->eligible_time.is_set() &&
                         job->dependencies != nullptr;
      if (waits) add_waits(*job, *job->dependencies);
    }
    return is_back_;
  }

 private:
  using Name = std::pair<UserId, std::string>;

  void add(JobId job) {
    if (seen_.insert(job).second) open_.push_back(job);
  }
  // Where one element is about to split off, the walk is back at a term that names it, alone or
  // with its whole array: the record under the same id is another job by then.
  void add_named(const DependencyTerm& term) {
    if (element_ && term.job == start_.id && (!term.array_index || *term.array_index == *element_))
      is_back_ = true;
    const Job* record = state_.jobs().find(term.job);
    const bool has_left = record != nullptr && record->array != nullptr && term.array_index &&
                          !record->array->remaining.indices.test(*term.array_index);
    // An element that has left the record is met under its own id below.
    if (!has_left) add(term.job);
    const auto* elements = state_.jobs().elements(term.job);
    if (elements == nullptr) return;
    for (const auto& [index, id] : *elements) {
      if (!term.array_index || index == *term.array_index) add(id);
    }
  }
  Name name_of(const Job& job) const {
    // The start is met with the name that it would have, all others with theirs.
    const JobSpec& spec = job.id == start_.id ? spec_ : *job.spec;
    return {spec.user, std::string(spec.name())};
  }
  void add_earlier_of_name(const Job& singleton) {
    const Name name = name_of(singleton);
    const JobId own = singleton_order(singleton);
    // Two singletons of one name share a prefix of the earlier jobs: of each name every job is
    // added once, however many of its singletons are met.
    JobId& walked = walked_[name];
    if (walked >= own) return;
    const JobId from = std::exchange(walked, own);
    state_.jobs().for_each([&](const Job& other) {
      const JobId order = singleton_order(other);
      if (order >= from && order < own && !other.is_over() && name_of(other) == name) add(other.id);
    });
  }

  const ClusterState& state_;
  const Job& start_;
  std::optional<std::uint32_t> element_;
  const JobSpec& spec_;
  bool is_back_ = false;
  std::vector<JobId> open_;
  std::set<JobId> seen_;
  std::map<Name, JobId>
      walked_;  ///< of each name, the jobs that come before this one have been added
};

}  // namespace

bool closes_a_circle(const ClusterState& state, const Job& job,
                     std::optional<std::uint32_t> element, const DependencySet& dependencies,
                     const JobSpec& spec) {
  Walk walk(state, job, element, spec);
  walk.add_waits(job, dependencies);
  return walk.comes_back();
}

}  // namespace muster::requests
