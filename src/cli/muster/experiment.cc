// muster experiment VERB: what can be done with an experiment.
#include <fmt/format.h>

#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/muster/downloads.h"
#include "cli/muster/experiment_commands.h"
#include "cli/muster/experiment_file.h"
#include "cli/muster/log_commands.h"
#include "trials/config_layers.h"
#include "trials/experiment_form.h"

namespace muster::cli {
namespace {

int run_check_file(const Words& words) {
  ExperimentFile file;
  CommandParser parser(
      "Says all that is wrong with an experiment's file, line by line; nothing is created.",
      "muster experiment check");
  file.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment check");
  const auto document = file.read();
  if (!document.has_value()) return console.fail(document.error());
  // All problems at once: a file is mended in one go.
  const std::vector<std::string> problems = file.problems(*document);
  for (const std::string& problem : problems) console.error(problem);
  if (!problems.empty()) return 1;
  for (const std::string& warning : file.warnings(*document)) console.warn(warning);
  // With the defaults, as the controller will read it.
  const ExperimentForm form =
      read_experiment(merge_layers(document->root, experiment_defaults()), document->lines);
  const ExperimentConfig& config = form.config;
  print(fmt::format("{}: right. {} with {} slot{} each, metric {}, {} restarts\n", file.path,
                    config.name.empty() ? "An unnamed experiment"
                                        : fmt::format("Experiment {}", shown_value(config.name)),
                    config.resources.slots_per_trial,
                    config.resources.slots_per_trial == 1 ? "" : "s", config.search.metric,
                    config.max_restarts));
  return 0;
}

constexpr std::array kVerbs{
    CommandRow{"create", run_experiment_create, "search or train as a file says"},
    CommandRow{"fork", run_experiment_fork, "a new one with the code and configuration of another"},
    CommandRow{"continue", run_experiment_continue, "let one that has ended go on"},
    CommandRow{"list|ls", run_experiment_list, "show experiments"},
    CommandRow{"describe", run_experiment_describe,
               "show one with its trials, and why they stopped"},
    CommandRow{"list-trials|lt", run_experiment_list_trials, "show its trials alone"},
    CommandRow{"list-checkpoints|lc", run_experiment_list_checkpoints,
               "show what its trials saved, the best first if asked"},
    CommandRow{"download", run_experiment_download, "get the files of its best checkpoints"},
    CommandRow{"download-model-def", run_experiment_download_code,
               "get the code that its trials run"},
    CommandRow{"logs", run_experiment_logs, "show what its trials wrote"},
    CommandRow{"wait", run_experiment_wait, "wait for the end; the exit code says how it was"},
    CommandRow{"pause", run_experiment_verb<ExperimentVerb::kPause>,
               "let trials save a checkpoint and wait"},
    CommandRow{"activate|unpause", run_experiment_verb<ExperimentVerb::kActivate>,
               "let paused trials go on"},
    CommandRow{"cancel", run_experiment_verb<ExperimentVerb::kCancel>,
               "let trials save a checkpoint and end"},
    CommandRow{"kill", run_experiment_verb<ExperimentVerb::kKill>, "end trials at once"},
    CommandRow{"archive", run_experiment_verb<ExperimentVerb::kArchive>,
               "take what has ended out of lists"},
    CommandRow{"unarchive", run_experiment_verb<ExperimentVerb::kUnarchive>, "bring it back"},
    CommandRow{"delete", run_experiment_verb<ExperimentVerb::kDelete>,
               "delete it with its checkpoints, metrics and logs"},
    CommandRow{"set", run_experiment_set, "labels, trials at once, priority, checkpoints to keep"},
    CommandRow{"label", run_experiment_label, "add labels, or take them away"},
    CommandRow{"move", run_experiment_move, "put it into a project"},
    CommandRow{"config", run_experiment_config, "print the configuration"},
    CommandRow{"check", run_check_file, "say what is wrong with a file"}};

}  // namespace

int run_experiment(const Words& words) { return run_verb("muster experiment", kVerbs, words); }

}  // namespace muster::cli
