// Reads the body of PATCH /api/v1/experiments/{experiment}. Pure.
#pragma once

#include "base/result.h"
#include "model/experiment.h"
#include "model/json.h"
#include "model/request.h"

namespace muster::api {

/// The experiment as it is.
struct PatchedExperiment {
  const ExperimentLabels& labels;
  const ExperimentSpec& spec;
  const CheckpointRetention& retention;
};

/// Returns the change. What the body leaves out, or has null for, stays as it is. Errors:
/// kInvalidArgument for a field that is there and not what it should be.
Result<UpdateExperiment> experiment_update(const Json& body, ExperimentId id,
                                           const PatchedExperiment& known);

}  // namespace muster::api
