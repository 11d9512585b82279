// muster trial VERB: what can be done with one trial.
#include <array>

#include "cli/commands.h"
#include "cli/log_commands.h"

namespace muster::cli {
namespace {

constexpr std::array kVerbs{CommandRow{"logs", run_trial_logs, "show what its tasks wrote"}};

}  // namespace

int run_trial(const Words& words) { return run_verb("muster trial", kVerbs, words); }

}  // namespace muster::cli
