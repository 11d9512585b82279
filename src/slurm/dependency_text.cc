// --dependency as sbatch(1) has it. Whether a job is fulfilled is the core's to say: here are only
// its words, and those that scontrol shows.

#include "slurm/dependency_text.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "text/words.h"

namespace muster {
namespace {

// Index = DependencyKind.
constexpr std::array<std::string_view, 6> kNames = {"after",      "afterany",  "afterok",
                                                    "afternotok", "aftercorr", "singleton"};
// Names that Slurm has and Muster has not, refused by name.
constexpr std::array<std::string_view, 2> kRefused = {"afterburstbuffer", "expand"};

tl::unexpected<Error> invalid(std::string detail) {
  return fail(ErrorCode::kInvalidArgument, "Job dependency problem", std::move(detail));
}

Result<DependencyKind> parse_kind(std::string_view word) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (equal_ignoring_case(word, kNames[i])) return static_cast<DependencyKind>(i);
  }
  for (const std::string_view name : kRefused) {
    if (!equal_ignoring_case(word, name)) continue;
    return fail(ErrorCode::kUnimplemented, "Job dependency problem",
                fmt::format("'{}' is not supported; use one of {}", word, fmt::join(kNames, ", ")));
  }
  return invalid(fmt::format("'{}' is no type; use one of {}", word, fmt::join(kNames, ", ")));
}

// "12", "12_3", "12_*", "12+5".
std::optional<DependencyTerm> parse_job(std::string_view text, DependencyKind kind) {
  DependencyTerm term;
  term.kind = kind;
  // Minutes after its beginning, of "after" alone. Source: sbatch(1), --dependency.
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    const auto minutes = parse_whole32(text.substr(plus + 1));
    if (!minutes || kind != DependencyKind::kAfter) return std::nullopt;
    term.delay = Duration::minutes(*minutes);
    text = text.substr(0, plus);
  }
  if (const std::size_t bar = text.find('_'); bar != std::string_view::npos) {
    // "12_*" means all elements, as "12" does.
    term.array_index = parse_whole32(text.substr(bar + 1));
    if (!term.array_index && text.substr(bar + 1) != "*") return std::nullopt;
    text = text.substr(0, bar);
  }
  const auto job = parse_whole32(text);
  if (!job || *job == 0) return std::nullopt;
  term.job = JobId(*job);
  return term;
}

Status add_terms(std::string_view text, DependencySet& set) {
  const auto parts = split(text, ':');
  const DependencyKind kind = TRY(parse_kind(parts[0]));
  const bool is_singleton = kind == DependencyKind::kSingleton;
  // A type without jobs, or singleton with some, says nothing that could be waited for.
  if (is_singleton != (parts.size() == 1)) {
    return invalid(is_singleton ? fmt::format("'{}': singleton takes no job", text)
                                : fmt::format("'{}' names no job: write {}:JOB", text, parts[0]));
  }
  if (is_singleton) set.terms.push_back({.kind = kind, .job = {}, .array_index = {}, .delay = {}});
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto term = parse_job(parts[i], kind);
    if (!term)
      return invalid(fmt::format(
          "'{}' of '{}' is no job: write JOB, JOB_INDEX or after:JOB+MINUTES", parts[i], text));
    set.terms.push_back(*term);
  }
  return {};
}

std::string term_text(const DependencyTerm& term) {
  std::string text(kNames[static_cast<std::size_t>(term.kind)]);
  if (term.kind != DependencyKind::kSingleton) text += fmt::format(":{}", term.job.value());
  if (term.array_index) text += fmt::format("_{}", *term.array_index);
  if (term.delay != Duration()) text += fmt::format("+{}", term.delay.seconds() / 60);
  // What scontrol shows of each: Slurm's words, which scripts read.
  return text + (term.state == DependencyState::kFailed ? "(failed)" : "(unfulfilled)");
}

}  // namespace

Result<DependencySet> parse_dependency(std::string_view text) {
  const std::string_view list = trim(text);
  DependencySet set;
  if (list.empty()) return set;
  set.is_any = list.find('?') != std::string_view::npos;
  // Both separators in one text could be read in two ways.
  if (set.is_any && list.find(',') != std::string_view::npos) {
    return invalid(fmt::format("'{}' has both ',' (all) and '?' (any): use one of them", text));
  }
  for (const std::string_view part : split(list, set.is_any ? '?' : ',')) TRY(add_terms(part, set));
  return set;
}

std::string dependency_text(const DependencySet& set) {
  std::vector<std::string> parts;
  for (const DependencyTerm& term : set.terms) {
    // Fulfilled ones are left out, as in Slurm.
    if (term.state != DependencyState::kFulfilled) parts.push_back(term_text(term));
  }
  return join(parts, set.is_any ? "?" : ",");
}

}  // namespace muster
