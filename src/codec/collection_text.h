// The script of a job that deletes checkpoints and experiments. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/experiment.h"

namespace muster {

/// Deletes what is there of `folders`, the rest whatever one of them says; fails when something stays. A folder that is half gone has
/// another name, so that nobody takes it for whole. Requires: absolute paths.
std::string collection_script(const std::vector<std::string>& folders);

/// Where a checkpoint's files may lie: in the experiment's storage, or in its trial's folder.
std::vector<std::string> checkpoint_folders(const ExperimentSpec& spec, TrialId trial, const std::string& uuid);

/// Letters, digits and hyphens alone: no path.
bool is_checkpoint_name(std::string_view uuid);

}  // namespace muster
