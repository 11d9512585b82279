// Reads experiment files for commands: a file, a template under it, values given on the command
// line over it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "text/yaml_text.h"

namespace muster::cli {

class CommandParser;

struct ExperimentFile {
  std::string path;           ///< "-": standard input
  std::string template_path;  ///< empty: none
  std::vector<std::string> overrides;

  /// Returns all that is wrong with what was read, a line each with the file's name; empty: it can
  /// run.
  std::vector<std::string> problems(const YamlDocument& document) const;
  /// Returns what is allowed and hardly meant, a line each.
  std::vector<std::string> warnings(const YamlDocument& document) const;
  /// Returns the text of the file itself. Errors name it.
  Result<std::string> text() const;
  /// Adds FILE, --template and --config to a command.
  void add_to(CommandParser& parser);
  /// Returns the user's and the template's words, without the defaults; lines are those of the
  /// file. Errors name the file.
  Result<YamlDocument> read() const;
};

}  // namespace muster::cli
