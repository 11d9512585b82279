// Days are counted from the end of the experiment, because its trials are compared until then.
#include "platform/rules/log_retention.h"

#include <algorithm>

#include "state/views.h"

namespace muster {
namespace {

constexpr Duration kDay = Duration::hours(24);

}  // namespace

std::vector<LogOwner> expired_logs(const ClusterState& state, TimePoint now) {
  std::vector<LogOwner> expired;
  for (const auto& [id, experiment] : state.experiments().experiments()) {
    if (!is_final(experiment.state)) continue;
    for (const TrialId trial : experiment.trials) {
      const std::int32_t days = log_retention_of(*state.experiments().find(trial), state);
      if (days >= 0 && now - experiment.end_time >= kDay * days)
        expired.push_back({LogOwnerKind::kTrial, trial.value()});
    }
  }
  // The same order in every run, whatever the table's.
  std::ranges::sort(expired);
  return expired;
}

std::int32_t remaining_log_days(const ClusterState& state, const Trial& trial, TimePoint now) {
  const std::int32_t days = log_retention_of(trial, state);
  const Experiment& experiment = *state.experiments().find(trial.experiment);
  if (days < 0 || !is_final(experiment.state)) return days;
  const std::int64_t passed = (now - experiment.end_time).microseconds() / kDay.microseconds();
  // A clock that went back makes `passed` negative: not more than all.
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(days - passed, 0, days));
}

}  // namespace muster
