// A look has two parts: which trials of elastic experiments could be resized at all (jobs), and for
// a few of them in turn what the planner thinks of it (sched/elastic.h).
#include "workload/planning/elastic_feed.h"

#include <algorithm>

#include "state/resource_need.h"
#include "state/trial_of_job.h"

namespace muster {
namespace {

/// One job of a trial that may be resized now; nothing: it is on its way from one state to another.
std::optional<sched::ElasticJob> elastic_job(const Trial& trial, const ExperimentSpec& spec,
                                             const ClusterState& state, SnapshotFeed& feed,
                                             TimePoint now) {
  const Job* job = trial.is_over() ? nullptr : state.jobs().find(trial.job);
  if (job == nullptr) return std::nullopt;
  sched::ElasticJob elastic;
  elastic.slots = slots_of(trial, spec);
  elastic.min = spec.min_slots_per_trial;
  elastic.max = spec.slots_per_trial;
  if (job->is_pending()) {
    // Held, or waiting for its time: it is not room that it lacks.
    if (standing_hold(*job) != PendingReason::kNone || job->eligible_time > now)
      return std::nullopt;
  } else {
    const bool runs = job->run != nullptr && job->state == JobState::kRunning && !job->run->stop;
    if (!runs || trial.is_waiting || trial.stop) return std::nullopt;
    elastic.is_running = true;
    // A resize costs a save and a start: none so soon after the last.
    elastic.is_steady = now - job->start_time >= state.settings().resize_interval;
  }
  elastic.job = feed.pending_job(*job, state);
  // As if it were free to start: what is asked is whether it would fit.
  elastic.job.hold = PendingReason::kNone;
  elastic.job.eligible_time = TimePoint::unset();
  return elastic;
}

bool shares_partition(const Job& a, const sched::ElasticJob& b) {
  return std::ranges::any_of(b.job.partitions, [&](PartitionIndex one) {
    return std::ranges::find(a.partitions, one) != a.partitions.end();
  });
}

}  // namespace

void ElasticFeed::load(const ClusterState& state) {
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (!is_final(experiment.state) && experiment.spec->is_elastic()) experiments_.insert(id);
  }
}

void ElasticFeed::record(const Event& event) {
  if (const auto* created = get_if<ExperimentCreated>(&event.body);
      created != nullptr && created->spec->is_elastic()) {
    experiments_.insert(created->experiment);
  }
  if (const auto* again = get_if<ExperimentContinued>(&event.body);
      again != nullptr && again->spec->is_elastic()) {
    experiments_.insert(again->experiment);
  }
}

std::vector<sched::ElasticJob> ElasticFeed::jobs(const ClusterState& state, SnapshotFeed& feed,
                                                 TimePoint now) {
  std::vector<sched::ElasticJob> found;
  std::vector<const Job*> stopping;
  // What is over is removed here, where all are looked at anyway.
  std::erase_if(experiments_, [&](ExperimentId id) {
    const Experiment* experiment = state.experiments().find(id);
    return experiment == nullptr || is_final(experiment->state);
  });
  for (const ExperimentId id : experiments_) {
    const Experiment& experiment = *state.experiments().find(id);
    if (experiment.state != ExperimentState::kActive) continue;
    for (const TrialId trial : experiment.trials) {
      const Trial& one = *state.experiments().find(trial);
      if (auto job = elastic_job(one, *experiment.spec, state, feed, now))
        found.push_back(std::move(*job));
      const Job* job = one.is_over() ? nullptr : state.jobs().find(one.job);
      if (job != nullptr && job->run != nullptr && job->run->stop) stopping.push_back(job);
    }
  }
  // What comes of one that is stopping is awaited before another is interrupted where it would run.
  for (const Job* job : stopping) {
    for (sched::ElasticJob& other : found)
      other.is_steady = other.is_steady && !shares_partition(*job, other);
  }
  return found;
}

std::optional<sched::Resize> ElasticFeed::look(const ClusterState& state, SnapshotFeed& feed,
                                               const sched::ClusterSnapshot& snapshot,
                                               const sched::Plan& plan, TimePoint now) {
  next_look_ = now + kEvery;
  // Without changes only trials that have run long enough meanwhile can matter: a look a quarter of
  // the interval is soon enough.
  next_idle_look_ = now + std::clamp(state.settings().resize_interval / 4, kEvery, kIdleEvery);
  std::vector<sched::ElasticJob> all = jobs(state, feed, now);
  const sched::RequestOf request_of =
      [&](JobId id, std::uint32_t slots) -> std::shared_ptr<const ResourceRequest> {
    const Job& job = *state.jobs().find(id);
    auto need = resource_need(with_slots(*job.spec, slots), state.partition(job.partitions[0]),
                              state.settings());
    return need.has_value() ? std::make_shared<const ResourceRequest>(std::move(need).value())
                            : nullptr;
  };
  // Those that wait come first: they interrupt nobody.
  std::stable_partition(all.begin(), all.end(),
                        [](const sched::ElasticJob& job) { return !job.is_running; });
  // A few at a time and in turns: each look plans what would happen.
  // Shifted by kLooks a turn, so that all have their look in size / kLooks turns.
  const std::size_t first = all.size() > kLooks ? (turn_++ * kLooks) % all.size() : 0;
  for (std::size_t i = 0; i < std::min(all.size(), kLooks); ++i) {
    const sched::ElasticJob& job = all[(first + i) % all.size()];
    if (auto resize = sched::resize_of(job, snapshot, plan, all, now, request_of)) return resize;
  }
  return std::nullopt;
}

}  // namespace muster
