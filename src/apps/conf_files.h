// Files that a configuration includes: read where its own file lies, unless their paths are absolute.
#pragma once

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>

#include "codec/conf_lines.h"

namespace muster {

/// Errors: kNotFound with the path.
inline IncludeReader include_reader(const std::string& conf_path) {
  const std::size_t slash = conf_path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : conf_path.substr(0, slash);
  return [folder](std::string_view path) -> Result<std::string> {
    const std::string whole = path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", folder, path);
    std::ifstream file(whole);
    if (!file) return fail(ErrorCode::kNotFound, fmt::format("cannot read {}", whole), "an Include names it");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
}

}  // namespace muster
