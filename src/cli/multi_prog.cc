#include "cli/multi_prog.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "codec/array_text.h"
#include "codec/words.h"

namespace muster::cli {
namespace {

/// Of the task that the script runs for.
constexpr std::string_view kRank = "\"$SLURM_PROCID\"";
constexpr std::string_view kOffset = "\"$muster_offset\"";

/// As a word of which the shell reads nothing.
std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

/// Reads words as srun(1) describes the file, and writes them for the shell: blanks part them,
/// single quotes and a backslash take the meaning of what they enclose or precede, %t and %o are
/// numbers. Nothing else means anything.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  /// Errors: kInvalidArgument for a quote that is not closed.
  Result<std::string> shell_words() {
    std::string words;
    for (rest_ = trim(rest_); !rest_.empty(); rest_ = trim(rest_)) words += TRY(word()) + " ";
    return words;
  }

 private:
  Result<std::string> word() {
    std::string word;
    std::string literal;
    const auto end_literal = [&] { word += quoted(std::exchange(literal, {})); };
    while (!rest_.empty() && rest_.front() != ' ' && rest_.front() != '\t') {
      const char first = take();
      if (first == '\'') {
        const auto end = rest_.find('\'');
        if (end == std::string_view::npos)
          return fail(ErrorCode::kInvalidArgument, "a single quote is not closed");
        literal += rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
      } else if (first == '\\' && !rest_.empty()) {
        literal += take();
      } else if (first == '%' && (rest_.starts_with('t') || rest_.starts_with('o'))) {
        if (!literal.empty()) end_literal();
        word += take() == 't' ? kRank : kOffset;
      } else {
        literal += first;
      }
    }
    if (!literal.empty() || word.empty()) end_literal();
    return word;
  }
  char take() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
};

/// What a rank runs.
struct Program {
  std::size_t line = 0;  ///< place of its command
  std::size_t offset = 0;
};

/// Ranks that follow one another in a line's list.
struct RankRun {
  std::size_t line = 0;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t offset = 0;  ///< of the first
};

std::vector<RankRun> runs_of(const std::vector<Program>& programs) {
  std::vector<RankRun> runs;
  for (std::uint32_t rank = 0; rank < programs.size(); ++rank) {
    const Program& program = programs[rank];
    const bool goes_on = !runs.empty() && runs.back().line == program.line &&
                         runs.back().offset + (rank - runs.back().first) == program.offset;
    if (goes_on) {
      runs.back().last = rank;
    } else {
      runs.push_back({program.line, rank, rank, program.offset});
    }
  }
  return runs;
}

/// Its length hangs on the lines and on how their ranks lie, not on how many there are: one word of
/// a command has a bound.
std::string script_of(const std::vector<std::string>& commands,
                      const std::vector<Program>& programs) {
  std::vector<std::string> conditions(commands.size());
  for (const RankRun& run : runs_of(programs)) {
    std::string& condition = conditions[run.line];
    if (!condition.empty()) condition += " || ";
    condition += fmt::format("ranks {} {} {}", run.first, run.last, run.offset);
  }
  std::string script =
      "ranks() { [ $SLURM_PROCID -ge $1 ] && [ $SLURM_PROCID -le $2 ] && "
      "muster_offset=$((SLURM_PROCID - $1 + $3)); }\n";
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!conditions[i].empty())
      script += fmt::format("if {}; then exec {}\"$@\"; fi\n", conditions[i], commands[i]);
  }
  return script;
}

}  // namespace

Result<std::string> multi_prog_command(std::string_view text, std::uint32_t task_count) {
  std::vector<std::string> commands;
  std::vector<std::optional<Program>> known(task_count);
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const auto blank = line.find_first_of(" \t");
    const std::string_view ranks = line.substr(0, blank);
    if (blank == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {}: no program for tasks {}", number, ranks));
    Bitmap members = Bitmap::range(0, task_count);
    if (ranks != "*") {
      auto parsed = parse_array(ranks, task_count);
      if (!parsed.has_value())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("line {}: invalid task range {}", number, ranks));
      members = std::move(parsed->indices);
    }
    auto command = LineReader(line.substr(blank)).shell_words();
    if (!command.has_value())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {}: {}", number, command.error().message));
    std::size_t offset = 0;
    for (const std::size_t rank : members.indices()) {
      if (rank >= task_count || (ranks == "*" && known[rank])) continue;
      known[rank] = Program{commands.size(), offset++};
    }
    commands.push_back(std::move(command).value());
  }
  std::vector<Program> programs;
  for (const auto& program : known) {
    if (!program)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("no program for task {}", programs.size()));
    programs.push_back(*program);
  }
  return script_of(commands, programs);
}

}  // namespace muster::cli
