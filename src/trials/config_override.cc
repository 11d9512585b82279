#include "trials/config_override.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/words.h"
#include "text/yaml_text.h"

namespace muster {

Status apply_override(Json& config, std::string_view text) {
  // The first equals sign ends the path: a value may hold others.
  const std::size_t equals = text.find('=');
  std::vector<std::string> path;
  for (const std::string_view name : split(text.substr(0, equals), '.'))
    path.emplace_back(trim(name));
  // An empty name, as in "a..b=1", would make a member that no form knows.
  if (equals == std::string_view::npos || std::ranges::find(path, "") != path.end()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' sets nothing", text),
                "write NAME.NAME=VALUE");
  }
  auto value = parse_yaml(text.substr(equals + 1));
  if (!value.has_value()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("the value of '{}' cannot be read", text),
                value.error().message);
  }
  // Looks before it writes: a half-made path would stay in the configuration of a refused command.
  const Json* here = &config;
  for (std::size_t i = 0; i + 1 < path.size() && here != nullptr; ++i) {
    here = here->find(path[i]);
    // What is missing or null becomes a map; a scalar would be lost if it became one.
    if (here == nullptr || here->is_null() || here->object() != nullptr) continue;
    return fail(ErrorCode::kInvalidArgument, fmt::format("'{}' sets nothing", text),
                fmt::format("'{}' is not a map", path[i]));
  }
  config.at(path) = std::move(value->root);
  return {};
}

}  // namespace muster
