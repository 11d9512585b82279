// YAML as people write it in experiment files, turned into a value and the line on which each part
// of it stands. Wraps yaml-cpp. Scalars are read as YAML 1.2's core schema says ("yes" is a text),
// merge keys (<<) as YAML 1.1 does.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/json.h"

namespace muster {

/// Where a value stands: lines from 1, by path. A path is names and places joined by dots
/// ("searcher.bracket_rungs.0"); the root's is empty.
using LineMap = std::map<std::string, int>;

struct YamlDocument {
  Json root;
  LineMap lines;
};

/// The one document of a text; an empty text is null. Errors: kInvalidArgument with the line: not
/// YAML, a name that stands twice, several documents, more than 200 levels; more than 25,000 values
/// or 16 MiB with all aliases and paths unfolded.
Result<YamlDocument> parse_yaml(std::string_view text);

/// What is stored of a configuration: as json_text wrote it, or as YAML in journals of the first
/// versions. Null: neither.
Json stored_json(std::string_view text);

/// What a plain scalar stands for: null, a boolean, a whole number, a number, else a text.
Json yaml_scalar(std::string_view text);

}  // namespace muster
