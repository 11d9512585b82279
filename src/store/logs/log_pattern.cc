// A search is done in three steps, each cheaper than the next: trigrams of a chunk's filter
// (may_match), the chunk's text as a whole (find), and the lines that were found.
#include "store/logs/log_pattern.h"

#include <re2/filtered_re2.h>
#include <re2/re2.h>

#include <algorithm>
#include <vector>

#include "text/user_pattern.h"

namespace muster::logs {
namespace {

// Shorter literals say too little to look up.
constexpr int kAtomBytesMin = 3;

/// Whether a part of the pattern speaks of the text as a whole, or may match a line feed whatever
/// the options say: then lines are matched one by one. Says yes too often rather than too seldom.
bool speaks_of_text(std::string_view pattern) {
  // \A and \z are the ends of a text, \C any byte.
  for (const std::string_view part : {"\\A", "\\z", "\\C"}) {
    if (pattern.find(part) != std::string_view::npos) return true;
  }
  for (std::size_t at = pattern.find("(?"); at != std::string_view::npos;
       at = pattern.find("(?", at + 1)) {
    const std::size_t end = pattern.find_first_of(":)", at);
    // Flags that are switched off, as in (?-m) or (?s-i).
    if (pattern.substr(at, end - at).find('-') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

struct LogPattern::Parts {
  Parts(const std::string& text, const RE2::Options& options)
      : pattern(text, options), filtered(kAtomBytesMin) {}
  RE2 pattern;
  re2::FilteredRE2 filtered;
  std::vector<std::string> atoms;  ///< literals, in lower case
  bool is_by_line = false;
};

LogPattern::LogPattern(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LogPattern::~LogPattern() = default;

Result<std::unique_ptr<LogPattern>> LogPattern::compile(const LogFilter& filter) {
  TRY(filter.is_regex ? check_pattern(filter.text)
                      : check_pattern_length(filter.text));  // messages name what the user wrote
  RE2::Options options;
  // Patterns come from users: a refusal is an answer, not a message in the log.
  options.set_log_errors(false);
  // No match spans a line feed.
  options.set_never_nl(true);
  options.set_case_sensitive(!filter.is_case_ignored);
  // In lines that follow each other ^ and $ are the ends of a line.
  const std::string text =
      "(?m:" + (filter.is_regex ? filter.text : RE2::QuoteMeta(filter.text)) + ")";
  auto parts = std::make_unique<Parts>(text, options);
  if (!parts->pattern.ok())
    return fail(ErrorCode::kInvalidArgument, "the text to search for is refused",
                parts->pattern.error());
  parts->is_by_line = filter.is_regex && speaks_of_text(filter.text);
  int id = 0;
  // Where that fails no literals are known, and every chunk is searched.
  if (parts->filtered.Add(text, options, &id) == RE2::NoError)
    parts->filtered.Compile(&parts->atoms);
  return std::unique_ptr<LogPattern>(new LogPattern(std::move(parts)));
}

bool LogPattern::may_match(const TrigramFilter& filter) const {
  // Without literals nothing can be ruled out.
  if (parts_->atoms.empty()) return true;
  std::vector<int> held;
  for (std::size_t i = 0; i < parts_->atoms.size(); ++i) {
    if (filter.may_hold(parts_->atoms[i])) held.push_back(static_cast<int>(i));
  }
  std::vector<int> possible;
  parts_->filtered.AllPotentials(held, &possible);
  return !possible.empty();
}

std::optional<std::size_t> LogPattern::find(std::string_view text, std::size_t from) const {
  const RE2& pattern = parts_->pattern;
  re2::StringPiece match;
  if (!parts_->is_by_line) {
    const re2::StringPiece all(text.data(), text.size());
    if (!pattern.Match(all, from, text.size(), RE2::UNANCHORED, &match, 1)) return std::nullopt;
    return static_cast<std::size_t>(match.data() - text.data());
  }
  // Line by line: the pattern speaks of the text's ends.
  for (std::size_t begin = from; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (pattern.Match(re2::StringPiece(text.data() + begin, end - begin), 0, end - begin,
                      RE2::UNANCHORED, nullptr, 0))
      return begin;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace muster::logs
