// The client: called by one of Slurm's names it is that command, called as muster it takes a
// subcommand.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "base/version.h"
#include "cli/lib/commands.h"
#include "cli/muster/personal_cluster.h"
#include "env/posix/open_files.h"
#include "env/posix/standard_streams.h"

namespace {

using muster::cli::CommandRow;
using muster::cli::find_command;
using muster::cli::print;
using muster::cli::slurm_commands;
using muster::cli::Words;

int show_help(const Words& words);
int show_version(const Words& words);

/// What `muster` itself can do, beside Slurm's names as subcommands.
constexpr CommandRow kSubcommands[] = {
    {"up", muster::cli::run_up, "start a cluster on this machine"},
    {"down", muster::cli::run_down, "end it"},
    {"env", muster::cli::run_env, "print what points the commands at it, for eval"},
    {"why", muster::cli::run_why, "say all that stands in a job's way"},
    {"experiment", muster::cli::run_experiment, "create, watch and control experiments"},
    {"trial", muster::cli::run_trial, "show what one trial of an experiment wrote"},
    {"checkpoint", muster::cli::run_checkpoint,
     "show, download and delete checkpoints of experiments"},
    {"tensorboard", muster::cli::run_tensorboard,
     "look at what trials have written for TensorBoard"},
    {"model", muster::cli::run_model, "name checkpoints as versions of models"},
    {"workspace", muster::cli::run_workspace, "have places for projects"},
    {"project", muster::cli::run_project, "have places for experiments"},
    {"template", muster::cli::run_template, "keep layers of experiments' configurations"},
    {"report", muster::cli::run_report, "say from inside a trial what it has reached"},
    {"import", muster::cli::run_import, "take the history of a Determined cluster"},
    {"certify", muster::cli::run_certify,
     "measure how exactly a script goes on after it was interrupted"},
    {"rerun", muster::cli::run_rerun,
     "run an experiment or one of its trials again, with the same seeds"},
    {"token", muster::cli::run_token, "print what proves over HTTP who you are"},
    {"preview-search", muster::cli::run_preview_search,
     "say how many trials a search has, and how far they train"},
    {"config", muster::cli::run_config, "check a slurm.conf before a daemon reads it"},
    {"check", muster::cli::run_check, "replay its journal and compare the state's hash"},
    {"version", show_version, "print the version"},
    {"help", show_help, "this list"},
};

int show_version(const Words&) {
  print(fmt::format("muster {} ({})\n", muster::kVersion, muster::cli::kSlurmVersion));
  return 0;
}

int show_help(const Words&) {
  print("Usage: muster COMMAND [ARGUMENTS]\n\n");
  for (const CommandRow& row : kSubcommands)
    print(fmt::format("  {:<14} {}\n", row.name, row.help));
  print("\nSlurm's commands, also under their own names:\n");
  for (const CommandRow& row : slurm_commands())
    print(fmt::format("  {:<14} {}\n", row.name, row.help));
  return 0;
}

int run_subcommand(const Words& words) {
  if (words.empty()) return show_help(words);
  std::string_view name = words.front();
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || name == "-V") name = "version";
  const CommandRow* row = find_command(kSubcommands, name);
  // Slurm's names work as subcommands, too.
  if (row == nullptr) row = find_command(slurm_commands(), name);
  if (row == nullptr) {
    muster::cli::Console("muster").error(
        fmt::format("there is no command '{}'; see muster help", name));
    return 1;
  }
  return row->run(Words(words.begin() + 1, words.end()));
}

/// An answer that could not be written is a failure, whatever came of the request.
int with_all_said(std::string_view name, int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 1 &&
      (out.revents & POLLERR) !=
          0) {  // nobody reads it any more: the end of any program in a pipeline
    ::signal(SIGPIPE, SIG_DFL);
    ::raise(SIGPIPE);
  }
  muster::cli::Console(std::string(name))
      .error(fmt::format("cannot write to standard output: {}", std::strerror(errno)));
  return code != 0 ? code : 1;
}

}  // namespace

int main(int argc, char** argv) {
  // Else a socket could become descriptor 1 of a caller that closed it.
  muster::open_standard_streams();
  // A link by the name of a Slurm command is that command.
  const std::string_view path = argc > 0 ? argv[0] : "muster";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const Words words(argv + (argc > 0 ? 1 : 0), argv + argc);
  // Asked before anything is opened: later failures would not say what is missing.
  if (const auto enough = muster::check_open_files(muster::kCommandFilesMin); !enough.has_value()) {
    return muster::cli::Console(std::string(name)).fail(enough.error());
  }
  const CommandRow* command = find_command(slurm_commands(), name);
  return with_all_said(name, command != nullptr ? command->run(words) : run_subcommand(words));
}
