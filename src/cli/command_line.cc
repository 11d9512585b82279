#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace muster::cli {

std::optional<int> parse_words(CLI::App& app, Words words) {
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  return std::nullopt;
}

}  // namespace muster::cli
