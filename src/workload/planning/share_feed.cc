// All trials of a user are ranked together and anew whenever one of them changed; the planner sees
// ranks alone, as another submit time and id.
#include "workload/planning/share_feed.h"

#include <algorithm>

#include "base/check.h"
#include "sched/priority/share.h"

namespace muster {
namespace {

const Experiment& experiment_of(const ClusterState& state, const Job& job) {
  const Trial* trial = state.experiments().find(job.spec->trial);
  CHECK(trial != nullptr, "job {} waits for a trial that is gone", job.id.value());
  return *state.experiments().find(trial->experiment);
}

double slots_in_use(const ClusterState& state, const Experiment& experiment) {
  double slots = 0;
  for (const TrialId id : experiment.trials) {
    const Trial& trial = *state.experiments().find(id);
    const Job* job = state.jobs().find(trial.job);
    if (job != nullptr && job->holds_resources())
      slots += std::max(slots_of(trial, *experiment.spec), 1U);
  }
  return slots;
}

}  // namespace

void ShareFeed::record(const Job& job, bool is_waiting) {
  if (job.spec->trial.value() == 0) return;
  touched_.insert(job.spec->user);
  if (is_waiting) {
    waiting_[job.spec->user].insert(job.id);
    return;
  }
  positions_.erase(job.id);
  const auto found = waiting_.find(job.spec->user);
  if (found == waiting_.end()) return;
  found->second.erase(job.id);
  // Nobody of this user waits: his shares are of no interest until somebody does.
  if (found->second.empty()) waiting_.erase(found);
}

const ShareFeed::QueuePosition* ShareFeed::position_of(JobId job) const {
  const auto found = positions_.find(job);
  return found == positions_.end() ? nullptr : &found->second;
}

std::vector<JobId> ShareFeed::refresh(const ClusterState& state) {
  std::vector<JobId> changed;
  for (const UserId user : std::exchange(touched_, {})) {
    if (const auto found = waiting_.find(user); found != waiting_.end())
      refresh_user(state, found->second, changed);
  }
  return changed;
}

void ShareFeed::refresh_user(const ClusterState& state, const std::set<JobId>& waiting,
                             std::vector<JobId>& changed) {
  std::vector<sched::SharedJob> jobs;
  std::map<std::uint32_t, double> in_use;
  bool is_shared = false;
  for (const JobId id : waiting) {
    const Job& job = *state.jobs().find(id);
    const Experiment& experiment = experiment_of(state, job);
    const std::uint32_t group = experiment.id.value();
    // The default priority and weight: no share was asked for.
    is_shared = is_shared || experiment.share != ExperimentShare();
    if (!in_use.contains(group)) in_use[group] = slots_in_use(state, experiment);
    jobs.push_back(
        // A trial's own rank, which the shares permute among the user's jobs.
        {{job.priority, job.submit_time, id, id},
         group,
         experiment.share.priority,
         experiment.share.weight,
         static_cast<double>(std::max(
             slots_of(*state.experiments().find(job.spec->trial), *experiment.spec), 1U))});
  }
  // Nobody has asked for shares: the jobs keep their own ranks.
  if (!is_shared) {
    for (const JobId id : waiting) {
      if (positions_.erase(id) > 0) changed.push_back(id);
    }
    return;
  }
  for (const sched::Rank& rank : sched::share_positions(std::move(jobs), std::move(in_use))) {
    QueuePosition& place = positions_[rank.job];
    const QueuePosition fresh{rank.submit_time, rank.place};
    if (place == fresh) continue;
    place = fresh;
    changed.push_back(rank.job);
  }
}

}  // namespace muster
