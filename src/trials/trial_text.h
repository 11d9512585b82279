// How a trial is started: its variables, its command, its batch script. All are texts, made from
// values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/experiment.h"
#include "model/experiment_config.h"

namespace muster {

/// Returns the batch script of an experiment's trials. It unpacks the code behind it into
/// $MUSTER_RUN_DIR/code and runs $MUSTER_ENTRYPOINT there, once on each node; requests to stop
/// reach the command alone. `archive`: a tar file, compressed by gzip or not; empty: the command
/// runs in the job's working directory.
std::string trial_script(std::string_view archive);

/// Returns the archive in such a script; empty: it has none.
std::string_view archive_in(std::string_view script);

/// Returns a word as the shell reads it back; {{hp.NAME}} stays open.
std::string shell_quoted(std::string_view word);

/// Returns the entrypoint as one line for the shell: words are quoted.
std::string entrypoint_line(const EntryPoint& entrypoint);

/// Returns the line with {{hp.NAME}} replaced by the hyperparameters' values; nested names are
/// joined by dots. A name that is not there stays as it is. `hparams`: an object.
std::string with_hparams(std::string_view line, const Json& hparams);

/// Returns the names that {{hp.NAME}} uses and `space` has not.
std::vector<std::string> unknown_hparams(std::string_view line, const HyperSpace& space);

/// Returns the hyperparameters of the trials of the space that are the longest as text, as
/// variables, and put into the entrypoint.
std::vector<Json> longest_hparams(const HyperSpace& space, std::string_view entrypoint);

/// Checks that a program can be started with them. Errors: kInvalidArgument: they, or the
/// entrypoint with them put in, are longer than a variable of the environment may be, with the way
/// out. Source: execve(2), MAX_ARG_STRLEN.
Status check_hparams_size(std::string_view entrypoint, const Json& hparams);

/// Returns about how many bytes the variables of a trial's runs come to. Cost: O(hyperparameters),
/// little memory.
std::size_t trial_variable_bytes(const ExperimentSpec& spec, const Trial& trial);

/// What a configuration says to every run, read once for all of them.
struct TrialSettings {
  std::string bucket;     ///< as s3_settings
  std::string profiling;  ///< a JSON object with begin_on_batch and end_after_batch; empty: nothing
                          ///< is profiled
};
TrialSettings trial_settings(const ExperimentSpec& spec);

/// Returns the variables of a trial's run as NAME=VALUE; `run` counts from 1. python/README.md says
/// what each means. Errors: as check_hparams_size.
Result<std::vector<std::string>> trial_variables(const Experiment& experiment, const Trial& trial,
                                                 std::uint32_t run, const TrialSettings& settings);

/// Returns where an experiment's checkpoints go in S3, a JSON object with its keys; empty: they go
/// to a folder.
std::string s3_settings(const ExperimentSpec& spec);
/// Returns the folder that they go to otherwise, each under its uuid.
std::string checkpoint_root(const ExperimentSpec& spec);

/// Returns the folder of a trial: the same for all its runs.
std::string trial_folder(const ExperimentSpec& spec, TrialId trial);

}  // namespace muster
