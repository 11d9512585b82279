// Reads YAML as people write it in experiment files, as a value and the line on which each part of
// it stands. Wraps yaml-cpp. Scalars are read as YAML 1.2's core schema says ("yes" is a text),
// merge keys (<<) as YAML 1.1 does.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster {

/// The line of each value: lines count from 1, by path. A path is names and indices joined by dots
/// ("searcher.bracket_rungs.0"); the root's is empty.
using LineMap = std::map<std::string, int>;

struct YamlDocument {
  Json root;
  LineMap lines;
};

/// Returns the one document of a text; an empty text is null. Errors: kInvalidArgument with the
/// line: not YAML, a name that stands twice, several documents, more than 200 levels; more than
/// 25,000 values or 16 MiB with all aliases and paths unfolded.
Result<YamlDocument> parse_yaml(std::string_view text);

/// Reads a configuration that was stored: as json_text wrote it, or as YAML in journals of the
/// first versions. Null: neither.
Json stored_json(std::string_view text);

/// Returns what a plain scalar means: null, a boolean, a whole number, a number, else a text.
Json yaml_scalar(std::string_view text);

}  // namespace muster
