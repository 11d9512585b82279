// Lists sorted as `sortBy` and `orderBy` ask for.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/http_message.h"
#include "base/result.h"

namespace muster::api {

enum class Direction { kUnspecified, kAscending, kDescending };
/// Errors: kInvalidArgument: a word that is not known.
Result<Direction> direction_of(const HttpRequest& request);

/// The place of the parameter's value among the words; nullopt: it is not given, or one that ends in UNSPECIFIED.
/// Errors: kInvalidArgument: another word, with those that are known.
Result<std::optional<std::size_t>> word_parameter(const HttpRequest& request, std::string_view name, const std::vector<std::string_view>& words);

/// Whether a value is among those of a parameter; also: none is given.
bool holds(const HttpRequest& request, std::string_view name, std::string_view value);

/// All values of a parameter that is a list of such words. Errors: as above.
Result<std::vector<std::string>> words_parameter(const HttpRequest& request, std::string_view name, const std::vector<std::string_view>& words);
/// The states that Determined knows of experiments and trials, all of them; and of checkpoints.
Result<std::vector<std::string>> states_parameter(const HttpRequest& request);
Result<std::vector<std::string>> checkpoint_states_parameter(const HttpRequest& request);

/// What a list can be sorted by: an order, or a number that may be missing or NaN, which is last in either direction.
template <class T>
struct SortKey {
  std::string_view word;
  std::function<bool(const T&, const T&)> is_before = nullptr;
  std::function<std::optional<double>(const T&)> number = nullptr;
};
template <class T, class Of>
SortKey<T> sort_key(std::string_view word, Of of) {
  return {word, [of](const T& a, const T& b) { return of(a) < of(b); }};
}
template <class T, class Of>
SortKey<T> number_key(std::string_view word, Of of) {
  return {word, nullptr, of};
}

template <class T>
void sort_by(std::vector<T>& list, const SortKey<T>& key, bool is_descending) {
  const auto is_before = [&](const T& a, const T& b) {
    if (!key.number) return is_descending ? key.is_before(b, a) : key.is_before(a, b);
    const auto missing = [](const std::optional<double>& number) { return !number || std::isnan(*number); };
    const std::optional<double> first = key.number(a);
    const std::optional<double> second = key.number(b);
    if (missing(first) || missing(second)) return !missing(first) && missing(second);
    return is_descending ? *second < *first : *first < *second;
  };
  std::ranges::stable_sort(list, is_before);
}

/// Equal ones stay as they were; without a word the list does, or is turned round. Errors: as above.
template <class T>
Status sort_list(const HttpRequest& request, std::vector<T>& list, const std::vector<SortKey<T>>& keys, std::string_view parameter = "sortBy") {
  std::vector<std::string_view> words;
  for (const SortKey<T>& key : keys) words.push_back(key.word);
  const auto place = TRY(word_parameter(request, parameter, words));
  const bool is_descending = TRY(direction_of(request)) == Direction::kDescending;
  if (place) {
    sort_by(list, keys[*place], is_descending);
  } else if (is_descending) {
    std::ranges::reverse(list);
  }
  return {};
}

}  // namespace muster::api
