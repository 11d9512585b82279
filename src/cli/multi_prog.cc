#include "cli/multi_prog.h"

#include <fmt/format.h>

#include <map>

#include "codec/array_text.h"
#include "codec/words.h"

namespace muster::cli {
namespace {

std::string replaced(std::string_view command, std::uint32_t rank, std::size_t place) {
  std::string text;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char next = command[i] == '%' && i + 1 < command.size() ? command[i + 1] : '\0';
    if (next != 't' && next != 'o') {
      text += command[i];
      continue;
    }
    text += fmt::format("{}", next == 't' ? rank : place);
    ++i;
  }
  return text;
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
    const std::string_view command = trim(line.substr(blank));
    Bitmap members = Bitmap::range(0, task_count);
    if (ranks != "*") {
      auto parsed = parse_array(ranks, task_count);
      if (!parsed.has_value()) return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: invalid task range {}", number, ranks));
      members = std::move(parsed->indices);
    }
    std::size_t place = 0;
    members.for_each([&](std::size_t index) {
      const auto rank = static_cast<std::uint32_t>(index);
      if (ranks == "*" && commands.contains(rank)) return;
      commands[rank] = replaced(command, rank, place++);
    });
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
