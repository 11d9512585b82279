#include "tests/http_scenario/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "tests/http_scenario/acts.h"
#include "tests/http_scenario/expectation.h"
#include "tests/http_scenario/text.h"
#include "tests/http_scenario/world.h"
#include "text/words.h"

namespace muster::http_scenario {
namespace {

bool is_method(std::string_view word) {
  return word.size() > 2 &&
         std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c) != 0; });
}

/// "\xNN" is that byte.
std::string raw_bytes(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* digits = text.data() + std::min(at + 2, text.size());
    const char* end = text.data() + std::min(at + 4, text.size());
    const bool is_escape = text.substr(at).starts_with("\\x") &&
                           std::from_chars(digits, end, byte, 16).ptr == digits + 2;
    bytes += is_escape ? static_cast<char>(byte) : text[at];
    if (is_escape) at += 3;
  }
  return bytes;
}

class Player {
 public:
  explicit Player(Verdict& verdict) : verdict_(verdict) {}

  void play(Statement statement) {
    where_ = statement.line.where;
    replace(statement.line.text);
    for (std::string& line : statement.headers) replace(line);
    for (std::string& line : statement.body) replace(line);
    std::string_view rest = statement.line.text;
    const std::string word = first_word(rest);
    if (word == "let") return name_text(rest);
    std::optional<Result<Answer>> answer;
    if (is_method(word)) {
      answer = ask(word, rest, statement);
    } else if (word == "raw") {
      answer = world_.ask_bytes(raw_bytes(join(statement.body, "\r\n")), true);
    } else if (statement.line.text == "the answer") {
      answer = world_.answer_waited_for();
    } else if (statement.line.text == "the service") {
      answer = Answer{200, {}, world_.heard()};
    } else {
      return act_upon(statement);
    }
    compare(statement, answer);
  }

  void finish() { world_.check(); }

 private:
  void name_text(std::string_view rest) {
    const std::string name = first_word(rest);
    if (first_word(rest) != "=" || rest.empty()) return fail("let NAME = TEXT");
    variables_[name] = rest;
  }

  void act_upon(const Statement& statement) {
    const Status done = act(world_, statement, variables_);
    if (!done.has_value()) fail(done.error().text());
    if (!statement.expectations.empty()) fail("nothing is answered to this");
  }

  std::optional<Result<Answer>> ask(const std::string& method, std::string_view rest,
                                    const Statement& statement) {
    Asked asked;
    asked.method = method;
    asked.target = first_word(rest);
    asked.body = rest.empty() ? join(statement.body, "\n") : std::string(rest);
    for (const std::string& header : statement.headers) {
      const std::size_t colon = header.find(':');
      if (colon == std::string::npos) {
        fail(fmt::format("'{}' is no header", header));
        continue;
      }
      std::string_view value = std::string_view(header).substr(colon + 1);
      if (value.starts_with(' ')) value.remove_prefix(1);
      asked.headers.emplace_back(header.substr(0, colon), std::string(value));
    }
    return world_.ask(asked);
  }

  void compare(const Statement& statement, const std::optional<Result<Answer>>& answer) {
    const bool is_heard = statement.line.text == "the service";
    const auto& lines = statement.expectations;
    if (lines.empty()) return fail("nothing is expected of the answer");
    if (!answer) {
      if (lines.size() != 1 || lines.front().text != "waits") fail("it is not answered yet");
      return;
    }
    if (!answer->has_value()) return fail(answer->error().text());
    if (!is_heard && !is_status(lines.front().text)) {
      fail(lines.front().text == "waits" ? fmt::format("it is answered: {}", (**answer).status)
                                         : "the first line says which status is expected");
      return;
    }
    for (const Line& line : lines) {
      where_ = line.where;
      std::string text = line.text;
      replace(text);
      if (const auto wrong = difference(**answer, text, variables_)) fail(*wrong);
    }
  }

  void replace(std::string& text) {
    std::string unknown;
    text = substituted(text, variables_, unknown);
    if (!unknown.empty()) fail(fmt::format("nothing has the name {}", unknown));
  }

  void fail(const std::string& text) {
    verdict_.failures.push_back(fmt::format("{}: {}", where_, text));
  }

  World world_;
  Verdict& verdict_;
  Variables variables_;
  std::string where_;
};

}  // namespace

bool Verdict::is_good() const {
  if (failures.size() != expected.size()) return false;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (failures[i].find(expected[i]) == std::string::npos) return false;
  }
  return true;
}

Verdict play(const std::string& path, const std::string& parts) {
  Script script = read_script(path, parts);
  Verdict verdict{std::move(script.errors), std::move(script.expected_failures)};
  if (script.statements.empty()) verdict.failures.push_back("1: nothing happens");
  Player player(verdict);
  for (Statement& statement : script.statements) player.play(std::move(statement));
  player.finish();
  return verdict;
}

}  // namespace muster::http_scenario
