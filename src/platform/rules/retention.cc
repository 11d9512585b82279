// Ranks are of whole checkpoints with a metric; the latest of each trial are kept beside them.
#include "platform/rules/retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "text/json_reader.h"

namespace muster {
namespace {

/// Less is better.
double badness(const RatedCheckpoint& one, bool smaller_is_better) {
  // A NaN is in no order with other numbers, and sorting needs one: it counts as the worst.
  if (std::isnan(*one.metric)) return std::numeric_limits<double>::infinity();
  return smaller_is_better ? *one.metric : -*one.metric;
}

}  // namespace

std::vector<std::string> unretained(std::span<const RatedCheckpoint> checkpoints,
                                    const CheckpointRetention& retention, bool smaller_is_better) {
  std::vector<std::size_t> ranked;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    if (checkpoints[i].metric) ranked.push_back(i);
  }
  // Stable: of equal metrics the earlier in the list ranks first.
  std::ranges::stable_sort(
      ranked, {}, [&](std::size_t i) { return badness(checkpoints[i], smaller_is_better); });
  std::vector<bool> is_kept(checkpoints.size(), false);
  std::map<TrialId, std::uint32_t> of_trial;
  for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
    const std::size_t i = ranked[rank];
    const std::uint32_t trial_rank = of_trial[checkpoints[i].trial]++;
    // Counted among all of its trial, kept or not.
    is_kept[i] = rank < retention.experiment_best || trial_rank < retention.trial_best;
  }
  of_trial.clear();
  // From the back: they stand in the order in which they became whole.
  for (std::size_t i = checkpoints.size(); i-- > 0;) {
    if (of_trial[checkpoints[i].trial]++ < retention.trial_latest) is_kept[i] = true;
  }
  std::vector<std::string> gone;
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    if (!is_kept[i]) gone.push_back(checkpoints[i].uuid);
  }
  return gone;
}

std::vector<CheckpointRef> broken_off(const CheckpointTable& known, const Collection& collection,
                                      const Job& job) {
  std::vector<CheckpointRef> all;
  if (!job.start_time.is_set() && job.attempt == 0) return all;
  for (const std::string& uuid : collection.uuids) {
    Checkpoint one = *known.find(uuid);
    if (one.state == CheckpointState::kActive) continue;  // it never was whole
    // An error without size or files: `collect` takes it up again.
    one.state = CheckpointState::kError;
    one.size = 0;
    one.resources = "{}";
    all.push_back(std::make_shared<const Checkpoint>(std::move(one)));
  }
  return all;
}

ExperimentChanged deletion_failed(const Collection& collection, const Job& job) {
  ExperimentChanged change;
  change.experiment = collection.experiment;
  if (collection.is_whole) change.state = ExperimentState::kDeleteFailed;
  const std::string cause = job.detail == nullptr || job.detail->empty() ? "" : ", " + *job.detail;
  change.detail = fmt::format(
      "job {} could not delete its files: {}{}{}", job.id.value(), job_state_name(job.state), cause,
      job.start_time.is_set() ? fmt::format("; see {}", job.spec->get(JobText::kStdOut)) : "");
  return change;
}

std::optional<CheckpointRetention> unrecorded_retention(const Experiment& experiment) {
  // A value that is not the default was recorded, or set by its owner since.
  if (experiment.spec->retention != CheckpointRetention() ||
      experiment.retention != CheckpointRetention())
    return std::nullopt;
  const auto config = parse_json(experiment.spec->config);
  const Json* storage = config.has_value() && config->object() != nullptr
                            ? config->find("checkpoint_storage")
                            : nullptr;
  // What an old configuration says by other types is ignored.
  if (storage == nullptr || storage->object() == nullptr) return std::nullopt;
  const auto count_of = [&](const char* name, std::uint32_t otherwise) {
    const Json* count = storage->find(name);
    return count == nullptr || count->whole() == nullptr || *count->whole() < 0
               ? otherwise
               : static_cast<std::uint32_t>(*count->whole());
  };
  CheckpointRetention said;
  said.experiment_best = count_of("save_experiment_best", said.experiment_best);
  said.trial_best = count_of("save_trial_best", said.trial_best);
  said.trial_latest = count_of("save_trial_latest", said.trial_latest);
  return said == CheckpointRetention() ? std::nullopt : std::optional(said);
}

}  // namespace muster
