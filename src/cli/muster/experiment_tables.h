// How experiments and trials look in a terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/lib/local_zone.h"
#include "cli/muster/metric_curves.h"
#include "model/view.h"

namespace muster::cli {

std::string experiment_table(const std::vector<ExperimentView>& experiments,
                             const ShowContext& context);
/// One experiment, a line for each thing to know of it.
std::string experiment_text(const ExperimentView& experiment, const ShowContext& context);
/// With a column of curves where there are any.
std::string trial_table(const std::vector<TrialView>& trials, const MetricCurves& curves = {});
/// How trials are listed. `top`: so many; 0: all.
enum class TrialOrder { kId, kMetric, kUnits };
/// By metric the best first, by units the furthest; those without one last, equal ones by id.
std::vector<TrialView> ordered_trials(std::vector<TrialView> trials, TrialOrder order,
                                      bool smaller_is_better, std::size_t top);
/// All that is known of one trial.
std::string trial_text(const TrialView& trial, const ShowContext& context,
                       const MetricCurves& curves = {});
/// How far it is, in one line.
std::string progress_line(const ExperimentView& experiment);
/// What a trial is doing, or how it ended: "RUNNING", "QUEUED", "WAITING", "STOPPING", "COMPLETED",
/// ...
std::string trial_condition(const TrialView& trial);

}  // namespace muster::cli
