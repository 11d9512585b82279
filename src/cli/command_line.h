// The words of Muster's own subcommands, which have no contract of Slurm's to keep: read by CLI11.
#pragma once

#include <optional>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace muster::cli {

/// Parses the words. A value means: leave with that exit code (help was shown, or a mistake was said).
std::optional<int> parse_words(CLI::App& app, Words words);

}  // namespace muster::cli
