// Reads batch scripts as text: whether one may be submitted, and the #SBATCH words in it. What the
// words mean belongs to the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// Checks that `script` may be submitted. Units: `size_max` in bytes; 0 is no limit. Errors:
/// kInvalidArgument, with the words that sbatch(1) prints; each line of the message is a line of
/// its own there.
Status check_batch_script(std::string_view script, std::uint64_t size_max);

/// The words of one `#SBATCH` line, without quotes and escapes.
struct DirectiveLine {
  std::size_t line = 0;  ///< in the script, from 1
  std::vector<std::string> words;
  friend bool operator==(const DirectiveLine&, const DirectiveLine&) = default;
};

/// The directives in a script's head.
struct BatchDirectives {
  std::vector<DirectiveLine> lines;  ///< none without words; `hetjob` lines are not among them
  std::vector<std::size_t>
      component_lines;    ///< where `#SBATCH hetjob` (or packjob) begins a further component
  bool has_pbs = false;   ///< a `#PBS` line is there
  bool has_bsub = false;  ///< a `#BSUB` line is there
  friend bool operator==(const BatchDirectives&, const BatchDirectives&) = default;
};

/// Reads the head of a script: the lines up to the first that is neither blank nor a comment. A
/// directive begins in column 1. Single and double quotes group; a backslash, inside quotes too,
/// makes the next character stand for itself, but never joins over a blank; an unquoted `#` ends
/// the line, inside a word too. Errors: kInvalidArgument for a quote that is not closed, with the
/// line. Source: sbatch(1), as sbatch 22.05 behaves.
Result<BatchDirectives> parse_batch_directives(std::string_view script);

}  // namespace muster
