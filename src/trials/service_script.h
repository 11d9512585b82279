// Makes the batch script of a job that serves: a line for the shell, and behind it the Python
// package that it runs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "model/json.h"
#include "trials/service_text.h"

namespace muster {

namespace detail {
/// A zip file that python3 runs, made from python/ when we are built.
extern const unsigned char kServiceArchive[];
extern const std::size_t kServiceArchiveSize;
}  // namespace detail

/// Returns the script, which is the same for all services: a job's variable MUSTER_SERVICE says
/// what it serves.
std::string service_script();

/// A run whose event files a TensorBoard shows: all of an experiment's trials, or some of them.
struct TensorboardRun {
  ExperimentId experiment;
  std::string name;
  ExperimentSpecRef spec;
  std::vector<TrialId> trials;  ///< empty: of all
};
/// Returns the wish for a TensorBoard. `cluster`: whose id Determined's harness has in the paths of
/// event files.
Json tensorboard_wish(const std::vector<TensorboardRun>& runs, Duration idle,
                      std::string_view cluster);

/// Returns the wish for a checkpoint: where its files may lie.
Json checkpoint_wish(const ExperimentSpec& spec, TrialId trial, const std::string& uuid);

/// Returns a job's environment with what it serves: a block of NUL-separated NAME=VALUE.
std::string with_service(std::string environment, const Json& wish);

}  // namespace muster
