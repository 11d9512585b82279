#include "gateway/collector.h"

#include <memory>

namespace muster {
namespace {

/// A store or a queue that refuses is asked again after so long.
constexpr kj::Duration kRetry = 30 * kj::SECONDS;

bool is_due(const Experiment* experiment) {
  return experiment != nullptr && is_final(experiment->state) &&
         experiment->state < ExperimentState::kDeleting && !experiment->is_collected;
}

/// The experiment that an event may have ended, or whose retention it may have changed.
struct Touched {
  template <class Body>
  ExperimentId operator()(const Body&) const {
    return ExperimentId();
  }
  ExperimentId operator()(const ExperimentChanged& event) const { return event.experiment; }
  ExperimentId operator()(const ExperimentEnded& event) const { return event.experiment; }
};

}  // namespace

// Checkpoints in the order of trials, and of each in that of their completion, as unretained wants
// them.
RatingTask rating_task(const ClusterState& state, const Experiment& experiment) {
  RatingTask task;
  task.metric = experiment.spec->metric;
  task.smaller_is_better = experiment.spec->smaller_is_better;
  for (const TrialId trial : experiment.trials) {
    for (const CheckpointRef& one : state.checkpoints().of(trial)) {
      if (one->state != CheckpointState::kCompleted || state.checkpoints().is_going(one->uuid))
        continue;
      task.checkpoints.push_back({one->uuid, trial, std::nullopt});
      task.steps.push_back(static_cast<std::int64_t>(one->steps_completed));
    }
  }
  return task;
}

std::vector<MetricQuestion> rating_questions(const RatingTask& task) {
  std::vector<MetricQuestion> questions;
  for (std::size_t i = 0; i < task.checkpoints.size(); ++i) {
    questions.emplace_back(
        MetricAtQuestion{task.checkpoints[i].trial, "validation", task.steps[i], task.metric});
  }
  return questions;
}

void fill_in_ratings(RatingTask& task, MetricAnswers& answers) {
  for (RatedCheckpoint& one : task.checkpoints) one.metric = answers.next<MetricAtQuestion>();
}

void Collector::begin() {
  for (const auto& [id, experiment] : state_.experiments().experiments()) consider(id);
}

void Collector::on_batch(const EventBatch& batch) {
  for (const Event& event : batch.events) {
    if (const ExperimentId id = visit(Touched{}, event.body); id.value() != 0) consider(id);
  }
}

void Collector::consider(ExperimentId id) {
  // One at a time for an experiment: the answer decides whether another is needed.
  if (!is_due(state_.experiments().find(id)) || !in_flight_.insert(id).second) return;
  detach_(collect(id));
}

kj::Promise<void> Collector::collect(ExperimentId id) {
  const Experiment& experiment = *state_.experiments().find(id);
  RatingTask task = rating_task(state_, experiment);
  auto rated = measure_(rating_questions(task));
  return rated
      // The retention that was decided by goes along: the core refuses when it has changed.
      .then([this, id, task = std::move(task), retention = experiment.retention](
                Result<MetricAnswers> answers) mutable -> kj::Promise<bool> {
        if (!answers.has_value()) return false;
        fill_in_ratings(task, *answers);
        return submit_(CollectCheckpoints{
                           id, retention,
                           unretained(task.checkpoints, retention, task.smaller_is_better)})
            .then([](std::vector<Reply> replies) {
              return !replies.empty() && !replies.front().error;
            });
      })
      .then([this, id](bool is_done) -> kj::Promise<void> {
        // Out of flight before it is considered again.
        in_flight_.erase(id);
        // Its retention may have changed meanwhile; what could not be done is tried again.
        if (!is_due(state_.experiments().find(id))) return kj::READY_NOW;
        return timer_.afterDelay(is_done ? 0 * kj::SECONDS : kRetry).then([this, id] {
          consider(id);
        });
      });
}

}  // namespace muster
