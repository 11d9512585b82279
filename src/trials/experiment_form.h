// Reads a whole experiment file: every field of Determined 0.38's, each honoured or refused by
// name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/experiment.h"
#include "model/experiment_config.h"
#include "trials/form_reader.h"

namespace muster {

/// Reads the merged configuration (config_layers.h). `lines`: where the user's own layer stands,
/// for messages. Everything that is wrong is in `problems`; the configuration is then of no use.
struct ExperimentForm {
  ExperimentConfig config;
  std::vector<FormProblem> problems;
  std::vector<FormProblem> warnings;  ///< what is allowed and hardly meant
};
/// Reads a configuration. `is_stored`: it was accepted before, perhaps by a version with other
/// bounds on sizes.
ExperimentForm read_experiment(const Json& merged, const LineMap& lines, bool is_stored = false);

/// Checks the size of a configuration, because it is read where everybody waits. Errors:
/// kInvalidArgument: it is larger than one is ever read.
Status check_config_size(std::string_view config);

/// Returns how many trials may train at once with so many slots: not more than the search was
/// configured for, and at least one.
std::uint32_t trials_at_once(std::int64_t slots, const ExperimentSpec& spec);

}  // namespace muster
