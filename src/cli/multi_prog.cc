#include "cli/multi_prog.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "codec/array_text.h"
#include "codec/words.h"

namespace muster::cli {
namespace {

/// Reads words as srun(1) describes the file: blanks part them, single quotes and a backslash take
/// the meaning of what they enclose or precede, %t and %o are numbers. Nothing else means anything.
class LineReader {
 public:
  LineReader(std::string_view line, std::uint32_t rank, std::size_t offset)
      : rest_(line), rank_(rank), offset_(offset) {}

  /// Errors: kInvalidArgument for a quote that is not closed.
  Result<std::vector<std::string>> words() {
    std::vector<std::string> words;
    for (rest_ = trim(rest_); !rest_.empty(); rest_ = trim(rest_)) {
      std::string next = TRY(word());
      words.push_back(std::move(next));
    }
    return words;
  }

 private:
  Result<std::string> word() {
    std::string word;
    while (!rest_.empty() && rest_.front() != ' ' && rest_.front() != '\t') {
      const char first = take();
      if (first == '\'') {
        const auto end = rest_.find('\'');
        if (end == std::string_view::npos)
          return fail(ErrorCode::kInvalidArgument, "a single quote is not closed");
        word += rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
      } else if (first == '\\' && !rest_.empty()) {
        word += take();
      } else if (first == '%' && (rest_.starts_with('t') || rest_.starts_with('o'))) {
        word += take() == 't' ? fmt::format("{}", rank_) : fmt::format("{}", offset_);
      } else {
        word += first;
      }
    }
    return word;
  }
  char take() {
    const char first = rest_.front();
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
  std::uint32_t rank_;
  std::size_t offset_;
};

/// As a word of which the shell reads nothing.
std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) c == '\'' ? out += "'\\''" : out += c;
  return out + "'";
}

Result<std::string> shell_command(std::string_view line, std::uint32_t rank, std::size_t offset) {
  const std::vector<std::string> words = TRY(LineReader(line, rank, offset).words());
  std::string command;
  for (const std::string& word : words) command += quoted(word) + " ";
  return command + "\"$@\"";
}

}  // namespace

Result<std::string> multi_prog_command(std::string_view text, std::uint32_t task_count) {
  std::map<std::uint32_t, std::string> commands;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const auto blank = line.find_first_of(" \t");
    const std::string_view ranks = line.substr(0, blank);
    if (blank == std::string_view::npos) return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: no program for tasks {}", number, ranks));
    const std::string_view words = trim(line.substr(blank));
    Bitmap members = Bitmap::range(0, task_count);
    if (ranks != "*") {
      auto parsed = parse_array(ranks, task_count);
      if (!parsed.has_value()) return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: invalid task range {}", number, ranks));
      members = std::move(parsed->indices);
    }
    std::size_t offset = 0;
    for (const std::size_t index : members.indices()) {
      const auto rank = static_cast<std::uint32_t>(index);
      if (ranks == "*" && commands.contains(rank)) continue;
      auto command = shell_command(words, rank, offset++);
      if (!command.has_value())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("line {}: {}", number, command.error().message));
      commands[rank] = std::move(command).value();
    }
  }
  std::string script = "case $SLURM_PROCID in\n";
  for (std::uint32_t rank = 0; rank < task_count; ++rank) {
    const auto command = commands.find(rank);
    if (command == commands.end()) return fail(ErrorCode::kInvalidArgument, fmt::format("no program for task {}", rank));
    script += fmt::format("{}) exec {} ;;\n", rank, command->second);
  }
  return script + "esac\n";
}

}  // namespace muster::cli
