#include "codec/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "codec/words.h"

namespace muster {
namespace {

constexpr std::size_t kValueMax = 1'000'000;
constexpr int kDepthMax = 200;

int line_of(const YAML::Mark& mark) { return mark.line < 0 ? 1 : mark.line + 1; }

tl::unexpected<Error> refuse(int line, std::string message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: {}", line, message));
}

template <class T>
std::optional<T> parse_all(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Json> parse_whole_number(std::string_view text) {
  if (text.starts_with("0x")) {
    if (const auto value = parse_all<std::int64_t>(text.substr(2), 16)) return Json(*value);
  }
  if (text.starts_with("0o")) {
    if (const auto value = parse_all<std::int64_t>(text.substr(2), 8)) return Json(*value);
  }
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  if (const auto value = parse_all<std::int64_t>(text, 10)) return Json(*value);
  return std::nullopt;
}

std::optional<Json> parse_real_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (digits == ".inf" || digits == ".Inf" || digits == ".INF") return Json(text.starts_with('-') ? -kInfinite : kInfinite);
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return Json(std::numeric_limits<double>::quiet_NaN());
  const std::size_t first = digits.find_first_not_of('.');
  if (first == std::string_view::npos || first > 1 || !is_digit(digits[first])) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::nullopt;
  return Json(text.starts_with('-') ? -value : value);
}

/// Walks yaml-cpp's nodes, which may share what aliases name.
class Unfolder {
 public:
  explicit Unfolder(LineMap& lines) : lines_(lines) {}

  Result<Json> unfold(const YAML::Node& node, const std::string& path, int depth) {
    const int line = line_of(node.Mark());
    lines_.try_emplace(path, line);
    if (++count_ > kValueMax) return refuse(line, "aliases unfold to more than 1,000,000 values");
    if (depth > kDepthMax) return refuse(line, "nested more than 200 deep");
    if (node.IsMap()) return unfold_map(node, path, depth);
    if (node.IsSequence()) {
      Json::Array items;
      for (std::size_t i = 0; i < node.size(); ++i) {
        items.push_back(TRY(unfold(node[i], path.empty() ? std::to_string(i) : fmt::format("{}.{}", path, i), depth + 1)));
      }
      return Json(std::move(items));
    }
    if (!node.IsScalar()) return Json();
    const std::string& tag = node.Tag();
    const bool is_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    return is_text ? Json(node.Scalar()) : yaml_scalar(node.Scalar());
  }

 private:
  Result<Json> unfold_map(const YAML::Node& node, const std::string& path, int depth) {
    Json::Object members;
    std::vector<YAML::Node> merged;
    for (const auto& pair : node) {
      const int line = line_of(pair.first.Mark());
      if (!pair.first.IsScalar()) return refuse(line, "a name must be a plain text");
      const std::string name = pair.first.Scalar();
      if (name == "<<") {
        merged.push_back(pair.second);
        continue;
      }
      const std::string inner = path.empty() ? name : path + "." + name;
      if (std::ranges::find(members, name, &Json::Member::name) != members.end()) {
        return refuse(line, fmt::format("'{}' stands twice; keep one", inner));
      }
      Json value = TRY(unfold(pair.second, inner, depth + 1));
      lines_[inner] = line;
      members.push_back({name, std::move(value)});
    }
    for (const YAML::Node& source : merged) {
      const auto status = merge(source, path, depth, members);
      if (!status.has_value()) return fail(status.error());
    }
    return Json(std::move(members));
  }
  /// What "<<" names: a map, or several, earlier ones first; what is there already stays.
  Status merge(const YAML::Node& source, const std::string& path, int depth, Json::Object& members) {
    if (source.IsSequence()) {
      for (const auto& each : source) TRY(merge(each, path, depth + 1, members));
      return {};
    }
    if (!source.IsMap()) return refuse(line_of(source.Mark()), "'<<' takes a map or a list of maps");
    Json unfolded = TRY(unfold(source, path, depth + 1));
    for (Json::Member& member : *unfolded.object()) {
      if (std::ranges::find(members, member.name, &Json::Member::name) == members.end()) members.push_back(std::move(member));
    }
    return {};
  }

  LineMap& lines_;
  std::size_t count_ = 0;
};

}  // namespace

Json yaml_scalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (auto whole = parse_whole_number(text)) return *std::move(whole);
  if (auto real = parse_real_number(text)) return *std::move(real);
  return std::string(text);
}

Result<YamlDocument> parse_yaml(std::string_view text) {
  YamlDocument document;
  try {
    const std::vector<YAML::Node> nodes = YAML::LoadAll(std::string(text));
    if (nodes.size() > 1) return refuse(line_of(nodes[1].Mark()), "a second document begins; one is expected");
    if (nodes.empty()) return document;
    document.root = TRY(Unfolder(document.lines).unfold(nodes[0], "", 0));
  } catch (const YAML::Exception& problem) {
    return refuse(line_of(problem.mark), fmt::format("not YAML: {}", problem.msg));
  }
  return document;
}

}  // namespace muster
