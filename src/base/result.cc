#include "base/result.h"

#include <array>

namespace muster {

std::string_view error_code_name(ErrorCode code) {
  static constexpr std::array<std::string_view, 13> kNames = {"ok",
                                                              "invalid_argument",
                                                              "not_found",
                                                              "already_exists",
                                                              "failed_precondition",
                                                              "permission_denied",
                                                              "resource_exhausted",
                                                              "unavailable",
                                                              "deadline_exceeded",
                                                              "conflict",
                                                              "corruption",
                                                              "unimplemented",
                                                              "internal"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string Error::text() const { return detail.empty() ? message : message + ": " + detail; }

}  // namespace muster
