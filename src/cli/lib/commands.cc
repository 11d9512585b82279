// Slurm's commands by name. Those of our own are a table of src/apps, which links both.

#include "cli/lib/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/words.h"

namespace muster::cli {
namespace {

constexpr CommandRow kSlurmCommands[] = {
    {"sbatch", run_sbatch, "queue a batch script"},
    {"srun", run_srun, "run tasks, inside a job or in an allocation of their own"},
    {"salloc", run_salloc, "get an allocation and run a command in it"},
    {"squeue", run_squeue, "show jobs and steps"},
    {"sinfo", run_sinfo, "show partitions and nodes"},
    {"scancel", run_scancel, "end or signal jobs and steps"},
    {"scontrol", run_scontrol, "show and change everything"},
    {"sacct", run_sacct, "show jobs that have ended, and what they used"},
};

}  // namespace

std::span<const CommandRow> slurm_commands() { return kSlurmCommands; }

const CommandRow* find_command(std::span<const CommandRow> rows, std::string_view name) {
  const auto is_its = [name](const CommandRow& row) {
    // Names that stand for one command are separated by bars.
    const auto names = split(row.name, '|');
    return std::ranges::find(names, name) != names.end();
  };
  const auto found = std::ranges::find_if(rows, is_its);
  return found == rows.end() ? nullptr : &*found;
}

namespace {

/// Without its other names.
std::string_view shown_name(const CommandRow& row) {
  return row.name.substr(0, row.name.find('|'));
}

}  // namespace

int run_verb(const std::string& name, std::span<const CommandRow> verbs, const Words& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h") {
    print(fmt::format("Usage: {} VERB [ARGUMENTS]\n\n", name));
    std::size_t width = 10;
    for (const CommandRow& row : verbs) width = std::max(width, shown_name(row).size());
    for (const CommandRow& row : verbs)
      print(fmt::format("  {:<{}} {}\n", shown_name(row), width, row.help));
    return 0;
  }
  const CommandRow* verb = find_command(verbs, words.front());
  if (verb != nullptr) return verb->run(Words(words.begin() + 1, words.end()));
  Console(name).error(fmt::format("there is no verb '{}'; see {} --help", words.front(), name));
  return 1;
}

}  // namespace muster::cli
