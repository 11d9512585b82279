// The syntax of slurm.conf and its kin: lines of Key=Value words. What the keys mean belongs to slurm_conf.h.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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
  /// "FILE:LINE", as errors begin.
  std::string place() const;
  friend bool operator==(const ConfLine&, const ConfLine&) = default;
};

/// Gives the text of a file that `Include` names, as written there. Null where there are no files to include.
using IncludeReader = std::function<Result<std::string>(std::string_view path)>;

/// Reads a configuration file. A `#` begins a comment unless a backslash stands before it; a backslash at a line's end
/// joins the next line as it stands, so that a list may go on there; blanks around `=` are allowed; a value is one word or stands in double quotes.
/// `Include PATH` (blanks or `=` between) is replaced by that file's lines, at most 8 deep.
/// Errors: kInvalidArgument "FILE:LINE: ..."; what `read_include` answers.
/// Source: slurm.conf(5), DESCRIPTION.
Result<std::vector<ConfLine>> parse_conf_lines(std::string_view file, std::string_view text,
                                               const IncludeReader& read_include = nullptr);

}  // namespace muster
