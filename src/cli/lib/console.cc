#include "cli/lib/console.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "text/words.h"

namespace muster::cli {

void Console::write(std::string_view kind, std::string_view text) const {
  std::string lines;
  // Each line begins with the command's name, as Slurm logs them: scripts filter by it.
  for (const std::string_view line : split(text, '\n')) {
    lines += fmt::format("{}: {}{}\n", command_, kind, line);
  }
  // What was printed before stands before the complaint where both go to one terminal.
  std::fflush(stdout);
  std::fwrite(lines.data(), 1, lines.size(), stderr);
}

void Console::error(std::string_view text) const {
  if (!text.empty()) write("error: ", text);
}
void Console::fatal(std::string_view text) const { write("fatal: ", text); }
void Console::say(std::string_view text) const {
  if (!is_quiet_) write("", text);
}
void Console::warn(std::string_view text) const { write("warning: ", text); }

int Console::exit_error() const {
  // Only the commands that submit read SLURM_EXIT_ERROR. Source: sbatch(1), srun(1), salloc(1).
  const bool is_chosen = command_ == "sbatch" || command_ == "srun" || command_ == "salloc";
  return is_chosen ? environment_number("SLURM_EXIT_ERROR", 1) : 1;
}

int Console::fail(const Error& failure) const {
  error(failure);
  return exit_error();
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string_view environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_switched_on(std::string_view value) {
  // An empty value switches on: the variable is set.
  if (value.empty() || equal_ignoring_case(value, "yes")) return true;
  // As atoi reads it: any number but 0, with or without a sign.
  if (value.front() == '-' || value.front() == '+') value.remove_prefix(1);
  const bool is_number =
      !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number && value.find_first_not_of('0') != std::string_view::npos;
}

bool is_switched_off(std::string_view value) {
  return value == "0" || equal_ignoring_case(value, "no");
}

int environment_number(const char* name, int fallback) {
  const auto number = parse_whole32(environment_value(name), 255);
  // 255: what an exit code can be.
  return number ? static_cast<int>(*number) : fallback;
}

std::optional<std::uint32_t> environment_id(const char* name) {
  const auto id = parse_whole32(environment_value(name));
  return id && *id > 0 ? id : std::nullopt;
}

}  // namespace muster::cli
