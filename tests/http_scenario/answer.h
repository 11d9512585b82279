// An answer of HTTP taken apart: RFC 9112, as far as servers of ours speak it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/json.h"

namespace muster::http_scenario {

struct Answer {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in small letters
  std::string body;
  /// Null: there is none of that name (in small letters).
  const std::string* header(std::string_view name) const;
};

/// The first answer of these bytes; `rest`: what comes behind it. Errors: kInvalidArgument: it is
/// none, or breaks off.
Result<Answer> parse_answer(std::string_view bytes, bool has_body, std::string& rest);

/// A body of several lines, each a JSON value. Errors: kInvalidArgument with the line.
Result<Json> json_lines(std::string_view body);

}  // namespace muster::http_scenario
