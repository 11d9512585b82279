// Jobs under one name form a queue by singleton_order; those at its front may be singletons that
// can go. A name is followed from the first singleton that waits under it, until no unfinished job
// has it.
#include "workload/dependencies/singleton_index.h"

#include <algorithm>

namespace muster {
namespace {

bool is_waiting_singleton(const Job& job) {
  return job.is_pending() && !job.eligible_time.is_set() && job.dependencies != nullptr &&
         std::ranges::find(job.dependencies->terms, DependencyKind::kSingleton,
                           &DependencyTerm::kind) != job.dependencies->terms.end();
}

}  // namespace

/// Those that wait among the first job, or all of its array: the rest wait for these.
std::vector<JobId> SingletonIndex::front_of(const Unfinished& jobs, const ClusterState& state) {
  std::vector<JobId> front;
  for (const auto& [order, id] : jobs) {
    if (order != jobs.begin()->first) break;
    if (is_waiting_singleton(*state.jobs().find(id))) front.push_back(id);
  }
  return front;
}

SingletonIndex::Name SingletonIndex::name_of(const Job& job) {
  return {job.spec->user, std::string(job.spec->name())};
}

void SingletonIndex::follow(const Job& job, Names::iterator name) {
  name->second.insert({singleton_order(job), job.id});
  followed_[job.id] = name;
}

std::vector<JobId> SingletonIndex::leave(const Job& job, const ClusterState& state) {
  const auto place = followed_.find(job.id);
  if (place == followed_.end()) return {};
  const Names::iterator name = place->second;
  followed_.erase(place);
  name->second.erase({singleton_order(job), job.id});
  std::vector<JobId> next = front_of(name->second, state);
  if (name->second.empty()) unfinished_.erase(name);
  return next;
}

void SingletonIndex::load(const ClusterState& state) {
  state.jobs().for_each([&](const Job& job) {
    // Two passes: the names first, then all jobs under them, whether they wait as singletons or
    // not.
    // Only names that a singleton waits under are followed: most jobs have none of these.
    if (is_waiting_singleton(job)) unfinished_.try_emplace(name_of(job));
  });
  if (unfinished_.empty()) return;
  state.jobs().for_each([&](const Job& job) {
    const auto name = job.is_over() ? unfinished_.end() : unfinished_.find(name_of(job));
    if (name != unfinished_.end()) follow(job, name);
  });
}

std::vector<JobId> SingletonIndex::on_change(const Job& job, const ClusterState& state) {
  const bool is_waiting = is_waiting_singleton(job);
  if (unfinished_.empty() && !is_waiting) return {};
  const Name name = name_of(job);
  std::vector<JobId> affected;
  const auto place = followed_.find(job.id);
  // Renamed by an update: it leaves its old name, where others may have waited for it.
  if (place != followed_.end() && place->second->first != name) affected = leave(job, state);
  if (job.is_over()) return affected;
  if (const auto known = unfinished_.find(name); known != unfinished_.end()) {
    follow(job, known);
  } else if (is_waiting) {
    // The first singleton under this name: who else has it is found once, by a look at all jobs.
    const auto added = unfinished_.try_emplace(name).first;
    state.jobs().for_each([&](const Job& other) {
      if (!other.is_over() && name_of(other) == name) follow(other, added);
    });
  }
  if (is_waiting) affected.push_back(job.id);
  return affected;
}

std::vector<JobId> SingletonIndex::on_run(const Job& job, const ClusterState& state) {
  if (job.is_over()) return leave(job, state);
  const auto place = followed_.find(job.id);
  return place == followed_.end() ? std::vector<JobId>() : front_of(place->second->second, state);
}

bool SingletonIndex::is_first(const Job& job, const ClusterState& state) const {
  const auto name = unfinished_.find(name_of(job));
  if (name == unfinished_.end()) return true;
  const JobId own = singleton_order(job);
  // An element of the own array has the own order and does not count; a later job counts while it
  // runs, because of one name one job runs at a time.
  return std::ranges::none_of(name->second, [&](const auto& other) {
    return other.first != own &&
           (other.first < own || state.jobs().find(other.second)->holds_resources());
  });
}

}  // namespace muster
