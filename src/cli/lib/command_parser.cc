// A thin cover over CLI11, so that only this file is compiled with its headers. Slurm's commands
// are read by option_reader.cc instead: getopt_long has rules of its own.

#include "cli/lib/command_parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>

namespace muster::cli {

using Option = CommandParser::Option;

Option Option::required() {
  option_->required();
  return *this;
}
Option Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}
Option Option::expects(int values) {
  option_->expected(values);
  return *this;
}
Option Option::shows_default() {
  option_->capture_default_str();
  return *this;
}
Option Option::excludes(Option other) {
  option_->excludes(other.option_);
  return *this;
}
Option Option::needs(Option other) {
  option_->needs(other.option_);
  return *this;
}
template <class Number>
Option Option::range(Number least, Number most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
// Instantiated for the types that commands use, since the definitions stand here.
template Option Option::range(int, int);
template Option Option::range(std::uint32_t, std::uint32_t);
Option Option::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}
Option Option::one_of(std::vector<std::string> values) {
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}
Option Option::check(std::string (*problem)(const std::string& value)) {
  option_->check(problem);
  return *this;
}
std::size_t Option::count() const { return option_->count(); }

CommandParser::CommandParser(std::string description, std::string name)
    : owned_(std::make_unique<CLI::App>(std::move(description), std::move(name))),
      app_(owned_.get()) {}
CommandParser::CommandParser(CLI::App* subcommand) : app_(subcommand) {}
CommandParser::~CommandParser() = default;

template <class T>
Option CommandParser::add_option(const std::string& names, T& target, const std::string& help) {
  return Option(app_->add_option(names, target, help));
}
template Option CommandParser::add_option(const std::string&, std::string&, const std::string&);
template Option CommandParser::add_option(const std::string&, std::optional<std::string>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::vector<std::string>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, int&, const std::string&);
template Option CommandParser::add_option(const std::string&, std::uint32_t&, const std::string&);
template Option CommandParser::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option CommandParser::add_option(const std::string&, std::optional<bool>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::optional<int>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::optional<std::uint32_t>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::optional<double>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::vector<std::uint32_t>&,
                                          const std::string&);
template Option CommandParser::add_option(const std::string&, std::vector<std::uint64_t>&,
                                          const std::string&);

Option CommandParser::add_flag(const std::string& names, bool& target, const std::string& help) {
  return Option(app_->add_flag(names, target, help));
}

void CommandParser::set_footer(std::string text) { app_->footer(std::move(text)); }

void CommandParser::require_one_of(const std::vector<Option>& options) {
  // CLI11 words the refusal by the group's name.
  CLI::Option_group* group = app_->add_option_group("which");
  for (const Option& option : options) group->add_option(option.option_);
  group->require_option(1);
}

CommandParser& CommandParser::add_subcommand(const std::string& name,
                                             const std::string& description) {
  subcommands_.push_back(
      std::unique_ptr<CommandParser>(new CommandParser(app_->add_subcommand(name, description))));
  // None is allowed: the command then says what there is.
  app_->require_subcommand(0, 1);
  return *subcommands_.back();
}

bool CommandParser::is_given() const { return app_->parsed(); }

std::optional<int> CommandParser::parse(Words words) {
  std::ranges::reverse(words);  // CLI11 takes them from the end
  // CLI11 throws; nothing above this file does.
  try {
    app_->parse(words);
  } catch (const CLI::ParseError& error) {
    // exit() prints the help or the mistake. 1 for every mistake, as of Slurm's commands.
    return app_->exit(error) == 0 ? 0 : 1;
  }
  return std::nullopt;
}

}  // namespace muster::cli
