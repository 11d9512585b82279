#include "tests/http_scenario/json_path.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace muster::http_scenario {
namespace {

struct Part {
  std::string name = {};           ///< of a member; unused where it is an index
  std::optional<long> index = {};  ///< of an element; negative: from the end
  bool is_all = false;             ///< every element
  bool is_member() const { return !index && !is_all; }
};

tl::unexpected<Error> unreadable(std::string_view path) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("the path {} cannot be read", path));
}

/// The end of the part that begins there; npos: it has none.
std::size_t end_of(std::string_view path, std::size_t at) {
  if (path[at] == '[') return path.find(']', at);
  if (path[at] == '"') return path.find('"', at + 1);
  const std::size_t end = path.find_first_of(".[", at);
  return (end == path.npos ? path.size() : end) - 1;
}

Result<Part> part_of(std::string_view text, std::string_view path) {
  if (text == "[*]") return Part{{}, {}, true};
  if (text.front() == '"') return Part{std::string(text.substr(1, text.size() - 2))};
  if (text.front() != '[') return Part{std::string(text)};
  long index = 0;
  const char* last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data() + 1, last, index);
  if (error != std::errc() || end != last) return unreadable(path);
  return Part{{}, index};
}

Result<std::vector<Part>> parts_of(std::string_view path) {
  std::vector<Part> parts;
  if (path == "answer") return parts;
  for (std::size_t at = 0; at < path.size();) {
    if (path[at] == '.') {
      ++at;
      if (at == path.size()) return unreadable(path);
    }
    const std::size_t end = end_of(path, at);
    if (end == path.npos || end < at) return unreadable(path);
    parts.push_back(TRY(part_of(path.substr(at, end + 1 - at), path)));
    at = end + 1;
  }
  if (parts.empty()) return unreadable(path);
  return parts;
}

const Json* element(const Json& list, long index) {
  if (list.array() == nullptr) return nullptr;
  const auto size = static_cast<long>(list.array()->size());
  const long at = index < 0 ? size + index : index;
  return at < 0 || at >= size ? nullptr : &(*list.array())[static_cast<std::size_t>(at)];
}

std::optional<Json> found_in(const Json& value, const std::vector<Part>& parts, std::size_t from) {
  if (from == parts.size()) return value;
  const Part& part = parts[from];
  if (!part.is_all) {
    const Json* next = part.is_member() ? value.find(part.name) : element(value, *part.index);
    return next == nullptr ? std::nullopt : found_in(*next, parts, from + 1);
  }
  if (value.array() == nullptr) return std::nullopt;
  Json::Array all;
  for (const Json& one : *value.array()) {
    auto found = found_in(one, parts, from + 1);
    if (!found) return std::nullopt;
    all.push_back(std::move(*found));
  }
  return Json(std::move(all));
}

}  // namespace

Result<Json> value_at(const Json& root, std::string_view path) {
  const std::vector<Part> parts = TRY(parts_of(path));
  auto found = found_in(root, parts, 0);
  if (!found) return fail(ErrorCode::kNotFound, fmt::format("{} is not there", path));
  return std::move(*found);
}

}  // namespace muster::http_scenario
