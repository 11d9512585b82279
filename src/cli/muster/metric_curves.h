// The course of the metric that trials are ranked by, drawn into a column of a table. For eyes:
// where standard output is no terminal there is none, and tables have the columns that scripts
// know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/lib/session.h"
#include "model/json.h"
#include "model/view.h"

namespace muster::cli {

/// By trial; what has fewer than two points has none.
using MetricCurves = std::map<TrialId, std::string>;

/// Of the first of these trials, for no terminal shows more. Empty: no terminal, HTTP is not
/// served, or it could not be asked, for a table without curves is better than none.
MetricCurves metric_curves(Session& session, const std::vector<TrialView>& trials,
                           const std::string& metric);

/// Those of an answer to trials/time-series.
MetricCurves curves_of(const Json& series);

}  // namespace muster::cli
