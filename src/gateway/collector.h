// Collects what experiments that have ended need not keep: only those checkpoints stay that their
// retention says. Which those are depends on the metric store, so it is found out here and handed
// to the core, which begins the job that deletes the others.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <set>

#include "engine/command.h"
#include "platform/rules/retention.h"
#include "state/cluster_state.h"
#include "store/metrics/metric_questions.h"

namespace muster {

/// The checkpoints of an experiment that are whole and not being deleted, trial by trial, without
/// their metrics.
struct RatingTask {
  std::vector<RatedCheckpoint> checkpoints;
  std::vector<std::int64_t> steps;  ///< of each
  std::string metric;
  bool smaller_is_better = true;
};
RatingTask rating_task(const ClusterState& state, const Experiment& experiment);
/// Returns the questions to the metric store, one for each checkpoint.
std::vector<MetricQuestion> rating_questions(const RatingTask& task);
/// Fills in the metrics. Requires: the answers are those to rating_questions(task).
void fill_in_ratings(RatingTask& task, MetricAnswers& answers);

class Collector {
 public:
  using Measure = std::function<kj::Promise<Result<MetricAnswers>>(std::vector<MetricQuestion>)>;
  /// Sends a request to the core; the replies come once it has said what happened.
  using Submit = std::function<kj::Promise<std::vector<Reply>>(PreparedRequest)>;
  /// `detach`: runs a promise to its end. Lifetime: the state outlives it.
  using Detach = std::function<void(kj::Promise<void>)>;
  Collector(const ClusterState& state, kj::Timer& timer, Measure measure, Submit submit,
            Detach detach)
      : state_(state),
        timer_(timer),
        measure_(std::move(measure)),
        submit_(std::move(submit)),
        detach_(std::move(detach)) {}

  /// Looks at all experiments once, at the beginning.
  void begin();
  /// Called after the batch was applied.
  void on_batch(const EventBatch& batch);

 private:
  void consider(ExperimentId id);
  kj::Promise<void> collect(ExperimentId id);

  const ClusterState& state_;
  kj::Timer& timer_;
  Measure measure_;
  Submit submit_;
  Detach detach_;
  std::set<ExperimentId> in_flight_;
};

}  // namespace muster
