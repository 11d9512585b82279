// Environments as blocks of NAME=VALUE with zero bytes between them, and what --export makes of
// one. Variables keep their order, as scripts read them in it.

#include "slurm/environment_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "text/printable_text.h"
#include "text/words.h"

namespace muster {
namespace {

// A job must not get the token of who submits it.
constexpr std::string_view kCredential = "SLURM_JWT";

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_from_slurm(std::string_view name) {
  // What describes the job goes with it, whatever --export says.
  return name.substr(0, 6) == "SLURM_" || name.substr(0, 6) == "SPANK_";
}

bool is_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_digit(c) || c == '_' || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
         });
}

template <class Predicate>
Environment filtered(const Environment& environment, Predicate&& passes) {
  Environment result;
  for (const std::string& variable : environment) {
    const std::string_view name = name_of(variable);
    if (name != kCredential && passes(name)) result.push_back(variable);
  }
  return result;
}

// The parts between commas that are not inside quotes; quotes are taken out.
std::vector<std::string> export_items(std::string_view text) {
  std::vector<std::string> items(1);
  char quote = 0;
  for (const char c : text) {
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == 0 && c == ',') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

Status add_item(std::string_view item, const Environment& environment, Environment& result) {
  const std::string_view name = name_of(item);
  // A word that is no name and no assignment is a mistake, not a value.
  if (!is_name(name)) {
    return fail(
        ErrorCode::kInvalidArgument, "Invalid --export specification",
        fmt::format("'{}': write ALL, NONE, NIL, NAME or NAME=VALUE, parted by commas", item));
  }
  // An assignment changes the value, a name alone takes the caller's.
  if (name.size() < item.size()) {
    set_variable(result, name, item.substr(name.size() + 1));
  } else if (const auto value = get_variable(environment, name); value && name != kCredential) {
    set_variable(result, name, *value);
  }
  return {};
}

}  // namespace

Environment parse_environment(std::string_view block) {
  Environment environment;
  for (const std::string_view part : split(block, '\0')) {
    // Two zero bytes in a row are not a variable.
    if (!part.empty()) environment.emplace_back(part);
  }
  return environment;
}

std::string environment_block(const Environment& environment) {
  std::string block;
  for (const std::string& variable : environment) block.append(variable).push_back('\0');
  return block;
}

std::optional<std::string_view> get_variable(const Environment& environment,
                                             std::string_view name) {
  for (const std::string_view variable : environment) {
    if (name_of(variable) == name && variable.size() > name.size())
      return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

void set_variable(Environment& environment, std::string_view name, std::string_view value) {
  // A name with a zero byte would split into two variables.
  CHECK(name.find('=') == std::string_view::npos);
  CHECK(name.find('\0') == std::string_view::npos);
  const auto found =
      std::find_if(environment.begin(), environment.end(),
                   // The first of that name is the one that programs see.
                   [&](const std::string& variable) { return name_of(variable) == name; });
  std::string variable = fmt::format("{}={}", name, value);
  if (found == environment.end()) {
    environment.push_back(std::move(variable));
  } else {
    *found = std::move(variable);
  }
}

Status set_variables(Environment& environment, std::span<const std::string> assignments) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < environment.size(); ++i) places.emplace(name_of(environment[i]), i);
  for (const std::string& assignment : assignments) {
    const std::size_t equals = assignment.find('=');
    // A value with a zero byte would end there for the program.
    if (equals == 0 || assignment.find('\0') != assignment.npos) {
      return fail(ErrorCode::kInvalidArgument, "Invalid environment variable",
                  fmt::format("'{}': write NAME=VALUE, without a NUL",
                              printable(std::string_view(assignment).substr(0, 200))));
    }
    // A text without an equals sign is no variable: nothing is set.
    if (equals == assignment.npos) continue;
    const auto [place, is_new] = places.emplace(assignment.substr(0, equals), environment.size());
    if (is_new)
      environment.push_back(assignment);
    else
      environment[place->second] = assignment;
  }
  return {};
}

void unset_variable(Environment& environment, std::string_view name) {
  std::erase_if(environment,
                [&](const std::string& variable) { return name_of(variable) == name; });
}

Result<ExportedEnvironment> apply_export(std::string_view text, const Environment& environment) {
  const auto everything = [](std::string_view) { return true; };
  const std::string_view word = trim(text);
  // Nothing said is everything: sbatch passes the environment on. Source: sbatch(1), --export.
  if (word.empty() || equal_ignoring_case(word, "ALL"))
    return ExportedEnvironment{filtered(environment, everything), false};
  // NONE asks for a login's environment instead, NIL for none at all.
  if (equal_ignoring_case(word, "NONE"))
    return ExportedEnvironment{filtered(environment, is_from_slurm), true};
  if (equal_ignoring_case(word, "NIL"))
    return ExportedEnvironment{filtered(environment, is_from_slurm), false};
  // A list of names with ALL means everything and these.
  std::vector<std::string> items = export_items(word);
  const bool has_all = std::erase_if(items, [](const std::string& item) {
                         return equal_ignoring_case(item, "ALL");
                       }) > 0;
  ExportedEnvironment result;
  result.variables =
      has_all ? filtered(environment, everything) : filtered(environment, is_from_slurm);
  result.wants_login_environment = !has_all;
  for (const std::string& item : items) TRY(add_item(item, environment, result.variables));
  return result;
}

}  // namespace muster
