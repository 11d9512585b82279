// Sorting and filtering by the words of query parameters. Words are closed lists: a word that is
// not known is refused, since it would silently sort or filter by nothing.

#include "api/http/list_order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

#include "api/http/replies.h"

namespace muster::api {

Result<std::optional<std::size_t>> word_parameter(const HttpRequest& request, std::string_view name,
                                                  const std::vector<std::string_view>& words) {
  const std::string_view value = request.parameter(name);
  // The word for "not said" of each enumeration ends so.
  if (value.empty() || value.ends_with("_UNSPECIFIED")) return std::optional<std::size_t>();
  const auto found = std::ranges::find(words, value);
  if (found != words.end()) return std::optional(static_cast<std::size_t>(found - words.begin()));
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not there", name, value),
              fmt::format("give one of {}", fmt::join(words, ", ")));
}

bool holds(const HttpRequest& request, std::string_view name, std::string_view value) {
  const std::vector<std::string> wanted = request.parameters(name);
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

Result<std::vector<std::string>> words_parameter(const HttpRequest& request, std::string_view name,
                                                 const std::vector<std::string_view>& words) {
  std::vector<std::string> values = request.parameters(name);
  for (const std::string& value : values) {
    if (std::ranges::find(words, value) == words.end()) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: '{}' is not there", name, value),
                  fmt::format("give some of {}", fmt::join(words, ", ")));
    }
  }
  return values;
}

Result<std::vector<std::string>> states_parameter(const HttpRequest& request) {
  return words_parameter(
      request, "states",
      {"STATE_UNSPECIFIED", "STATE_ACTIVE", "STATE_PAUSED", "STATE_STOPPING_COMPLETED",
       "STATE_STOPPING_CANCELED", "STATE_STOPPING_ERROR", "STATE_STOPPING_KILLED",
       "STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR", "STATE_DELETED", "STATE_DELETING",
       "STATE_DELETE_FAILED", "STATE_QUEUED", "STATE_PULLING", "STATE_STARTING", "STATE_RUNNING"});
}

Result<std::vector<std::string>> checkpoint_states_parameter(const HttpRequest& request) {
  return words_parameter(request, "states",
                         {"STATE_UNSPECIFIED", "STATE_ACTIVE", "STATE_COMPLETED", "STATE_ERROR",
                          "STATE_DELETED", "STATE_PARTIALLY_DELETED"});
}

Result<Direction> direction_of(const HttpRequest& request) {
  const auto place = TRY(word_parameter(request, "orderBy", {"ORDER_BY_ASC", "ORDER_BY_DESC"}));
  if (!place) return Direction::kUnspecified;
  return *place == 0 ? Direction::kAscending : Direction::kDescending;
}

std::vector<std::size_t> sorted_positions(
    std::size_t size, const std::function<bool(std::size_t, std::size_t)>& is_before) {
  // Positions and not values: entries may be large, and are sorted by what is asked for.
  std::vector<std::size_t> places(size);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, is_before);
  return places;
}

std::vector<std::size_t> sorted_positions(const std::vector<std::optional<double>>& numbers,
                                          bool is_descending) {
  // Missing and NaN count as one and come last, whichever direction is asked for.
  const auto is_missing = [&](std::size_t i) { return !numbers[i] || std::isnan(*numbers[i]); };
  return sorted_positions(numbers.size(), [&](std::size_t a, std::size_t b) {
    if (is_missing(a) || is_missing(b)) return !is_missing(a) && is_missing(b);
    return is_descending ? *numbers[b] < *numbers[a] : *numbers[a] < *numbers[b];
  });
}

}  // namespace muster::api
