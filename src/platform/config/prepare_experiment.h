// The part of making an experiment that needs no state: its file is read, checked and turned into a
// specification.
#pragma once

#include <string>
#include <vector>

#include "admission/caller.h"
#include "base/result.h"
#include "engine/command.h"
#include "model/experiment_config.h"
#include "state/cluster_state.h"
#include "text/yaml_text.h"

namespace muster {

struct CheckedExperiment {
  Json merged;                        ///< over the defaults, as a new experiment would have it
  std::vector<std::string> warnings;  ///< what is allowed and hardly meant, a line each
};
/// Checks a configuration. `lines`: where the user's own part of it stands, for messages. Errors:
/// as a creation's.
Result<CheckedExperiment> check_experiment(const Json& config, const LineMap& lines);
/// Checks a configuration that is a text. Errors: also what is no YAML.
Result<CheckedExperiment> check_experiment(std::string_view config);

/// Prepares a creation. Errors: kInvalidArgument; `detail` has all that is wrong, a line each.
Result<PreparedExperiment> prepare_experiment(CreateExperiment create, const Identity& identity,
                                              const CallerNames& names, LastBlob& environments);

/// Puts overrides over an ended experiment's configuration. Errors: kNotFound; kInvalidArgument, as
/// of a creation or for what continuing cannot change.
Result<PreparedRequest> prepare_continuation(const ContinueExperiment& asked,
                                             const ClusterState& state);

/// Checks what another cluster's experiment will be here. Errors: kInvalidArgument.
Status check_import(const ImportedExperiment& experiment);
/// Checks operations. Errors: kInvalidArgument: more than are accepted at once, or hyperparameters
/// that are no JSON object.
Status check_operations(const OperationsInput& input);

/// Returns the configuration that a specification holds. Requires: it was checked.
Result<ExperimentConfig> config_of(const ExperimentSpec& spec);

}  // namespace muster
