// Command-line options by table, as getopt_long(3) reads them: abbreviations, permutation, "-x5", "--name=value".
// Each command has one table of rows; the rows are also its --help. What an option means belongs to its row.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

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

/// What a pointer to a member points into.
template <class Pointer>
struct MemberPointer;
template <class Class, class Type>
struct MemberPointer<Type Class::*> {
  using Owner = Class;
};
template <auto kMember>
using OwnerOf = typename MemberPointer<decltype(kMember)>::Owner;

/// Setters of rows whose option is a plain member.
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
/// For what holds anyway.
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

/// `exit_code` set: nothing is left to do (--help was printed, or an error was said).
struct ReadWords {
  Words operands;
  std::optional<int> exit_code;
};

/// Reads `words` (without the command's own name), calling `visit(index of form, value)` for each option in order; a value
/// that was left out is nullopt. --help, --usage and -V are answered here with `help`.
/// What `visit` answers as an error is said and ends the reading; so does an unknown option, in getopt's own words.
ReadWords read_words(const Console& console, const Words& words, std::span<const OptionForm> forms, Operands operands,
                     const std::function<Status(std::size_t, std::optional<std::string_view>)>& visit,
                     const std::function<std::string()>& help);

/// "--name" or "-x": how an option is named in messages.
std::string option_name(const char* name, char letter);
/// "--NAME is not supported by Muster yet".
Error refused_option(std::string_view name);
/// One line of --help.
std::string help_line(const OptionForm& form, std::string_view help);

/// As `read_words` with a table: a row without `set` is refused by name; a bad value names its option.
template <class Target>
ReadWords read_options(const Console& console, const Words& words, std::span<const OptionRow<Target>> rows,
                       Operands operands, Target& target, std::string_view usage) {
  std::vector<OptionForm> forms;
  for (const auto& row : rows) forms.push_back({row.name, row.letter, row.takes});
  const auto visit = [&](std::size_t index, std::optional<std::string_view> value) -> Status {
    const auto& row = rows[index];
    if (row.set == nullptr) return fail(refused_option(option_name(row.name, row.letter)));
    return row.set(target, value.value_or(std::string_view()));
  };
  const auto help = [&] {
    std::string text = std::string(usage) + "\n";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (*rows[i].help != '\0') text += help_line(forms[i], rows[i].help);
    }
    return text;
  };
  return read_words(console, words, forms, operands, visit, help);
}

}  // namespace muster::cli
