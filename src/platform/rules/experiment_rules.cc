// Two questions to each event: what is its search told, and may its experiment be over now. Only
// while the experiment is searching is anybody there to be told.
#include "platform/rules/experiment_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace muster {
namespace {

struct Concerned {
  const ClusterState& state;
  template <class Body>
  std::optional<ExperimentId> operator()(const Body&) const {
    return std::nullopt;
  }
  std::optional<ExperimentId> operator()(const ExperimentChanged& event) const {
    return event.experiment;
  }
  std::optional<ExperimentId> operator()(const SearchDecided& event) const {
    return event.experiment;
  }
  std::optional<ExperimentId> operator()(const TrialEnded& event) const {
    // The last trial's end may be the experiment's.
    return state.experiments().find(event.trial)->experiment;
  }
};

struct Told {
  const ClusterState& state;
  template <class Body>
  SearchAsked operator()(const Body&) const {
    return {};
  }
  SearchAsked operator()(const ExperimentCreated& event) const {
    return {event.experiment, {SearchBegun{}}};
  }
  SearchAsked operator()(const ExperimentChanged& event) const {
    // Of all that may change only the limit concerns the search.
    if (!event.max_concurrent) return {};
    return {event.experiment, {LimitInput{*event.max_concurrent}}};
  }
  SearchAsked operator()(const ExperimentContinued& event) const {
    const auto inputs = continued_inputs(event);
    return {event.experiment, {inputs.begin(), inputs.end()}};
  }
  SearchAsked operator()(const SearchOperated& event) const {
    return {event.experiment, {event.input}};
  }
  SearchAsked operator()(const TrialReported& event) const {
    const Trial& trial = *state.experiments().find(event.trial);
    if (!event.is_input) return {};
    // Only what the search waits for: other reports are for people.
    return {trial.experiment, {ReportInput{trial.index, event.report}}};
  }
  SearchAsked operator()(const TrialEnded& event) const {
    const Trial& trial = *state.experiments().find(event.trial);
    return {trial.experiment, {ExitInput{trial.index, event.exit, trial.metric}}};
  }
};

}  // namespace

std::optional<ExperimentId> experiment_of(const EventBody& event, const ClusterState& state) {
  return visit(Concerned{state}, event);
}

std::string unheard_metric_text(const Experiment& experiment, const ClusterState& state) {
  const auto is_heard = [&](TrialId id) {
    return state.experiments().find(id)->metric.has_value();
  };
  if (!experiment.detail.empty() || experiment.trials.empty() ||
      std::ranges::any_of(experiment.trials, is_heard))
    return "";
  const std::string& metric = experiment.spec->metric;
  return fmt::format(
      "no trial ever reported {0}, its searcher.metric; what a script prints counts where a line "
      "has the step and {0} "
      "under these very names, as in step=100 {0}=0.5",
      metric);
}

std::optional<SearchAsked> search_asked_by(const EventBody& event, const ClusterState& state) {
  SearchAsked asked = visit(Told{state}, event);
  if (asked.inputs.empty()) return std::nullopt;
  const Experiment& experiment = *state.experiments().find(asked.experiment);
  if (!is_searching(experiment.state)) return std::nullopt;
  return asked;
}

}  // namespace muster
