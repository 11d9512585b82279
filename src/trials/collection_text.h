// The script of a job that deletes checkpoints and experiments. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/experiment.h"

namespace muster {

/// What is to be deleted. `folders`: absolute paths.
struct Doomed {
  std::vector<std::string> folders;
  std::vector<std::string> uuids;  ///< of checkpoints in S3
};
/// Deletes what is there of it, each whatever becomes of the others; fails when something stays. A
/// folder that is half gone has another name, so that nobody takes it for whole. What lies in S3 is
/// deleted by the Python package, which the job's environment must have.
std::string collection_script(const ExperimentSpec& spec, const Doomed& doomed);

/// Adds a checkpoint, wherever its files may lie: in the experiment's storage, and in its trial's
/// folder.
void add_checkpoint(Doomed& doomed, const ExperimentSpec& spec, TrialId trial,
                    const std::string& uuid);

/// Letters, digits and hyphens alone: no path.
bool is_checkpoint_name(std::string_view uuid);

}  // namespace muster
