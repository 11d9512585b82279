// A scenario of HTTP as a list of statements, each with what is expected of its answer. The format
// is described in tests/scenarios/README.md. Not here: what the statements mean.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::http_scenario {

struct Line {
  std::string where;  ///< "12", or "parts/pair.part:3"
  std::string text;   ///< without its indentation
};

struct Statement {
  Line line;
  std::vector<std::string> headers;  ///< behind ">"
  std::vector<std::string> body;     ///< behind "|"
  std::vector<Line> expectations;
};

struct Script {
  std::vector<Statement> statements;
  std::vector<std::string> expected_failures;  ///< parts of failures that the scenario says it has
  std::vector<std::string> errors;             ///< "WHERE: what is wrong with the text"
};

/// Reads a file; "with NAME" stands for the statements of NAME.part below `parts`.
Script read_script(const std::string& path, const std::string& parts);

/// Texts by name: "$name" and "${name}" stand for them.
using Variables = std::map<std::string, std::string>;
/// With the names replaced. `unknown`: of names that stand for nothing, the last.
std::string substituted(std::string_view text, const Variables& variables, std::string& unknown);

/// Takes the first word off, and the blanks behind it; a "quoted part" of a word may hold blanks.
std::string first_word(std::string_view& rest);

}  // namespace muster::http_scenario
