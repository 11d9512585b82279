// Guesses from the beginning of a line, in the order from the surest sign to the weakest: glog's
// prefix, a word in capitals in front, a named field, Python's traceback. A line without a sign is
// unspecified rather than wrong.

#include "model/task_log.h"

#include <algorithm>
#include <array>
#include <optional>

namespace muster {
namespace {

struct LevelWord {
  std::string_view word;
  LogLevel level;
};
/// Longer words before those that they begin with.
constexpr LevelWord kWords[] = {{"CRITICAL", LogLevel::kCritical}, {"WARNING", LogLevel::kWarning},
                                {"DEBUG", LogLevel::kDebug},       {"ERROR", LogLevel::kError},
                                {"FATAL", LogLevel::kCritical},    {"TRACE", LogLevel::kTrace},
                                {"INFO", LogLevel::kInfo},         {"WARN", LogLevel::kWarning}};

constexpr std::size_t kLookedAt = 120;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// The level whose word stands at the beginning and ends there.
std::optional<LogLevel> level_at(std::string_view text, bool is_case_ignored) {
  for (const LevelWord& one : kWords) {
    if (text.size() < one.word.size()) continue;
    const bool is_it =
        std::ranges::equal(one.word, text.substr(0, one.word.size()),
                           [&](char a, char b) { return a == (is_case_ignored ? upper(b) : b); });
    // "INFORM" and "ERRORS" are words of a text, no levels.
    if (is_it && (text.size() == one.word.size() || !is_word(text[one.word.size()])))
      return one.level;
  }
  return std::nullopt;
}

/// glog: the level's letter, month and day, a space.
std::optional<LogLevel> glog_level(std::string_view line) {
  // "I0506 07:08:09": month and day have two digits each.
  if (line.size() < 6 || line[5] != ' ' || !std::ranges::all_of(line.substr(1, 4), is_digit))
    return std::nullopt;
  switch (line[0]) {
    case 'I': return LogLevel::kInfo;
    case 'W': return LogLevel::kWarning;
    case 'E': return LogLevel::kError;
    case 'F': return LogLevel::kCritical;
    default: return std::nullopt;
  }
}

/// `name - LEVEL - text` or `level=LEVEL`, anywhere in what is looked at.
std::optional<LogLevel> field_level(std::string_view line) {
  for (std::size_t at = line.find(" - "); at != std::string_view::npos;
       at = line.find(" - ", at + 1)) {
    // Only in capitals: " - error in" is prose.
    const std::optional<LogLevel> found = level_at(line.substr(at + 3), false);
    if (found) return found;
  }
  for (const std::string_view name : {"level=", "levelname="}) {
    std::size_t at = line.find(name);
    // A field's name must stand alone: "sublevel=" is another field.
    if (at == std::string_view::npos || (at > 0 && is_word(line[at - 1]))) continue;
    at += name.size();
    // logfmt quotes values, and some writers do so always.
    if (at < line.size() && line[at] == '"') ++at;
    const std::optional<LogLevel> found = level_at(line.substr(at), true);
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

std::string_view log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kUnspecified: return "LOG_LEVEL_UNSPECIFIED";
    case LogLevel::kTrace: return "LOG_LEVEL_TRACE";
    case LogLevel::kDebug: return "LOG_LEVEL_DEBUG";
    case LogLevel::kInfo: return "LOG_LEVEL_INFO";
    case LogLevel::kWarning: return "LOG_LEVEL_WARNING";
    case LogLevel::kError: return "LOG_LEVEL_ERROR";
    case LogLevel::kCritical: return "LOG_LEVEL_CRITICAL";
  }
  return "LOG_LEVEL_UNSPECIFIED";
}

LogLevel guessed_level(std::string_view line) {
  line = line.substr(0, kLookedAt);
  if (const auto found = glog_level(line)) return *found;
  // A word in capitals before any other word; `T` and `Z` are of a time, and `[rank=3]` is what
  // launchers put before a line.
  std::string_view rest = line;
  if (rest.starts_with("[rank=")) rest.remove_prefix(std::min(rest.size(), rest.find(']')));
  bool is_first = true;
  while (!rest.empty()) {
    const auto begin = std::ranges::find_if(rest, is_letter);
    rest.remove_prefix(static_cast<std::size_t>(begin - rest.begin()));
    if (const auto found = level_at(rest, false)) return *found;
    const auto after = std::ranges::find_if_not(rest, is_word);
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(after - rest.begin()));
    // "error: ..." as compilers write it: in lower case only as the first word and before a colon.
    const bool is_lower_prefix = is_first && after != rest.end() && *after == ':';
    if (is_lower_prefix) {
      if (const auto found = level_at(word, true)) return *found;
    }
    const bool is_of_time = !word.empty() && (word[0] == 'T' || word[0] == 'Z') &&
                            std::ranges::all_of(word.substr(1), is_digit);
    // Another word came first: what follows is prose.
    if (!is_of_time) break;
    is_first = false;
    rest.remove_prefix(word.size());
  }
  if (const auto found = field_level(line)) return *found;
  return line.starts_with("Traceback (most recent call last)") ? LogLevel::kError
                                                               : LogLevel::kUnspecified;
}

}  // namespace muster
