// yaml-cpp's parser sends events, and Builder makes the value, the lines and the anchors from them
// at once. Events show each alias, so that what a small text unfolds to can be counted as it
// grows, and each name, so that one that stands twice is found.

#include "text/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include "text/json_reader.h"
#include "text/words.h"

namespace muster {
namespace {

constexpr std::size_t kValueMax = 25'000;
constexpr std::size_t kByteMax = std::size_t{16} << 20;
constexpr std::size_t kDepthMax = 200;

// yaml-cpp counts lines from 0, and has -1 for "nowhere".
int line_of(const YAML::Mark& mark) { return mark.line < 0 ? 1 : mark.line + 1; }

template <class T>
std::optional<T> parse_all(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Json> parse_whole_number(std::string_view text) {
  // A sign behind the prefix makes a text of it. Source: YAML 1.2.2, section 10.3.2.
  const bool is_signed = text.size() > 2 && text[2] == '-';
  if (text.starts_with("0x") && !is_signed) {
    if (const auto value = parse_all<std::int64_t>(text.substr(2), 16)) return Json(*value);
  }
  if (text.starts_with("0o") && !is_signed) {
    if (const auto value = parse_all<std::int64_t>(text.substr(2), 8)) return Json(*value);
  }
  // from_chars reads a minus but no plus.
  if (text.starts_with('+') && text.size() > 1 && is_digit(text[1])) text.remove_prefix(1);
  if (const auto value = parse_all<std::int64_t>(text, 10)) return Json(*value);
  return std::nullopt;
}

std::optional<Json> parse_real_number(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (digits == ".inf" || digits == ".Inf" || digits == ".INF")
    return Json(text.starts_with('-') ? -kInfinite : kInfinite);
  if (text == ".nan" || text == ".NaN" || text == ".NAN")
    return Json(std::numeric_limits<double>::quiet_NaN());
  // "." alone and ".." are texts; ".5" is a number.
  const std::size_t first = digits.find_first_not_of('.');
  if (first == std::string_view::npos || first > 1 || !is_digit(digits[first])) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // A number beyond a double, such as 1e999, stays a text.
  if (end != digits.data() + digits.size() || error != std::errc()) return std::nullopt;
  return Json(text.starts_with('-') ? -value : value);
}

std::string inner_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

/// Puts a document together as the parser comes by its parts. After the first thing that is wrong
/// nothing more is kept.
class Builder final : public YAML::EventHandler {
 public:
  Result<YamlDocument> finish() {
    if (problem_) return fail(*std::move(problem_));
    std::erase_if(document_.lines,
                  [](const auto& line) { return line.first.starts_with(kUnrecorded); });
    return std::move(document_);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, {}, Json());
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) return refuse(mark, "an alias that stands within what it names");
    add(mark, 0, {}, known->second);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // Quoted scalars have the tag "!": "1" in quotes is a text.
    const bool is_text = tag == "!" || tag == "tag:yaml.org,2002:str";
    add(mark, anchor, value, is_text ? Json(value) : yaml_scalar(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, anchor, Json(Json::Array{}));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, anchor, Json(Json::Object{}));
  }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is not closed yet.
  struct Open {
    Json value;
    std::string path;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::optional<std::string> name;  ///< of a map: whose value comes next
    YAML::Mark name_mark;
    std::set<std::string> names;
    std::vector<std::pair<YAML::Mark, Json>> merged;  ///< what "<<" named
    bool is_map() const { return value.object() != nullptr; }
  };

  void refuse(const YAML::Mark& mark, std::string_view message) {
    if (!problem_)
      problem_ = Error{ErrorCode::kInvalidArgument,
                       fmt::format("line {}: {}", line_of(mark), message), ""};
    // The first problem is the cause: no later event changes anything.
    stack_.clear();
  }
  void spend(const YAML::Mark& mark, std::size_t bytes) {
    // Counts each alias again: the bounds are on what the document unfolds to, in memory.
    bytes_ += bytes;
    if (++values_ > kValueMax) refuse(mark, "the document unfolds to more than 25,000 values");
    if (bytes_ > kByteMax) refuse(mark, "the document unfolds to more than 16 MiB");
  }
  /// Counts a value and all within it, and notes where they stand.
  void record_line(const YAML::Mark& mark, const std::string& path, const Json& value) {
    spend(mark, path.size() + (value.text() != nullptr ? value.text()->size() : 0));
    if (problem_) return;
    document_.lines.try_emplace(path, line_of(mark));
    if (const auto* items = value.array()) {
      for (std::size_t i = 0; i < items->size() && !problem_; ++i)
        record_line(mark, inner_path(path, std::to_string(i)), (*items)[i]);
    }
    if (const auto* members = value.object()) {
      for (const Json::Member& member : *members) {
        if (problem_) return;
        record_line(mark, inner_path(path, member.name), member.value);
      }
    }
  }

  std::string next_path() const {
    if (stack_.empty()) return "";
    const Open& top = stack_.back();
    return inner_path(top.path,
                      top.is_map() ? *top.name : std::to_string(top.value.array()->size()));
  }
  bool expects_name() const {
    return !stack_.empty() && stack_.back().is_map() && !stack_.back().name;
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, std::string_view text, Json value) {
    if (problem_) return;
    if (expects_name()) return name_next(mark, text, value);
    // The line of a member is that of its name: the value may begin further down.
    record_line(is_member() ? stack_.back().name_mark : mark,
                is_merge() ? kUnrecorded : next_path(), value);
    if (problem_) return;
    // An anchor may be set anew: the last one counts.
    if (anchor != 0) anchors_[anchor] = value;
    put(mark, std::move(value));
  }
  void begin(const YAML::Mark& mark, YAML::anchor_t anchor, Json value) {
    if (problem_) return;
    // YAML allows lists and maps for names; Json has texts alone.
    if (expects_name()) return refuse(mark, "a name must be a plain text");
    if (stack_.size() >= kDepthMax) return refuse(mark, "nested more than 200 deep");
    std::string path = is_merge() || is_unnoted() ? kUnrecorded : next_path();
    spend(mark, path.size());
    if (!problem_)
      document_.lines.try_emplace(path, line_of(is_member() ? stack_.back().name_mark : mark));
    if (!problem_)
      stack_.push_back({std::move(value), std::move(path), mark, anchor, {}, {}, {}, {}});
  }
  void close() {
    if (problem_) return;
    Open done = std::move(stack_.back());
    stack_.pop_back();
    // After all members of its own, wherever "<<" stood: what a map says itself wins.
    for (const auto& [mark, source] : done.merged) merge(mark, source, done);
    if (problem_) return;
    if (done.anchor != 0) anchors_[done.anchor] = done.value;
    put(done.mark, std::move(done.value));
  }
  void name_next(const YAML::Mark& mark, std::string_view text, const Json& value) {
    if (value.array() != nullptr || value.object() != nullptr)
      return refuse(mark, "a name must be a plain text");
    Open& top = stack_.back();
    // The name as it is written: 1e3 in front of a colon is "1e3" and no number.
    std::string name = value.text() != nullptr ? *value.text() : std::string(text);
    // YAML 1.2 requires unique names (section 3.2.1.3), and yaml-cpp does not check them.
    if (name != "<<" && !top.names.insert(name).second) {
      return refuse(mark, fmt::format("'{}' stands twice; keep one",
                                      inner_path(top.path == kUnrecorded ? "" : top.path, name)));
    }
    spend(mark, name.size());
    top.name = std::move(name);
    top.name_mark = mark;
  }
  bool is_member() const { return !stack_.empty() && stack_.back().is_map(); }
  bool is_merge() const { return is_member() && stack_.back().name == "<<"; }
  bool is_unnoted() const { return !stack_.empty() && stack_.back().path == kUnrecorded; }

  /// A finished value goes to where it belongs.
  void put(const YAML::Mark& mark, Json value) {
    if (stack_.empty()) {
      document_.root = std::move(value);
      return;
    }
    Open& top = stack_.back();
    if (!top.is_map()) {
      top.value.array()->push_back(std::move(value));
      return;
    }
    if (top.name == "<<") {
      top.merged.emplace_back(mark, std::move(value));
    } else {
      top.value.object()->push_back({*top.name, std::move(value)});
    }
    top.name.reset();
  }
  /// What "<<" names: a map, or several, earlier ones first; what is there already stays.
  void merge(const YAML::Mark& mark, const Json& source, Open& into) {
    if (problem_) return;
    if (const auto* several = source.array()) {
      for (const Json& one : *several) {
        if (one.object() == nullptr) return refuse(mark, "'<<' takes a map or a list of maps");
        merge(mark, one, into);
      }
      return;
    }
    if (source.object() == nullptr) return refuse(mark, "'<<' takes a map or a list of maps");
    for (const Json::Member& member : *source.object()) {
      if (problem_ || !into.names.insert(member.name).second) continue;
      if (into.path != kUnrecorded)
        record_line(mark, inner_path(into.path, member.name), member.value);
      into.value.object()->push_back(member);
    }
  }

  static constexpr const char* kUnrecorded =
      "\x01";  ///< the path of what stands under a merge, noted when it is merged
  YamlDocument document_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Json> anchors_;
  std::optional<Error> problem_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

/// Sees nothing: for what must not be there.
class NoDocument final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { line = line_of(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
  int line = 1;
};

}  // namespace

Json yaml_scalar(std::string_view text) {
  // The words of the core schema alone: in YAML 1.1 `no` would be false, and a country's code.
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  // Whole numbers before others, which would read 1 as 1.0.
  if (auto whole = parse_whole_number(text)) return *std::move(whole);
  if (auto real = parse_real_number(text)) return *std::move(real);
  return std::string(text);
}

Result<YamlDocument> parse_yaml(std::string_view text) {
  const auto refusal = [](int line, std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("line {}: {}", line, what));
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder;
    // A text of comments alone has no document: it is null.
    if (!parser.HandleNextDocument(builder)) return YamlDocument{};
    YamlDocument document = TRY(builder.finish());
    NoDocument rest;
    if (parser.HandleNextDocument(rest))
      return refusal(rest.line, "a second document begins; one is expected");
    return document;
    // yaml-cpp throws; no exception leaves this file.
  } catch (const YAML::Exception& problem) {
    return refusal(line_of(problem.mark), fmt::format("not YAML: {}", problem.msg));
  }
}

Json stored_json(std::string_view text) {
  // JSON first, which is much faster to read, and what json_text has written.
  if (auto json = parse_json(text); json.has_value()) return std::move(*json);
  auto yaml = parse_yaml(text);
  return yaml.has_value() ? std::move(yaml->root) : Json();
}

}  // namespace muster
