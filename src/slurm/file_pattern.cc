// Names of output files with their symbols. A symbol that Muster does not know stays as it is, so
// that a file's name is never a surprise; which symbols there are decides whether several
// processes write one file.

#include "slurm/file_pattern.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/words.h"

namespace muster {
namespace {

constexpr std::size_t kWidthMax = 10;
// Slurm's value for "not an element of an array".
constexpr std::uint32_t kNoArrayIndex = 0xfffffffe;

// A symbol with its width: "%04j" is {'j', 4, 4}. `size` counts the characters from the percent on.
struct Symbol {
  char letter = 0;  // 0: the pattern ends first
  std::size_t width = 0;
  std::size_t size = 0;
};

// Requires: text begins with a percent sign.
Symbol symbol_at(std::string_view text) {
  // A width of more than 10 is 10, as in Slurm.
  const std::size_t digits = leading_digits(text.substr(1));
  const auto width =
      parse_whole(text.substr(1, digits), kWidthMax).value_or(digits == 0 ? 0 : kWidthMax);
  // "%5" at the end is no symbol.
  if (1 + digits == text.size()) return {0, 0, text.size()};
  return {text[1 + digits], static_cast<std::size_t>(width), digits + 2};
}

std::string padded(std::uint32_t value, std::size_t width) {
  return fmt::format("{:0{}}", value, width);
}

// What the symbol stands for. Nullopt: it is none of ours.
std::optional<std::string> replacement(const Symbol& symbol, const FilePatternValues& values) {
  const std::uint32_t job = values.job.value();
  const std::uint32_t array_index = values.array_index.value_or(kNoArrayIndex);
  switch (symbol.letter) {
    case '%': return "%";
    case 'A':
      // The array's number, or the job's own where it is of none.
      return padded(values.array_job.value() != 0 ? values.array_job.value() : job, symbol.width);
    case 'a': return padded(array_index, symbol.width);
    case 'b': return padded(array_index % 10, symbol.width);
    case 'J':
      return values.step == kBatchStep
                 ? padded(job, symbol.width)
                 : fmt::format("{}.{}", padded(job, symbol.width), step_text(values.step));
    case 'j': return padded(job, symbol.width);
    case 'S': return values.sluid;
    // Steps with a number of their own show it; the others have names.
    case 's':
      return values.step < kInteractiveStep ? padded(values.step, symbol.width)
                                            : step_text(values.step);
    // Up to the first dot: a short name is what most files want.
    case 'N': return values.host.substr(0, values.host.find('.'));
    case 'n': return padded(values.node_index, symbol.width);
    case 't': return padded(values.task, symbol.width);
    case 'u': return values.user;
    case 'x': return values.job_name;
    case 'r': return padded(values.restart_count, symbol.width);
    default: return std::nullopt;
  }
}

// A backslash anywhere makes all of it text. Source: sbatch(1), filename pattern.
bool is_literal(std::string_view pattern) { return pattern.find('\\') != std::string_view::npos; }

// Calls `visit_text` and `visit_symbol` for the parts of a pattern, in their order.
template <class VisitText, class VisitSymbol>
void for_each_part(std::string_view pattern, VisitText&& visit_text, VisitSymbol&& visit_symbol) {
  while (!pattern.empty()) {
    const std::size_t percent = std::min(pattern.find('%'), pattern.size());
    visit_text(pattern.substr(0, percent));
    pattern.remove_prefix(percent);
    if (pattern.empty()) return;
    const Symbol symbol = symbol_at(pattern);
    visit_symbol(symbol, pattern.substr(0, symbol.size));
    pattern.remove_prefix(symbol.size);
  }
}

}  // namespace

std::string expand_file_pattern(std::string_view pattern, const FilePatternValues& values) {
  std::string result;
  // Only backslashes are taken out: Slurm reads no symbols then.
  if (is_literal(pattern)) {
    std::copy_if(pattern.begin(), pattern.end(), std::back_inserter(result),
                 [](char c) { return c != '\\'; });
    return result;
  }
  for_each_part(
      pattern, [&](std::string_view text) { result += text; },
      [&](const Symbol& symbol, std::string_view text) {
        result += replacement(symbol, values).value_or(std::string(text));
      });
  return result;
}

FileScope file_scope(std::string_view pattern) {
  FileScope scope = FileScope::kOne;
  if (is_literal(pattern)) return scope;
  for_each_part(
      pattern, [](std::string_view) {},
      [&](const Symbol& symbol, std::string_view) {
        if (symbol.letter == 't') scope = FileScope::kPerTask;
        if (symbol.letter == 'n' || symbol.letter == 'N')
          scope = std::max(scope, FileScope::kPerNode);
      });
  return scope;
}

bool is_gathered(std::string_view pattern) {
  return !pattern.empty() && pattern != "/dev/null" && file_scope(pattern) == FileScope::kOne;
}

std::string step_text(std::uint32_t step) {
  switch (step) {
    case kBatchStep: return "batch";
    case kExternStep: return "extern";
    case kInteractiveStep: return "interactive";
    default: return fmt::format("{}", step);
  }
}

}  // namespace muster
