// Parses options and arguments of Muster's own subcommands (`muster experiment create …`). Commands
// that are Slurm's have its contract and read their words by option_reader.h.
//
// CLI11 does the work, behind this header: it is a library of headers alone, which every file that
// includes it would compile whole.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/lib/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace muster::cli {

/// What one subcommand accepts. Declare options with targets that outlive parse(), then call
/// parse() once.
class CommandParser {
 public:
  /// An option or argument that was added. Valid as long as its parser.
  class Option {
   public:
    Option required();
    /// Makes each mention consume one value: what follows it is another argument.
    Option one_value_each();
    /// Makes each mention consume `values` values.
    Option expects(int values);
    /// Shows the target's present value as the default in the help.
    Option shows_default();
    Option excludes(Option other);
    Option needs(Option other);
    /// Bounds the number. Requires: the type of the option's target.
    template <class Number>
    Option range(Number least, Number most);
    Option positive();
    Option one_of(std::vector<std::string> values);
    /// Checks each value. `problem` returns what is wrong with it; an empty text: nothing.
    Option check(std::string (*problem)(const std::string& value));
    /// Returns how often it was given. Requires: parse() was called.
    std::size_t count() const;

   private:
    friend class CommandParser;
    explicit Option(CLI::Option* option) : option_(option) {}
    CLI::Option* option_;
  };

  CommandParser(std::string description, std::string name);
  ~CommandParser();
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  /// Adds an option. `names` as CLI11's: "-o,--output", or "FILE" for an argument. T: a text, a
  /// number, an optional or a vector of one of them, as far as command_parser.cc instantiates it.
  template <class T>
  Option add_option(const std::string& names, T& target, const std::string& help = "");
  Option add_flag(const std::string& names, bool& target, const std::string& help);
  /// Sets a line below the options in the help.
  void set_footer(std::string text);
  /// Requires that exactly one of these flags is given. Source: CLI11, option groups.
  void require_one_of(const std::vector<Option>& options);
  /// Adds a word that may stand first and has options of its own. At most one is given.
  CommandParser& add_subcommand(const std::string& name, const std::string& description);
  /// True when this subcommand was given.
  bool is_given() const;

  /// Reads the words into the targets. A value: the command is over, with that exit code (the help
  /// was shown, or what is wrong was written to standard error).
  std::optional<int> parse(Words words);

 private:
  explicit CommandParser(CLI::App* subcommand);
  std::unique_ptr<CLI::App> owned_;  ///< null for a subcommand's, which its parent owns
  CLI::App* app_;
  std::vector<std::unique_ptr<CommandParser>> subcommands_;
};

}  // namespace muster::cli
