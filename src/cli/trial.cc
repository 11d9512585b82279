// muster trial VERB: what can be done with one trial.
#include <fmt/format.h>

#include <array>

#include "cli/commands.h"
#include "cli/log_commands.h"

namespace muster::cli {
namespace {

constexpr std::array kVerbs{CommandRow{"logs", run_trial_logs, "show what its tasks wrote"}};

}  // namespace

int run_trial(const Words& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    print("Usage: muster trial VERB [ARGUMENTS]\n\n");
    for (const CommandRow& row : kVerbs) print(fmt::format("  {:<10} {}\n", row.name, row.help));
    return 0;
  }
  const CommandRow* verb = find_command(kVerbs, words.front());
  if (verb != nullptr) return verb->run(Words(words.begin() + 1, words.end()));
  Console("muster trial").error(fmt::format("there is no verb '{}'; see muster trial --help", words.front()));
  return 1;
}

}  // namespace muster::cli
