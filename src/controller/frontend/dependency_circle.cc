#include "controller/frontend/dependency_circle.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::frontend {
namespace {

/// Walks from job to job along what each waits for.
class Walk {
 public:
  Walk(const ClusterState& state, const Job& start, const JobSpec& spec) : state_(state), start_(start), spec_(spec) {}

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
    while (!open_.empty()) {
      const JobId id = open_.back();
      open_.pop_back();
      if (id == start_.id) return true;
      const Job* job = state_.jobs().find(id);
      const bool waits = job != nullptr && job->is_pending() && !job->eligible_time.is_set() && job->dependencies != nullptr;
      if (waits) add_waits(*job, *job->dependencies);
    }
    return false;
  }

 private:
  using Name = std::pair<UserId, std::string>;

  void add(JobId job) {
    if (seen_.insert(job).second) open_.push_back(job);
  }
  void add_named(const DependencyTerm& term) {
    const Job* record = state_.jobs().find(term.job);
    const bool has_left = record != nullptr && record->array != nullptr && term.array_index &&
                          !record->array->remaining.indices.test(*term.array_index);
    if (!has_left) add(term.job);
    const auto* elements = state_.jobs().elements(term.job);
    if (elements == nullptr) return;
    for (const auto& [index, id] : *elements) {
      if (!term.array_index || index == *term.array_index) add(id);
    }
  }
  Name name_of(const Job& job) const {
    const JobSpec& spec = job.id == start_.id ? spec_ : *job.spec;
    return {spec.user, std::string(spec.name())};
  }
  void add_earlier_of_name(const Job& singleton) {
    const Name name = name_of(singleton);
    JobId& walked = walked_[name];
    const JobId from = walked;
    if (from >= singleton.id) return;
    walked = singleton.id;
    state_.jobs().for_each_from(from, [&](const Job& other) {
      if (other.id >= singleton.id) return false;
      const bool is_of_its_array = other.array_job.value() != 0 && other.array_job == singleton.array_job;
      if (!other.is_over() && !is_of_its_array && name_of(other) == name) add(other.id);
      return true;
    });
  }

  const ClusterState& state_;
  const Job& start_;
  const JobSpec& spec_;
  std::vector<JobId> open_;
  std::set<JobId> seen_;
  std::map<Name, JobId> walked_;  ///< of each name, the jobs before this one have been added
};

}  // namespace

bool closes_a_circle(const ClusterState& state, const Job& job, const DependencySet& dependencies, const JobSpec& spec) {
  Walk walk(state, job, spec);
  walk.add_waits(job, dependencies);
  return walk.comes_back();
}

}  // namespace muster::frontend
