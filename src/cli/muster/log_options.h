// The options that trial and experiment logs share: which lines are asked for, and how they are
// shown.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/lib/local_zone.h"
#include "model/task_log.h"

namespace muster::cli {

class CommandParser;

struct LogOptions {
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> runs;
  std::string stream;
  std::string level;
  std::string text;
  std::string pattern;
  std::string since;
  bool is_case_ignored = false;
  bool is_plain = false;
  bool is_followed = false;

  void add_to(CommandParser& parser);
  /// Returns the filter. Errors: kInvalidArgument for a level, stream or time that is none.
  Result<LogFilter> filter(const ShowContext& context) const;
};

/// Returns "2026-08-21T16:00:00 [rank=0] text", with the stream's name where it is not standard
/// output; with `is_plain` the text alone. Bytes are as the task wrote them. The rest of a very
/// long line is a line of its own, marked as continued.
std::string log_line_text(const LogLine& line, bool is_plain, const ShowContext& context);

/// Makes a text harmless for a terminal: colours stay, other control characters are shown as ^X, so
/// that no line moves the cursor, answers for the user or hides what stands before it.
std::string harmless_text(std::string_view text);

}  // namespace muster::cli
