// Sorts and filters a list by the words of a request's query: `sortBy`, `orderBy`, `states` and
// their like, as in Determined's REST.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "api/http/http_message.h"
#include "base/result.h"

namespace muster::api {

enum class Direction { kUnspecified, kAscending, kDescending };
/// Returns what `orderBy` says: ORDER_BY_ASC or ORDER_BY_DESC; kUnspecified where it is not given.
/// Errors: kInvalidArgument: another word.
Result<Direction> direction_of(const HttpRequest& request);

/// Returns the index of the parameter's value in `words`; nullopt: it is not given, empty, or ends
/// in "_UNSPECIFIED". Errors: kInvalidArgument: any other word; the detail names those that are
/// known.
Result<std::optional<std::size_t>> word_parameter(const HttpRequest& request, std::string_view name,
                                                  const std::vector<std::string_view>& words);

/// True when a filter lets `value` pass: it is among the parameter's values, or none is given.
bool holds(const HttpRequest& request, std::string_view name, std::string_view value);

/// Returns all values of a parameter that may be given several times, as they are: a word that ends
/// in "_UNSPECIFIED" is a value like any other, and must be in `words`. Errors: kInvalidArgument:
/// one of them is not.
Result<std::vector<std::string>> words_parameter(const HttpRequest& request, std::string_view name,
                                                 const std::vector<std::string_view>& words);
/// Calls words_parameter() for `states`, with all states that Determined has for experiments and
/// trials; below with those that it has for checkpoints.
Result<std::vector<std::string>> states_parameter(const HttpRequest& request);
Result<std::vector<std::string>> checkpoint_states_parameter(const HttpRequest& request);

/// One word of `sortBy` and what it compares. Exactly one of the functions is set: an order, or a
/// number that may be missing or NaN, which comes last in either direction.
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

/// Returns the numbers from 0 to `size` in their order; equal ones stay as they were.
std::vector<std::size_t> sorted_positions(
    std::size_t size, const std::function<bool(std::size_t, std::size_t)>& is_before);
/// Does the same by numbers, of which one that is missing or NaN is last in either direction.
std::vector<std::size_t> sorted_positions(const std::vector<std::optional<double>>& numbers,
                                          bool is_descending);

template <class T>
void sort_by(std::vector<T>& list, const SortKey<T>& key, bool is_descending) {
  std::vector<std::size_t> places;
  if (key.number) {
    std::vector<std::optional<double>> numbers;
    for (const T& one : list) numbers.push_back(key.number(one));
    places = sorted_positions(numbers, is_descending);
  } else {
    places = sorted_positions(list.size(), [&](std::size_t a, std::size_t b) {
      return is_descending ? key.is_before(list[b], list[a]) : key.is_before(list[a], list[b]);
    });
  }
  std::vector<T> sorted;
  sorted.reserve(list.size());
  for (const std::size_t place : places) sorted.push_back(std::move(list[place]));
  list = std::move(sorted);
}

/// Sorts the list by the key that the request's `parameter` names, in the direction of `orderBy`,
/// upwards unless it says otherwise. Equal elements stay in their order. Without a key the list
/// stays as it is, or is reversed for ORDER_BY_DESC. Errors: kInvalidArgument: a word that is not
/// known.
template <class T>
Status sort_list(const HttpRequest& request, std::vector<T>& list,
                 const std::vector<SortKey<T>>& keys, std::string_view parameter = "sortBy") {
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
