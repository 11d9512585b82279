// The batch script of a job that serves: a line for the shell, and behind it the Python package
// that it runs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "model/json.h"
#include "trials/service_text.h"

namespace muster {

namespace detail {
/// A zip file that python3 runs; made from python/ when we are built.
extern const unsigned char kServiceArchive[];
extern const std::size_t kServiceArchiveSize;
}  // namespace detail

/// The same for all services: what a job serves is in its variable MUSTER_SERVICE.
std::string service_script();

/// Whose event files a TensorBoard shows: those of an experiment's trials, or of some of them.
struct TensorboardRun {
  ExperimentId experiment;
  std::string name;
  ExperimentSpecRef spec;
  std::vector<TrialId> trials;  ///< empty: of all
};
/// `cluster`: whose id Determined's harness has in the paths of event files.
Json tensorboard_wish(const std::vector<TensorboardRun>& runs, Duration idle,
                      std::string_view cluster);

/// Where the files of a checkpoint may lie.
Json checkpoint_wish(const ExperimentSpec& spec, TrialId trial, const std::string& uuid);

/// A job's environment with what it is to serve: a block of NUL-separated NAME=VALUE.
std::string with_service(std::string environment, const Json& wish);

}  // namespace muster
