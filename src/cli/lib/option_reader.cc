#include "cli/lib/option_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <getopt.h>

#include <algorithm>

namespace muster::cli {
namespace {

/// Values that getopt_long returns for long options: above every character.
constexpr int kFirstLong = 256;
constexpr int kHelp = 64000;
constexpr int kUsage = 64001;
constexpr int kVersion = 64002;

struct GetoptTable {
  std::vector<option> longs;
  std::string letters;
};

int getopt_argument(Takes takes) {
  switch (takes) {
    case Takes::kNothing: return no_argument;
    case Takes::kValue: return required_argument;
    case Takes::kMaybe: return optional_argument;
  }
  return no_argument;
}

GetoptTable getopt_table(std::span<const OptionForm> forms, Operands operands) {
  GetoptTable table;
  // "+": options behind the first operand belong to the program or the script.
  if (operands == Operands::kEndOptions) table.letters = "+";
  bool has_v = false;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const OptionForm& form = forms[i];
    const int value = kFirstLong + static_cast<int>(i);
    // A row may have a letter alone, or a name alone.
    if (*form.name != '\0')
      table.longs.push_back({form.name, getopt_argument(form.takes), nullptr, value});
    if (form.letter == 0) continue;
    has_v = has_v || form.letter == 'V';
    table.letters += form.letter;
    // One colon for a value, two for a value that may be missing.
    table.letters += std::string(static_cast<std::size_t>(getopt_argument(form.takes)), ':');
  }
  table.longs.push_back({"help", no_argument, nullptr, kHelp});
  table.longs.push_back({"usage", no_argument, nullptr, kUsage});
  table.longs.push_back({"version", no_argument, nullptr, kVersion});
  table.longs.push_back({nullptr, 0, nullptr, 0});
  // -V is the version's unless the command has another option of that letter.
  if (!has_v) table.letters += 'V';
  return table;
}

std::optional<std::size_t> form_of(int found, std::span<const OptionForm> forms) {
  if (found >= kFirstLong && found < kHelp) return static_cast<std::size_t>(found - kFirstLong);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].letter != 0 && forms[i].letter == found) return i;
  }
  return std::nullopt;
}

std::vector<char*> argument_pointers(Words& storage) {
  std::vector<char*> pointers;
  for (std::string& word : storage) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The answer to --help and its like; nullopt: another option.
std::optional<int> answer_common(int found, const ReaderAnswers& answers) {
  if (found == kHelp || found == kUsage) {
    print(found == kHelp ? answers.help() : answers.usage());
    return 0;
  }
  if (found == kVersion) {
    print(fmt::format("{}\n", kSlurmVersion));
    return 0;
  }
  return std::nullopt;
}

}  // namespace

std::string option_name(const char* name, char letter) {
  return *name != '\0' ? fmt::format("--{}", name) : fmt::format("-{}", letter);
}

Error refused_option(std::string_view name) {
  return Error{ErrorCode::kUnimplemented, fmt::format("{} is not supported by Muster yet", name),
               ""};
}

std::string help_line(const OptionForm& form, std::string_view help) {
  const char* value = form.takes == Takes::kNothing ? ""
                      : form.takes == Takes::kValue ? "=VALUE"
                                                    : "[=VALUE]";
  const std::string left = form.letter == 0 ? fmt::format("      --{}{}", form.name, value)
                           : *form.name == '\0'
                               ? fmt::format("  -{} {}", form.letter, *value == '\0' ? "" : "VALUE")
                               : fmt::format("  -{}, --{}{}", form.letter, form.name, value);
  return fmt::format("{:<34} {}\n", left, help);
}

std::string refused_text(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return fmt::format("\nNot supported by Muster yet, and refused:\n  {}\n", fmt::join(names, " "));
}

std::string usage_text(std::string_view first_line, std::span<const OptionForm> forms,
                       std::string_view operands) {
  constexpr std::size_t kWidth = 80;
  std::string text(first_line);
  // Under the first option, as the line breaks of a manual's synopsis.
  const std::string margin(std::min(first_line.find('['), first_line.size()), ' ');
  std::size_t column = kWidth;
  const auto add = [&](const std::string& word) {
    const bool is_new_line = column + 1 + word.size() > kWidth;
    text += is_new_line ? "\n" + margin + word : " " + word;
    column = is_new_line ? margin.size() + word.size() : column + 1 + word.size();
  };
  for (const OptionForm& form : forms) {
    if (*form.name == '\0') continue;
    add(fmt::format("[--{}{}]", form.name,
                    form.takes == Takes::kNothing ? ""
                    : form.takes == Takes::kValue ? "=value"
                                                  : "[=value]"));
  }
  if (!operands.empty()) add(std::string(operands));
  return text + "\n";
}

// getopt_long itself, so that abbreviations, --name=value and clustered letters are read as Slurm
// reads them.
ReadWords read_words(const Console& console, const Words& words, std::span<const OptionForm> forms,
                     Operands operands, const OptionVisitor& visit, const ReaderAnswers& answers) {
  const GetoptTable table = getopt_table(forms, operands);
  // getopt_long moves the words about: a copy, with the command's name for its complaints.
  Words storage = {console.command()};
  storage.insert(storage.end(), words.begin(), words.end());
  std::vector<char*> arguments = argument_pointers(storage);
  const int count = static_cast<int>(storage.size());
  ReadWords read;
  // 0 and not 1: glibc then forgets all of an earlier reading.
  optind = 0;
  for (;;) {
    const int found =
        getopt_long(count, arguments.data(), table.letters.c_str(), table.longs.data(), nullptr);
    if (found == -1) break;
    const auto index = form_of(found, forms);
    if (!index) {
      read.exit_code = answer_common(found == 'V' ? kVersion : found, answers);
      if (read.exit_code) return read;
      // getopt_long has said what is wrong.
      const std::string hint =
          fmt::format("Try \"{} --help\" for more information\n", console.command());
      std::fwrite(hint.data(), 1, hint.size(), stderr);
      read.exit_code = answers.exit_unknown;
      return read;
    }
    // Only of this option: getopt sets optarg anew at each.
    const auto value = optarg == nullptr ? std::nullopt : std::optional<std::string_view>(optarg);
    read.exit_code = visit(*index, value);
    if (read.exit_code) return read;
  }
  read.operands.assign(arguments.begin() + optind, arguments.begin() + count);
  return read;
}

}  // namespace muster::cli
