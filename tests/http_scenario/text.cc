#include "tests/http_scenario/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

namespace muster::http_scenario {
namespace {

constexpr std::string_view kFails = "fails ";
constexpr std::string_view kWith = "with ";

class Reader {
 public:
  Reader(Script& script, std::string parts) : script_(script), parts_(std::move(parts)) {}

  /// `name`: of a part; empty: the scenario itself.
  void read(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    if (!file) return error(name, fmt::format("{} cannot be read", path));
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
      const std::string where =
          name.empty() ? std::to_string(++number) : fmt::format("{}.part:{}", name, ++number);
      const std::size_t first = line.find_first_not_of(' ');
      if (first == std::string::npos || line[first] == '#') continue;
      if (first == 0) {
        begin({where, std::move(line)}, !name.empty());
      } else {
        go_on({where, line.substr(first)});
      }
    }
  }

 private:
  void begin(Line line, bool is_part) {
    if (line.text.starts_with(kFails)) {
      script_.expected_failures.push_back(line.text.substr(kFails.size()));
    } else if (line.text.starts_with(kWith)) {
      const std::string name = line.text.substr(kWith.size());
      if (is_part) return error(line.where, "a part holds no other part");
      read(parts_ + "/" + name + ".part", name);
    } else {
      script_.statements.push_back({std::move(line), {}, {}, {}});
    }
  }
  void go_on(Line line) {
    if (script_.statements.empty()) return error(line.where, "nothing stands before this");
    Statement& statement = script_.statements.back();
    if (line.text == "|") line.text = "| ";
    if (line.text.starts_with("| ")) {
      statement.body.push_back(line.text.substr(2));
    } else if (line.text.starts_with("> ")) {
      statement.headers.push_back(line.text.substr(2));
    } else {
      statement.expectations.push_back(std::move(line));
    }
  }
  void error(const std::string& where, const std::string& what) {
    script_.errors.push_back(fmt::format("{}: {}", where, what));
  }

  Script& script_;
  std::string parts_;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

Script read_script(const std::string& path, const std::string& parts) {
  Script script;
  Reader(script, parts).read(path, "");
  return script;
}

std::string substituted(std::string_view text, const Variables& variables, std::string& unknown) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_braced = text.substr(at).starts_with("${");
    std::size_t end = at + (is_braced ? 2 : 1);
    while (text[at] == '$' && end < text.size() && is_name(text[end])) ++end;
    const std::string name(text.substr(at + (is_braced ? 2 : 1), end - at - (is_braced ? 2 : 1)));
    if (text[at] != '$' || name.empty()) {
      out += text[at++];
      continue;
    }
    const auto known = variables.find(name);
    if (known == variables.end()) unknown = name;
    out += known == variables.end() ? "" : known->second;
    at = end + (is_braced ? 1 : 0);
  }
  return out;
}

std::string first_word(std::string_view& rest) {
  bool is_quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (is_quoted || rest[end] != ' '); ++end) is_quoted ^= rest[end] == '"';
  std::string word(rest.substr(0, end));
  rest.remove_prefix(std::min(rest.find_first_not_of(' ', end), rest.size()));
  return word;
}

}  // namespace muster::http_scenario
