// The commands: one function each, named as it is called. Words are the arguments without the
// command's own name.
#pragma once

#include <span>
#include <string_view>

#include "cli/lib/console.h"

namespace muster::cli {

using CommandFunction = int (*)(const Words& words);

int run_sbatch(const Words& words);
int run_srun(const Words& words);
int run_salloc(const Words& words);
int run_squeue(const Words& words);
int run_sinfo(const Words& words);
int run_scancel(const Words& words);
int run_scontrol(const Words& words);
int run_sacct(const Words& words);
int run_why(const Words& words);
int run_preview_search(const Words& words);
int run_experiment(const Words& words);
int run_token(const Words& words);
int run_config(const Words& words);
int run_checkpoint(const Words& words);
int run_tensorboard(const Words& words);
int run_model(const Words& words);
int run_trial(const Words& words);
int run_report(const Words& words);
int run_rerun(const Words& words);
int run_import(const Words& words);
int run_certify(const Words& words);
int run_workspace(const Words& words);
int run_project(const Words& words);
int run_template(const Words& words);

/// A name by which Muster is called, or a subcommand of `muster`.
struct CommandRow {
  std::string_view name;  ///< with other names behind bars: "list|ls"
  CommandFunction run;
  std::string_view help;  ///< one line
};

/// Returns the rows of Slurm's names: sbatch, srun, ...
std::span<const CommandRow> slurm_commands();
/// Runs `NAME VERB ...`, or shows the verbs.
int run_verb(const std::string& name, std::span<const CommandRow> verbs, const Words& words);
const CommandRow* find_command(std::span<const CommandRow> rows, std::string_view name);

}  // namespace muster::cli
