// Files that a configuration includes: read where its own file lies, unless their paths are absolute.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "codec/conf_lines.h"

namespace muster {

/// `check`, where given, is asked about each file first. Errors: its own; kNotFound with the path and the system's reason.
inline IncludeReader include_reader(const std::string& conf_path, std::function<Status(const std::string&)> check = nullptr) {
  const std::size_t slash = conf_path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : conf_path.substr(0, slash);
  return [folder, check = std::move(check)](std::string_view path) -> Result<std::string> {
    const std::string whole = path.starts_with('/') ? std::string(path) : fmt::format("{}/{}", folder, path);
    if (check != nullptr) TRY(check(whole));
    std::ifstream file(whole);
    if (!file) return fail(ErrorCode::kNotFound, fmt::format("cannot read {}", whole), std::strerror(errno));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
}

}  // namespace muster
