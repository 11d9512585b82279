// --multi-prog becomes a shell script that every task runs: it looks up its rank and becomes the
// program of its line. So nodes need nothing of ours, and a step has one command whatever its
// tasks do.

#include "cli/slurm/multi_prog.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/bitmap.h"
#include "text/words.h"

namespace muster::cli {
namespace {

/// Of the task that the script runs for.
constexpr std::string_view kRank = "\"$SLURM_PROCID\"";
/// Beyond what any step has.
constexpr std::uint32_t kRanksMax = 1U << 20;
constexpr std::string_view kOffset = "\"$muster_offset\"";

/// As a word of which the shell reads nothing.
std::string quoted(std::string_view word) {
  // A quote within single quotes: close, an escaped one, open again.
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
      const char first = consume();
      if (first == '\'') {
        const auto end = rest_.find('\'');
        if (end == std::string_view::npos)
          return fail(ErrorCode::kInvalidArgument, "a single quote is not closed");
        literal += rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
      } else if (first == '\\' && !rest_.empty()) {
        literal += consume();
      } else if (first == '%' && (rest_.starts_with('t') || rest_.starts_with('o'))) {
        // Outside of quotes only: '%t' within them is text.
        if (!literal.empty()) end_literal();
        word += consume() == 't' ? kRank : kOffset;
      } else {
        literal += first;
      }
    }
    // An empty pair of quotes is an empty argument.
    if (!literal.empty() || word.empty()) end_literal();
    return word;
  }
  char consume() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
};

/// Ranks of a line's list at one distance, at places of the list that follow one another.
struct RankRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  std::size_t offset = 0;  ///< of the first
  std::size_t count = 0;
};

/// What stands on a line.
struct Line {
  std::string command;
  bool is_rest = false;  ///< "*"
  std::vector<RankRun> runs;
};

void add_rank(std::vector<RankRun>& runs, std::uint32_t rank, std::size_t offset) {
  // Runs keep the script short: 0,2,4,...,998 is one condition.
  if (!runs.empty() && rank > runs.back().last) {
    // The distance of a run is set by its second rank.
    RankRun& run = runs.back();
    const std::uint32_t step = rank - run.last;
    if (run.count == 1 || run.step == step) {
      run.step = step;
      run.last = rank;
      ++run.count;
      return;
    }
  }
  runs.push_back({rank, rank, 1, offset, 1});
}

/// "0,4-7": each rank once in the whole file, counted in the order in which they stand.
/// `known`: the ranks of earlier lines; those of this one are added.
Result<std::vector<RankRun>> read_ranks(std::string_view text, std::uint32_t task_count,
                                        Bitmap& known) {
  std::vector<RankRun> runs;
  std::size_t offset = 0;
  for (const std::string_view item :
       // Slurm's parser overlooks a comma at the end.
       split(text.substr(0, text.size() - text.ends_with(',')), ',')) {
    const auto dash = item.find('-');
    const auto first = parse_whole32(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_whole32(item.substr(dash + 1));
    if (!first || !last)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Invalid task range specification ({})", text));
    if (*first > *last)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("Invalid task range, {}-{}", *first, *last));
    // Also of ranges, so that none fills a bitmap without bound.
    if (*last >= task_count)
      return fail(ErrorCode::kInvalidArgument, fmt::format("Invalid task id, {} >= ntasks", *last));
    for (std::uint32_t rank = *first; rank <= *last; ++rank) {
      if (known.test(rank))
        return fail(ErrorCode::kInvalidArgument, fmt::format("Duplicate record for task {}", rank));
      known.set(rank);
      add_rank(runs, rank, offset++);
    }
  }
  return runs;
}

/// Its length hangs on the file's, not on how many ranks there are: one word of a command has a
/// bound.
std::string script_of(const std::vector<Line>& lines) {
  // $1 first, $2 last, $3 distance, $4 offset of the run; sets what %o stands for. Source:
  // srun(1), MULTIPLE PROGRAM CONFIGURATION.
  std::string script =
      "ranks() { muster_offset=$(((SLURM_PROCID - $1) / $3 + $4)); [ $SLURM_PROCID -ge $1 ] && "
      "[ $SLURM_PROCID -le $2 ] && [ $(((SLURM_PROCID - $1) % $3)) -eq 0 ]; }\n";
  for (const Line& line : lines) {
    if (line.is_rest) {
      // Of the rest the offset is the rank itself.
      script += fmt::format("muster_offset=$SLURM_PROCID; exec {}\"$@\"\n", line.command);
      continue;
    }
    std::string condition;
    for (const RankRun& run : line.runs)
      condition += fmt::format("{}ranks {} {} {} {}", condition.empty() ? "" : " || ", run.first,
                               run.last, run.step, run.offset);
    // "$@": arguments of srun follow those of the line.
    script += fmt::format("if {}; then exec {}\"$@\"; fi\n", condition, line.command);
  }
  return script;
}

/// A backslash at a line's end joins the next one to it, also to a comment.
std::string consume_line(std::string_view& text, std::size_t& number) {
  std::string line;
  for (;;) {
    const auto end = text.find('\n');
    line += text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (!line.ends_with('\\')) return line;
    line.pop_back();
    if (text.empty()) return line;
  }
}

Result<Line> read_line(std::string_view text, std::uint32_t task_count, Bitmap& known) {
  Line line;
  const auto blank = text.find_first_of(" \t");
  const std::string_view ranks = text.substr(0, blank);
  if (blank == std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument, fmt::format("no program for tasks {}", ranks));
  line.is_rest = ranks == "*";
  if (!line.is_rest) line.runs = TRY(read_ranks(ranks, task_count, known));
  line.command = TRY(LineReader(text.substr(blank)).shell_words());
  return line;
}

}  // namespace

namespace {

/// `known`: every rank that is named.
Result<std::vector<Line>> read_lines(std::string_view text, std::uint32_t task_count,
                                     Bitmap& known) {
  // The script is an argument of a process, which ends at a zero byte.
  if (text.find('\0') != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                "the configuration file is no text: it has a NUL byte");
  std::vector<Line> lines;
  for (std::size_t number = 0; !text.empty();) {
    const std::string whole = consume_line(text, number);
    const std::string_view content = trim(whole);
    if (content.empty() || content.front() == '#') continue;
    auto line = read_line(content, task_count, known);
    // Nothing behind it could ever be chosen.
    if (!lines.empty() && lines.back().is_rest)
      line =
          fail(ErrorCode::kInvalidArgument, "Task range specification with asterisk must be last");
    if (!line.has_value())
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("line {}: {}", number, line.error().message));
    lines.push_back(std::move(line).value());
  }
  return lines;
}

}  // namespace

Result<std::uint32_t> multi_prog_task_count(std::string_view text) {
  Bitmap known;
  TRY(read_lines(text, kRanksMax, known));
  // The highest rank that is named, and one.
  std::size_t count = 1;
  known.for_each([&](std::size_t rank) { count = rank + 1; });
  return static_cast<std::uint32_t>(count);
}

Result<std::string> multi_prog_command(std::string_view text, std::uint32_t task_count) {
  Bitmap known;
  const std::vector<Line> lines = TRY(read_lines(text, task_count, known));
  // Without a line for the rest every task must be named.
  if (lines.empty() || !lines.back().is_rest) {
    for (std::size_t rank = 0; rank < task_count; ++rank) {
      if (!known.test(rank))
        return fail(ErrorCode::kInvalidArgument, fmt::format("no program for task {}", rank));
    }
  }
  return script_of(lines);
}

}  // namespace muster::cli
