// Options of the two commands that show logs, and the form of a line. Filters are applied where
// the logs are: only lines that match travel.

#include "cli/muster/log_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/lib/command_parser.h"
#include "slurm/time_text.h"
#include "text/words.h"
#include "trials/log_text.h"

namespace muster::cli {
namespace {

constexpr std::array kLevels{"trace", "debug", "info", "warning", "error", "critical"};

}  // namespace

void LogOptions::add_to(CommandParser& parser) {
  parser.add_flag("-f,--follow", is_followed,
                  "go on with what is written from now on, until the end");
  parser.add_option("--rank", ranks, "of this rank; may be repeated").one_value_each();
  parser.add_option("--run", runs, "of this run, counted from 1; may be repeated").one_value_each();
  parser.add_option("--stdtype", stream, "stdout or stderr: of this stream alone");
  parser.add_option("--level", level,
                    "lines that say they are of this level or above: trace, debug, info, warning, "
                    "error, critical");
  auto search = parser.add_option("--search", text, "lines with this text");
  parser.add_option("--regex", pattern, "lines that match this regular expression (RE2)")
      .excludes(search);
  parser.add_flag("-i,--ignore-case", is_case_ignored,
                  "for --search and --regex: capitals and small letters are the same");
  parser.add_option("--since", since, "from this time on: 16:00, 2026-08-21T16:00:00, now-1hour");
  parser.add_flag("--plain", is_plain,
                  "the text alone, without time and rank; [continued] marks what a very long line "
                  "goes on with");
}

Result<LogFilter> LogOptions::filter(const ShowContext& context) const {
  LogFilter filter;
  filter.ranks = ranks;
  filter.runs = runs;
  filter.text = pattern.empty() ? text : pattern;
  filter.is_regex = !pattern.empty();
  filter.is_case_ignored = is_case_ignored;
  if (stream == "stdout" || stream == "stderr") {
    filter.streams = {stream == "stdout" ? LogStream::kStdout : LogStream::kStderr};
  } else if (!stream.empty()) {
    return muster::fail(ErrorCode::kInvalidArgument,
                        fmt::format("--stdtype: '{}' is neither stdout nor stderr", stream));
  }
  if (!level.empty()) {
    const auto found = std::ranges::find_if(
        kLevels, [&](const char* name) { return equal_ignoring_case(name, level); });
    if (found == kLevels.end()) {
      return muster::fail(
          ErrorCode::kInvalidArgument,
          fmt::format("--level: '{}' is none of trace, debug, info, warning, error, critical",
                      level));
    }
    // This level and all above it; 0 would be lines that say none.
    for (auto at = static_cast<unsigned>(found - kLevels.begin()) + 1; at <= kLevels.size(); ++at) {
      filter.levels.push_back(static_cast<LogLevel>(at));
    }
  }
  // Times without a date lie in the past, as logs do.
  if (!since.empty())
    filter.first_time = TRY(parse_time(since, {context.now, *context.zone, TimeDirection::kPast}));
  return filter;
}

std::string log_line_text(const LogLine& line, bool is_plain, const ShowContext& context) {
  if (is_plain) return fmt::format("{}{}\n", continuation_mark(line), line.text);
  return fmt::format("{} [rank={}]{} {}{}\n", context.time(line.time, "unknown"), line.rank,
                     // Standard output is the usual case and has no mark.
                     line.stream == LogStream::kStderr ? " [stderr]" : "", continuation_mark(line),
                     line.text);
}

namespace {

/// The length of a colour or a weight at the beginning of the text, ESC [ digits and semicolons m;
/// 0: it is none.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string harmless_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls in UTF-8, c2 80 to c2 9f: some terminals obey them as they obey ESC.
    const bool is_c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (const std::size_t colour = colour_length(text.substr(i)); colour > 0) {
      out += text.substr(i, colour);
      i += colour - 1;
    } else if (is_c1) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(text[++i])));
    } else if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f) {
      // As cat -v shows control characters.
      out += '^';
      out += static_cast<char>(byte ^ 0x40U);
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace muster::cli
