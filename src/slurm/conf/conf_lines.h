// The syntax of slurm.conf and its kin: lines of Key=Value words. What the keys mean belongs to
// slurm_conf.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/conf/conf_finding.h"

namespace muster {

struct ConfPair {
  std::string key;
  std::string value;
  friend bool operator==(const ConfPair&, const ConfPair&) = default;
};

/// One logical line; never empty.
struct ConfLine {
  std::string file;
  std::size_t line = 0;  ///< of its first physical line, from 1
  std::vector<ConfPair> pairs;
  /// Returns "FILE:LINE", as errors begin.
  std::string place() const;
  friend bool operator==(const ConfLine&, const ConfLine&) = default;
};

/// Returns the text of a file that `Include` names, as written there. Null where there are no files
/// to include.
using IncludeReader = std::function<Result<std::string>(std::string_view path)>;

/// Reads a configuration file. A `#` begins a comment unless a backslash stands before it; a
/// backslash at a line's end joins the next line as it stands, so that a list may go on there;
/// blanks around `=` are allowed; a value is one word or stands in double quotes. `Include PATH`
/// (blanks or `=` between) is replaced by that file's lines, at most 8 deep; %c in PATH is the
/// ClusterName, which must stand before it. A line that cannot be read is left out and becomes a
/// finding, and so does a file that cannot be included. `is_wanted`, where given, is asked first
/// about a line without its comment: what it does not want is neither read nor checked. Source:
/// slurm.conf(5), DESCRIPTION and INCLUDE MODIFIERS.
std::vector<ConfLine> read_conf_lines(
    std::string_view file, std::string_view text, const IncludeReader& read_include,
    std::vector<ConfFinding>& findings,
    const std::function<bool(std::string_view line)>& is_wanted = nullptr);

/// Reads as read_conf_lines does, for callers to whom the first mistake is the end. Errors:
/// kInvalidArgument "FILE:LINE: ...".
Result<std::vector<ConfLine>> parse_conf_lines(std::string_view file, std::string_view text,
                                               const IncludeReader& read_include = nullptr);

}  // namespace muster
