// Lines of slurm.conf with their comments, continuations and files that they include: everything
// that is true of every line, whatever it says. A mistake becomes a finding, and the reading goes
// on.

#include "slurm/conf/conf_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "text/words.h"

namespace muster {
namespace {

// One file that includes itself would never end.
constexpr int kIncludeDepthMax = 8;
/// Of all files together: one that includes itself twice would else be read 2^8 times.
constexpr int kIncludesMax = 256;

struct LogicalLine {
  std::size_t number = 0;
  std::string text;
};

// Without the comment; "\#" becomes "#".
std::string without_comment(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_escaped = !result.empty() && result.back() == '\\';
    // A backslash before it makes it a sign of its own.
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
  // Lines are counted as an editor counts them: a continued one has the number of its first.
  for (const std::string_view physical : split(text, '\n')) {
    ++number;
    std::string line = without_comment(physical);
    const std::size_t last = line.find_last_not_of(" \t\r");
    // A line goes on where it ends with a backslash.
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

tl::unexpected<Error> invalid(std::string what, std::string detail) {
  return fail(ErrorCode::kInvalidArgument, std::move(what), std::move(detail));
}

bool is_key_character(char c) {
  return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || c == '.' ||
         c == '/';
}

// Takes a value off the beginning of `rest`. Requires: no blank in front.
Result<std::string> consume_value(std::string_view& rest) {
  // Only double quotes mean anything in slurm.conf.
  const bool is_quoted = !rest.empty() && rest.front() == '"';
  if (is_quoted) rest.remove_prefix(1);
  const auto end = std::find_if(rest.begin(), rest.end(),
                                [&](char c) { return is_quoted ? c == '"' : is_blank(c); });
  if (is_quoted && end == rest.end())
    return invalid("a quote is not closed", fmt::format("in '{}'", rest));
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

Result<ConfPair> consume_pair(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_key_character);
  const auto size = static_cast<std::size_t>(end - rest.begin());
  const std::string key(rest.substr(0, size));
  const std::string_view after = trim(rest.substr(size));
  if (key.empty() || after.empty() || after.front() != '=') {
    return invalid("Key=Value is expected", fmt::format("at '{}'", rest));
  }
  rest = trim(after.substr(1));
  // A value may stand behind blanks, as in "Key= value".
  const bool is_apart = after.size() > 1 && is_blank(after[1]);
  if (rest.empty() || (is_apart && starts_with_pair(rest))) {
    return invalid(fmt::format("{} has no value", key), "write Key=Value, or take the key out");
  }
  // Not inside the braces: a return from there would leave the key's copy unfreed (g++ 12).
  std::string value = TRY(consume_value(rest));
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
  Reader(const IncludeReader& read_include, std::vector<ConfFinding>& findings,
         const std::function<bool(std::string_view)>& is_wanted)
      : read_include_(read_include), findings_(findings), is_wanted_(is_wanted) {}

  void read(std::string_view file, std::string_view text, int depth) {
    for (const LogicalLine& logical : logical_lines(text)) {
      ConfLine line{std::string(file), logical.number, {}};
      const std::string_view content = trim(logical.text);
      const std::string_view path = included_path(content);
      if (!path.empty()) {
        // What a file includes is read where it stands: its lines are part of this one.
        report(line, include(path, depth));
      } else if (is_wanted_ == nullptr || is_wanted_(content)) {
        add(content, std::move(line));
      }
    }
  }
  std::vector<ConfLine> lines;

 private:
  void report(const ConfLine& line, const Status& status) {
    if (status.has_value()) return;
    const Error& error = status.error();
    findings_.push_back({ConfFindingKind::kWrong, line.place(), "", error.message, error.detail});
  }
  void add(std::string_view content, ConfLine line) {
    const Status status = read_pairs(content, line);
    if (!status.has_value()) return report(line, status);
    // %c of an included path is this cluster's name.
    for (const ConfPair& pair : line.pairs) {
      if (equal_ignoring_case(pair.key, "ClusterName")) cluster_name_ = pair.value;
    }
    lines.push_back(std::move(line));
  }
  static Status read_pairs(std::string_view rest, ConfLine& line) {
    while (!rest.empty()) {
      line.pairs.push_back(TRY(consume_pair(rest)));
      rest = trim(rest);
    }
    return {};
  }
  Result<std::string> whole_path(std::string_view written) const {
    // Paths may stand in quotes, for blanks in them.
    std::string path(written.size() >= 2 && written.front() == '"' && written.back() == '"'
                         ? written.substr(1, written.size() - 2)
                         : written);
    // Each of them: a path may have the name twice.
    for (std::size_t at = path.find("%c"); at != std::string::npos; at = path.find("%c", at)) {
      if (cluster_name_.empty())
        return invalid(fmt::format("Include {}", written), "%c stands before ClusterName is set");
      path.replace(at, 2, cluster_name_);
      at += cluster_name_.size();
    }
    return path;
  }
  Status include(std::string_view written, int depth) {
    if (!read_include_)
      return invalid(fmt::format("Include {} is not allowed here", written),
                     "put its lines in place");
    // 8 levels are more than anybody needs, and fewer than the stack.
    if (depth == kIncludeDepthMax)
      return invalid(fmt::format("Include {} is nested too deeply", written),
                     "does a file include itself?");
    if (++includes_ > kIncludesMax) {
      return invalid(fmt::format("Include {} is one file too many", written),
                     fmt::format("at most {} files are included", kIncludesMax));
    }
    const std::string path = TRY(whole_path(written));
    const auto text = read_include_(path);
    if (!text.has_value()) {
      return invalid(fmt::format("Include {}: {}", written, text.error().message),
                     text.error().detail);
    }
    read(path, *text, depth + 1);
    return {};
  }
  const IncludeReader& read_include_;
  std::vector<ConfFinding>& findings_;
  const std::function<bool(std::string_view)>& is_wanted_;
  std::string cluster_name_;
  int includes_ = 0;
};

}  // namespace

std::string ConfLine::place() const { return fmt::format("{}:{}", file, line); }

std::vector<ConfLine> read_conf_lines(std::string_view file, std::string_view text,
                                      const IncludeReader& read_include,
                                      std::vector<ConfFinding>& findings,
                                      const std::function<bool(std::string_view)>& is_wanted) {
  Reader reader(read_include, findings, is_wanted);
  reader.read(file, text, 0);
  return std::move(reader.lines);
}

Result<std::vector<ConfLine>> parse_conf_lines(std::string_view file, std::string_view text,
                                               const IncludeReader& read_include) {
  std::vector<ConfFinding> findings;
  std::vector<ConfLine> lines = read_conf_lines(file, text, read_include, findings);
  TRY(first_failure(findings));
  return lines;
}

}  // namespace muster
