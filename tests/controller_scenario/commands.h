// What users type, as requests: sbatch, salloc and srun by the commands' own table of options,
// scancel, scontrol and experiments by the few words that scenarios need.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/request.h"
#include "state/cluster_state.h"

namespace muster::scenario {

/// What the words are read against.
struct CommandContext {
  TimePoint now;
  const ClusterState* state = nullptr;
  std::string user;
  std::string text;  ///< the statement as written: for what is no list of words
};

/// The requests of a command line, in their order; `words` begin with the command. Errors: the
/// command itself would refuse it.
Result<std::vector<Request>> read_command(const std::vector<std::string>& words,
                                          const CommandContext& context);

// One for each command; `words` without its name.
using CommandWords = std::vector<std::string>;
Result<Request> read_sbatch(const CommandWords& words, const CommandContext& context);
Result<Request> read_salloc(const CommandWords& words, const CommandContext& context);
Result<Request> read_srun(const CommandWords& words, const CommandContext& context);
Result<std::vector<Request>> read_scancel(const CommandWords& words, const CommandContext& context);
Result<std::vector<Request>> read_scontrol(const CommandWords& words,
                                           const CommandContext& context);
Result<Request> read_experiment(const CommandWords& words, const CommandContext& context);

/// "12", "12_3", "t5" for the job of trial 5. Errors: kNotFound, kInvalidArgument.
Result<JobSelector> read_job(const ClusterState& state, const std::string& text);
/// The same where it must be one job that is there: of an array its record, or one element.
Result<JobId> read_one_job(const ClusterState& state, const std::string& text);

}  // namespace muster::scenario
