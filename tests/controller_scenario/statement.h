// A controller scenario as a list of statements, each with the instant at which it holds. The
// format is described in tests/scenarios/README.md.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/scenario_text.h"

namespace muster::scenario {

/// One statement: "at SECONDS" has been taken off.
struct Statement {
  std::size_t line = 0;
  std::int64_t at = 0;             ///< in seconds from the scenario's beginning
  std::string text;                ///< as written, for messages and for what is no list of words
  std::vector<std::string> words;  ///< never empty
};

struct Scenario {
  std::string conf;  ///< lines of slurm.conf, each on its line of the file
  std::vector<Statement> statements;
  std::vector<std::string> errors;  ///< "LINE: ..."
};

/// Lines whose first word has a "=" are slurm.conf's, as long as nothing but "fails" stands
/// before them. A line "at SECONDS" holds for those below it, too. Errors: a time that goes back.
Scenario read_scenario(std::istream& stream);

}  // namespace muster::scenario
