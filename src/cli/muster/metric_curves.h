// Draws the course of the metric by which trials are ranked into a column of a table. It is for
// eyes: where standard output is no terminal there is none, and tables have the columns that
// scripts know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/lib/session.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::cli {

/// The curves by trial; what has fewer than two points has none.
using MetricCurves = std::map<TrialId, std::string>;

/// Returns the curves of the first of these trials, for no terminal shows more. Empty: no terminal,
/// HTTP is not served, or it could not be asked: a table without curves is better than none.
MetricCurves metric_curves(Session& session, const std::vector<TrialView>& trials,
                           const std::string& metric);

/// Returns the curves of an answer to trials/time-series.
MetricCurves curves_of(const Json& series);

}  // namespace muster::cli
