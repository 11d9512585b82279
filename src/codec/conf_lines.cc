#include "codec/conf_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "codec/words.h"

namespace muster {
namespace {

constexpr int kIncludeDepthMax = 8;

struct LogicalLine {
  std::size_t number = 0;
  std::string text;
};

// Without the comment; "\#" becomes "#".
std::string without_comment(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_escaped = !result.empty() && result.back() == '\\';
    if (c == '#' && !is_escaped) break;
    if (c == '#') result.pop_back();
    result += c;
  }
  return result;
}

std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> lines;
  bool is_joined = false;
  std::size_t number = 0;
  for (const std::string_view physical : split(text, '\n')) {
    ++number;
    std::string line = without_comment(physical);
    const std::size_t last = line.find_last_not_of(" \t\r");
    const bool joins_next = last != std::string::npos && line[last] == '\\';
    if (joins_next) line.resize(last);
    if (is_joined) {
      lines.back().text += line;
    } else {
      lines.push_back({number, line});
    }
    is_joined = joins_next;
  }
  std::erase_if(lines, [](const LogicalLine& line) { return trim(line.text).empty(); });
  return lines;
}

tl::unexpected<Error> invalid(const ConfLine& line, std::string_view what, std::string detail) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", line.place(), what),
              std::move(detail));
}

bool is_key_character(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '.' ||
         c == '/';
}

// Takes a value off the beginning of `rest`. Requires: no blank in front.
Result<std::string> take_value(std::string_view& rest, const ConfLine& line) {
  const bool is_quoted = !rest.empty() && rest.front() == '"';
  if (is_quoted) rest.remove_prefix(1);
  const auto end = std::find_if(rest.begin(), rest.end(),
                                [&](char c) { return is_quoted ? c == '"' : is_blank(c); });
  if (is_quoted && end == rest.end())
    return invalid(line, "a quote is not closed", fmt::format("in '{}'", rest));
  const auto size = static_cast<std::size_t>(end - rest.begin());
  std::string value(rest.substr(0, size));
  rest.remove_prefix(size + (is_quoted ? 1 : 0));
  return value;
}

// True for "Key=...": where a value should stand, the value was forgotten.
bool starts_with_pair(std::string_view rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_key_character);
  return end != rest.end() && end != rest.begin() && *end == '=';
}

Result<ConfPair> take_pair(std::string_view& rest, const ConfLine& line) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_key_character);
  const auto size = static_cast<std::size_t>(end - rest.begin());
  const std::string key(rest.substr(0, size));
  const std::string_view after = trim(rest.substr(size));
  if (key.empty() || after.empty() || after.front() != '=') {
    return invalid(line, "Key=Value is expected", fmt::format("at '{}'", rest));
  }
  rest = trim(after.substr(1));
  const bool is_apart = after.size() > 1 && is_blank(after[1]);
  if (rest.empty() || (is_apart && starts_with_pair(rest))) {
    return invalid(line, fmt::format("{} has no value", key),
                   "write Key=Value, or take the key out");
  }
  // Not inside the braces: a return from there would leave the key's copy unfreed (g++ 12).
  std::string value = TRY(take_value(rest, line));
  return ConfPair{key, std::move(value)};
}

// "Include path" and "Include=path": the path. Empty: another line.
std::string_view included_path(std::string_view text) {
  constexpr std::string_view kWord = "include";
  if (!equal_ignoring_case(text.substr(0, kWord.size()), kWord)) return {};
  text.remove_prefix(std::min(kWord.size(), text.size()));
  if (text.empty() || (!is_blank(text.front()) && text.front() != '=')) return {};
  return trim(text.substr(text.find_first_not_of(" \t=")));
}

class Reader {
 public:
  explicit Reader(const IncludeReader& read_include) : read_include_(read_include) {}

  Status read(std::string_view file, std::string_view text, int depth) {
    for (const LogicalLine& logical : logical_lines(text)) {
      ConfLine line{std::string(file), logical.number, {}};
      const std::string_view path = included_path(trim(logical.text));
      if (path.empty()) {
        TRY(read_pairs(trim(logical.text), line));
        lines.push_back(std::move(line));
      } else {
        TRY(include(path, line, depth));
      }
    }
    return {};
  }
  std::vector<ConfLine> lines;

 private:
  static Status read_pairs(std::string_view rest, ConfLine& line) {
    while (!rest.empty()) {
      line.pairs.push_back(TRY(take_pair(rest, line)));
      rest = trim(rest);
    }
    return {};
  }
  Status include(std::string_view path, const ConfLine& line, int depth) {
    if (!read_include_)
      return invalid(line, fmt::format("Include {} is not allowed here", path),
                     "put its lines in place");
    if (depth == kIncludeDepthMax) {
      return invalid(line, fmt::format("Include {} is nested too deeply", path),
                     "does a file include itself?");
    }
    const std::string text = TRY(read_include_(path));
    return read(path, text, depth + 1);
  }
  const IncludeReader& read_include_;
};

}  // namespace

std::string ConfLine::place() const { return fmt::format("{}:{}", file, line); }

Result<std::vector<ConfLine>> parse_conf_lines(std::string_view file, std::string_view text,
                                               const IncludeReader& read_include) {
  Reader reader(read_include);
  TRY(reader.read(file, text, 0));
  return std::move(reader.lines);
}

}  // namespace muster
