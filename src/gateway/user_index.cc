// Built at the first question for a user, and followed from then on.
#include "gateway/user_index.h"

#include <algorithm>

namespace muster {

void UserIndex::add(const Job& job) {
  jobs_[job.spec->user].push_back(job.id);
  ++listed_;
}

void UserIndex::build(const ClusterState& state) {
  jobs_.clear();
  listed_ = gone_ = 0;
  state.jobs().for_each([this](const Job& job) { add(job); });
  is_built_ = true;
}

void UserIndex::on_event(const Event& event, const ClusterState& state) {
  if (!is_built_) return;
  const auto added = [&](JobId id) {
    if (const Job* job = state.jobs().find(id)) add(*job);
  };
  if (const auto* submitted = get_if<JobSubmitted>(&event.body)) {
    added(submitted->job);
  } else if (const auto* split = get_if<ArraySplit>(&event.body)) {
    added(split->element);
  } else if (const auto* evicted = get_if<JobsEvicted>(&event.body)) {
    // Jobs that are gone are passed over: to take each out of its list would cost more than to
    // build all anew now and then.
    gone_ += evicted->jobs.size();
    if (gone_ > kGoneMin && gone_ > listed_ / 2) build(state);
  }
}

std::vector<const Job*> UserIndex::jobs_of(const std::vector<std::uint32_t>& uids, JobId first,
                                           std::size_t count_max, const ClusterState& state) {
  if (!is_built_) build(state);
  std::vector<const Job*> found;
  std::vector<std::uint32_t> users = uids;
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  for (const std::uint32_t uid : users) {
    const auto jobs = jobs_.find(UserId(uid));
    if (jobs == jobs_.end()) continue;
    std::size_t count = 0;
    // A user's ids rise, because they are appended as they are given.
    for (auto id = std::ranges::lower_bound(jobs->second, first);
         id != jobs->second.end() && count < count_max; ++id) {
      const Job* job = state.jobs().find(*id);
      if (job == nullptr) continue;
      found.push_back(job);
      ++count;
    }
  }
  // Lists of several users are merged by id, as the list's order wants.
  if (users.size() > 1) std::ranges::sort(found, {}, [](const Job* job) { return job->id; });
  if (found.size() > count_max) found.resize(count_max);
  return found;
}

}  // namespace muster
