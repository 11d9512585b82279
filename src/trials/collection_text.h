// Makes the script of a job that deletes checkpoints and experiments. Pure.
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
/// Returns a script that deletes what is there of it, each whatever becomes of the others; it fails
/// when something stays. A folder that is half deleted has another name, so that nobody mistakes it
/// for whole. What lies in S3 is deleted by the Python package, which the job's environment must
/// have.
std::string collection_script(const ExperimentSpec& spec, const Doomed& doomed);

/// Adds a checkpoint, wherever its files may lie: in the experiment's storage, and in its trial's
/// folder.
void add_checkpoint(Doomed& doomed, const ExperimentSpec& spec, TrialId trial,
                    const std::string& uuid);

/// True for letters, digits and hyphens alone: such a name is no path.
bool is_checkpoint_name(std::string_view uuid);

}  // namespace muster
