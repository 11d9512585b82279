// Reads command-line options by table, as getopt_long(3) does: abbreviations, permutation, "-x5",
// "--name=value". Each command has one table of rows; the rows are also its --help. What an option
// means belongs to its row.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/lib/console.h"

namespace muster::cli {

enum class Takes : std::uint8_t { kNothing = 0, kValue = 1, kMaybe = 2 };

/// One option. `letter` 0: it has only a long name. A name of "" has only a letter.
template <class Target>
struct OptionRow {
  const char* name;
  char letter;
  Takes takes;
  Status (*set)(Target&, std::string_view value);  ///< null: refused by name
  const char* help;                                ///< "" leaves it out of --help
};

/// Names the struct that a pointer to a member points into.
template <class Pointer>
struct MemberPointer;
template <class Class, class Type>
struct MemberPointer<Type Class::*> {
  using Owner = Class;
};
template <auto kMember>
using OwnerOf = typename MemberPointer<decltype(kMember)>::Owner;

/// These are setters of rows whose option is a plain member.
template <auto kMember, bool kTo = true>
Status set_flag(OwnerOf<kMember>& options, std::string_view) {
  options.*kMember = kTo;
  return {};
}
template <auto kMember>
Status set_text(OwnerOf<kMember>& options, std::string_view value) {
  options.*kMember = std::string(value);
  return {};
}
/// A setter for an option that asks for what holds anyway.
template <class Target>
Status holds_anyway(Target&, std::string_view) {
  return {};
}

/// The part of a row that reading needs.
struct OptionForm {
  const char* name;
  char letter;
  Takes takes;
};

enum class Operands : std::uint8_t {
  kAnywhere,    ///< options may follow operands
  kEndOptions,  ///< the first operand ends the options: a command or script with its own
};

/// The words that are left. `exit_code` set: nothing is left to do (--help was printed, or an error
/// was).
struct ReadWords {
  Words operands;
  std::optional<int> exit_code;
};

/// The texts that the reading prints by itself.
struct ReaderAnswers {
  std::function<std::string()> help;
  std::function<std::string()> usage;
  int exit_unknown = 1;  ///< after an option that nobody knows
};

/// Handles an option: its form's index and its value, nullopt where that was left out; the value is
/// valid during the call. An exit code ends the reading: why has been printed.
using OptionVisitor =
    std::function<std::optional<int>(std::size_t, std::optional<std::string_view>)>;

/// Reads `words` (without the command's own name), calling `visit` for each option in order.
/// --help, --usage and -V are answered here; an unknown option ends the reading, in getopt's own
/// words. It uses getopt's globals, so `visit` must not read words itself.
ReadWords read_words(const Console& console, const Words& words, std::span<const OptionForm> forms,
                     Operands operands, const OptionVisitor& visit, const ReaderAnswers& answers);

/// Returns "--name" or "-x": how an option is named in messages.
std::string option_name(const char* name, char letter);
/// Returns "--NAME is not supported by Muster yet".
Error refused_option(std::string_view name);
/// Returns one line of --help.
std::string help_line(const OptionForm& form, std::string_view help);
/// Returns the end of --help: what is refused by name. Empty where nothing is.
std::string refused_text(const std::vector<std::string>& names);
/// Returns --usage: `first_line` ("Usage: squeue [-A account]"), then every form with a long name,
/// then `operands`.
std::string usage_text(std::string_view first_line, std::span<const OptionForm> forms,
                       std::string_view operands);

/// How a command is called. `first_line`: of --usage; it names options that exist.
struct CallForm {
  std::string_view help;  ///< what stands above the options in --help
  std::string_view first_line;
  std::string_view operands = {};
  std::string_view notes = {};  ///< of --help: what stands below the options
};

/// Reads words as `read_words` does, with a table: a row without `set` is refused by name; a bad
/// value names its option.
template <class Target>
ReadWords read_options(const Console& console, const Words& words,
                       std::span<const OptionRow<Target>> rows, Operands operands, Target& target,
                       const CallForm& call) {
  std::vector<OptionForm> forms;
  for (const auto& row : rows) forms.push_back({row.name, row.letter, row.takes});
  const auto visit = [&](std::size_t index,
                         std::optional<std::string_view> value) -> std::optional<int> {
    const auto& row = rows[index];
    if (row.set == nullptr) return console.fail(refused_option(option_name(row.name, row.letter)));
    const Status done = row.set(target, value.value_or(std::string_view()));
    return done.has_value() ? std::nullopt : std::optional<int>(console.fail(done.error()));
  };
  ReaderAnswers answers;
  answers.exit_unknown = console.exit_error();
  answers.help = [&] {
    std::string text = std::string(call.help) + "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (*rows[i].help != '\0') text += help_line(forms[i], rows[i].help);
    }
    std::vector<std::string> refused;
    for (const auto& row : rows) {
      if (row.set == nullptr) refused.push_back(option_name(row.name, row.letter));
    }
    return text + std::string(call.notes) + refused_text(refused);
  };
  answers.usage = [&] {
    std::vector<OptionForm> shown;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (*rows[i].help != '\0') shown.push_back(forms[i]);
    }
    return usage_text(call.first_line, shown, call.operands);
  };
  return read_words(console, words, forms, operands, visit, answers);
}

}  // namespace muster::cli
