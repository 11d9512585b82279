// Shows experiments and trials in a terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/lib/local_zone.h"
#include "cli/muster/metric_curves.h"
#include "model/view.h"

namespace muster::cli {

std::string experiment_table(const std::vector<ExperimentView>& experiments,
                             const ShowContext& context);
/// Returns the text of one experiment, a line for each thing to know of it.
std::string experiment_text(const ExperimentView& experiment, const ShowContext& context);
/// Returns a table of trials, with a column of curves where there are any.
std::string trial_table(const std::vector<TrialView>& trials, const MetricCurves& curves = {});
/// The order in which trials are listed.
enum class TrialOrder { kId, kMetric, kUnits };
/// Returns the trials in order: by metric the best first, by units the furthest; those without one
/// last, equal ones by id. `top`: so many of them; 0: all.
std::vector<TrialView> ordered_trials(std::vector<TrialView> trials, TrialOrder order,
                                      bool smaller_is_better, std::size_t top);
/// Returns all that is known of one trial.
std::string trial_text(const TrialView& trial, const ShowContext& context,
                       const MetricCurves& curves = {});
/// Returns how far it is, in one line.
std::string progress_line(const ExperimentView& experiment);
/// Returns what a trial is doing, or how it ended: "RUNNING", "QUEUED", "WAITING", "STOPPING",
/// "COMPLETED", ...
std::string trial_condition(const TrialView& trial);

}  // namespace muster::cli
