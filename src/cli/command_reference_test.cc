// docs/reference/commands.md against the commands themselves: what is taken and what is refused, as
// their tables have it.
//   MUSTER_UPDATE_GOLDEN=1    writes that part of the document anew
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/lib/commands.h"
#include "cli/slurm/submit_options.h"
#include "text/words.h"

namespace muster::cli {
namespace {

constexpr std::string_view kBegin =
    "<!-- begin: written by cli_test with MUSTER_UPDATE_GOLDEN=1 -->\n";
constexpr std::string_view kEnd = "<!-- end -->\n";

std::string help_of(const CommandRow& command) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(command.run({"--help"}), 0) << command.name;
  return ::testing::internal::GetCapturedStdout();
}

/// "--account" of "  -A, --account=VALUE   an account's name".
std::string long_name(std::string_view line) {
  const std::size_t begin = line.find("--");
  if (begin == std::string_view::npos || line.find_first_not_of(' ') + 4 < begin) return "";
  return std::string(line.substr(begin, line.find_first_of(" =[", begin) - begin));
}

std::string listed(std::string_view title, const Words& names) {
  return names.empty() ? std::string()
                       : fmt::format("{}: `{}`\n\n", title, fmt::join(names, "` `"));
}

bool is_recorded(std::string_view name) {
  return std::ranges::any_of(submit_rows(), [&](const SubmitRow& row) {
    return name == row.name && row.use == OptionUse::kRecorded;
  });
}

/// A command's part: the names that its --help shows, by how they are treated.
std::string part_of(const CommandRow& command) {
  const std::string help = help_of(command);
  const bool is_submitter =
      command.name == "sbatch" || command.name == "srun" || command.name == "salloc";
  Words taken, recorded, verbs;
  std::string rest;
  bool is_above = true;  // what stands over the options: of scontrol, its verbs
  std::string_view title;
  for (const std::string_view line : split(help, '\n')) {
    if (const std::string option = long_name(line); !option.empty() && title.empty()) {
      is_above = false;
      (is_submitter && is_recorded(std::string_view(option).substr(2)) ? recorded : taken)
          .push_back(option);
    } else if (line.ends_with(":")) {
      title = line.substr(0, line.size() - 1);
    } else if (line.starts_with("  ") && !title.empty()) {
      Words words = split_list(line.substr(line.find_first_not_of(' ')), ' ');
      std::erase(words, "");
      const bool is_keys = words.front().ends_with("=");
      const std::string name =
          is_keys ? fmt::format("{}, {}", title, words.front()) : std::string(title);
      rest += listed(name, Words(words.begin() + (is_keys ? 1 : 0), words.end()));
    } else if (line.starts_with("  ") && is_above) {
      verbs.push_back(std::string(line.substr(2, line.find(' ', 2) - 2)));
    }
  }
  return fmt::format("### {}\n{}{}{}{}", command.name, listed("Options", taken),
                     listed("Recorded and shown, without effect", recorded), listed("Verbs", verbs),
                     rest);
}

TEST(CommandReference, SaysWhatTheCommandsTakeAndRefuse) {
  const char* root = std::getenv("MUSTER_SOURCE_DIR");
  if (root == nullptr) GTEST_SKIP() << "MUSTER_SOURCE_DIR says where the document is";
  const std::string path = fmt::format("{}/docs/reference/commands.md", root);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos && begin < end) << path;
  std::string parts;
  for (const CommandRow& command : slurm_commands()) parts += part_of(command);
  const std::size_t inside = begin + kBegin.size();
  if (std::getenv("MUSTER_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text.substr(0, inside) << parts << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(inside, end - inside), parts)
      << "write it anew with MUSTER_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace muster::cli
