// RE2 and not std::regex: its time is linear in the text whatever the pattern, which users may
// choose freely, and Determined's log policies are RE2 as well.

#include "text/user_pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace muster {

Status check_pattern_length(std::string_view text) {
  constexpr std::size_t kMost = 4096;
  if (text.size() <= kMost) return {};
  return fail(ErrorCode::kInvalidArgument, "the text to search for is too long",
              fmt::format("at most {} bytes", kMost));
}

Status check_pattern(std::string_view pattern) {
  TRY(check_pattern_length(pattern));
  RE2::Options options;
  // RE2 would write to standard error of the controller.
  options.set_log_errors(false);
  // As store/logs/log_pattern.cc compiles patterns.
  options.set_never_nl(true);
  const RE2 compiled(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (compiled.ok()) return {};
  return fail(ErrorCode::kInvalidArgument, "the regular expression is refused", compiled.error());
}

}  // namespace muster
