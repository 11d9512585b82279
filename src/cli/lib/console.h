// The output of a command: answers go to standard output, everything else to standard error after
// the command's own name. It also reads the exit codes that the environment chooses. The texts
// belong to each command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::cli {

/// The version that the commands claim to be compatible with.
inline constexpr std::string_view kSlurmVersion = "slurm 26.05.3";

using Words = std::vector<std::string>;

/// A console is named after the command as it was called. The constructor prints nothing.
class Console {
 public:
  explicit Console(std::string command, bool is_quiet = false)
      : command_(std::move(command)), is_quiet_(is_quiet) {}
  const std::string& command() const { return command_; }
  void set_quiet() { is_quiet_ = true; }

  /// Prints "NAME: error: LINE" for each line of the text; nothing for empty text (it was printed
  /// already).
  void error(std::string_view text) const;
  void error(const Error& error) const { this->error(error.text()); }
  /// Prints "NAME: fatal: TEXT".
  void fatal(std::string_view text) const;
  /// Prints "NAME: TEXT"; silent with --quiet.
  void say(std::string_view text) const;
  void warn(std::string_view text) const;
  /// Returns the exit code of a failure: for sbatch, srun and salloc SLURM_EXIT_ERROR, else 1.
  int exit_error() const;
  /// Prints the error and returns its exit code.
  int fail(const Error& error) const;

 private:
  void write(std::string_view kind, std::string_view text) const;
  std::string command_;
  bool is_quiet_;
};

/// Prints to standard output, buffered until the process ends or standard error is written to.
void print(std::string_view text);
/// Returns an environment variable's value; empty when it is unset.
std::string_view environment_value(const char* name);
/// True when a flag's variable says "0" or "no", which leave the flag off, as nobody means the
/// opposite by them.
bool is_switched_off(std::string_view value);
/// True when a variable of that value sets a flag: "yes", a whole number but 0, or nothing at all.
/// Source: Slurm 22.05.8.
bool is_switched_on(std::string_view value);
/// Returns an exit code, 0..255, from the environment, else `fallback`. Ids are read by
/// environment_id.
int environment_number(const char* name, int fallback);
/// Returns an id, 1..4294967295, from the environment; nothing where the variable is unset or is
/// none.
std::optional<std::uint32_t> environment_id(const char* name);

}  // namespace muster::cli
