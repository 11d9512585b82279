// What a line must contain: a literal or a regular expression, by RE2.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/task_log.h"
#include "store/logs/trigram_filter.h"

namespace muster::logs {

/// A compiled pattern. Time is linear in the text, whatever the pattern (Cox, "Regular Expression
/// Matching in the Wild", 2010).
class LogPattern {
 public:
  /// Compiles the filter's pattern. Errors: kInvalidArgument with RE2's message, or when the
  /// pattern is longer than 4 KiB or needs more than 8 MiB.
  static Result<std::unique_ptr<LogPattern>> compile(const LogFilter& filter);
  ~LogPattern();

  /// False when no line of a chunk with this filter can match. The answer is derived from the
  /// literals that every match must hold.
  bool may_match(const TrigramFilter& filter) const;
  /// Returns where the first match at or behind `from` begins, in lines that end with line feeds.
  /// Nullopt: none. No match spans two lines; bytes that are not UTF-8 match nothing but
  /// themselves. Requires: `from` is the beginning of a line.
  std::optional<std::size_t> find(std::string_view text, std::size_t from) const;

 private:
  struct Parts;
  explicit LogPattern(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::logs
