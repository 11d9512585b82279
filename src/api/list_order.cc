#include "api/list_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/replies.h"

namespace muster::api {

Result<std::optional<std::size_t>> word_parameter(const HttpRequest& request, std::string_view name, const std::vector<std::string_view>& words) {
  const std::string_view value = request.parameter(name);
  if (value.empty() || value.ends_with("_UNSPECIFIED")) return std::optional<std::size_t>();
  const auto found = std::ranges::find(words, value);
  if (found != words.end()) return std::optional(static_cast<std::size_t>(found - words.begin()));
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not there", name, value), fmt::format("give one of {}", fmt::join(words, ", ")));
}

Result<Direction> direction_of(const HttpRequest& request) {
  const auto place = TRY(word_parameter(request, "orderBy", {"ORDER_BY_ASC", "ORDER_BY_DESC"}));
  if (!place) return Direction::kUnspecified;
  return *place == 0 ? Direction::kAscending : Direction::kDescending;
}

}  // namespace muster::api
