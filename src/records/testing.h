// Values of any struct of model/, drawn from a seed, and their comparison member by member. Members
// are found by the struct's own shape, so that a new one is drawn and compared without a line here.
// For tests.
#pragma once

#include <bit>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/members.h"
#include "base/rng.h"
#include "base/time.h"
#include "model/resource_request.h"
#include "model/text_pack.h"

namespace muster::testing {

// ---- the enumerators of an enum ----

/// What the compiler calls the values: "... {muster::JobState::kPending, (muster::JobState)12}".
/// All of an enum at once, for each name of a template costs the compiler time.
template <auto... kValues>
std::string_view names_of_values() {
  return __PRETTY_FUNCTION__;
}
/// Which of the values in such a text are enumerators, in order: those without a cast.
inline std::vector<bool> are_named(std::string_view text) {
  text.remove_prefix(text.find_first_of("{<", text.rfind("kValues")) + 1);
  std::vector<bool> named;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    named.push_back(text.substr(at, 1) != "(");
    at = text.find(", ", at);
    if (at != std::string_view::npos) at += 2;
  }
  return named;
}
/// Every enumerator from 0 to 63.
template <class E>
std::vector<E> enumerators() {
  const std::vector<bool> named = []<int... i>(std::integer_sequence<int, i...>) {
    return are_named(names_of_values<static_cast<E>(i)...>());
  }
  (std::make_integer_sequence<int, 64>());
  CHECK(named.size() == 64, "the compiler's list of an enum's values");
  std::vector<E> all;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i]) all.push_back(static_cast<E>(i));
  }
  return all;
}

template <class T>
inline constexpr bool is_text_pack = false;
template <class K>
inline constexpr bool is_text_pack<TextPack<K>> = true;

/// True for pointers that are never null in a value that may be recorded. Specialised by the test.
template <class T>
inline constexpr bool kIsRequired = false;

// ---- drawing ----

inline std::string random_text(Rng& rng) {
  std::string text(rng.below(4) == 0 ? 0 : rng.below(20), '\0');
  for (char& c : text) c = static_cast<char>(rng.below(256));
  return text;
}

/// Draws every member over its whole range; lists get 0 to 3 elements, and what may be absent
/// sometimes is.
template <class T>
void draw(T& value, Rng& rng) {
  if constexpr (std::is_same_v<T, bool>) {
    value = rng.chance(0.5);
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(rng.next());
  } else if constexpr (std::is_same_v<T, double>) {
    value = rng.chance(0.2) ? std::numeric_limits<double>::quiet_NaN()
                            : std::bit_cast<double>(rng.next());
  } else if constexpr (std::is_enum_v<T>) {
    static const std::vector<T> kAll = enumerators<T>();
    value = kAll[rng.below(kAll.size())];
  } else if constexpr (is_id<T>) {
    value = T(static_cast<typename T::rep>(rng.next()));
  } else if constexpr (std::is_same_v<T, CachedHash>) {
    value = {};  // follows from the rest
  } else if constexpr (std::is_same_v<T, Duration>) {
    value = rng.chance(0.1) ? Duration::infinite()
                            : Duration::microseconds(static_cast<std::int64_t>(rng.next()));
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    value = rng.chance(0.1) ? TimePoint::never()
                            : TimePoint::from_microseconds(static_cast<std::int64_t>(rng.next()));
  } else if constexpr (std::is_same_v<T, Bitmap>) {
    for (std::uint64_t i = rng.below(6); i > 0; --i) value.set(rng.below(200));
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = random_text(rng);
  } else if constexpr (is_text_pack<T>) {
    using Key = decltype([]<class K>(const TextPack<K>&) { return K(); }(value));
    for (std::size_t i = 0; i < T::kSize; ++i) value.set(static_cast<Key>(i), random_text(rng));
  } else if constexpr (is_vector<T>) {
    for (std::uint64_t i = rng.below(4); i > 0; --i) draw(value.emplace_back(), rng);
  } else if constexpr (is_small_list<T>) {
    std::vector<typename T::value_type> values;
    draw(values, rng);
    value = values;
  } else if constexpr (is_optional<T>) {
    if (rng.chance(0.7)) draw(value.emplace(), rng);
  } else if constexpr (is_pointer<T>) {
    if (!kIsRequired<std::remove_const_t<typename T::element_type>> && rng.chance(0.3)) return;
    auto fresh = std::make_unique<std::remove_const_t<typename T::element_type>>();
    draw(*fresh, rng);
    value = std::move(fresh);
  } else if constexpr (is_shared<T>) {
    draw(*value.edit(), rng);
  } else if constexpr (is_pair<T>) {
    draw(value.first, rng);
    draw(value.second, rng);
  } else if constexpr (is_variant<T>) {
    visit_variant([&](auto& body) { draw(body, rng); },
                  value);  // the alternative is the caller's choice
  } else {
    static_assert(std::is_aggregate_v<T>);
    with_members(value, [&](auto&... member) { (draw(member, rng), ...); });
  }
}

/// Draws a request without what resource_need() fills in, because no record has it.
template <>
inline void draw(ResourceRequest& value, Rng& rng) {
  with_members(value, [&](auto&... member) { (draw(member, rng), ...); });
  value.is_tasks_per_node_exact = value.is_exclusive = false;
}

// ---- comparing ----

template <class Kind, class T>
const Kind& held_by(const T& variant) {
  if constexpr (is_std_variant<T>) {
    return std::get<Kind>(variant);
  } else {
    return get<Kind>(variant);
  }
}

inline std::string differs(bool is_equal) { return is_equal ? std::string() : std::string("!"); }
/// Adds what the member of that number differs in, unless one before it does.
inline void add_difference(std::string& found, std::size_t number, const std::string& at) {
  if (found.empty() && !at.empty()) found = "." + std::to_string(number) + at;
}

/// Returns where the two first differ, as a path of member numbers from 0; empty: they are equal.
/// Null bytes equal empty ones.
template <class T>
std::string difference(const T& a, const T& b) {
  if constexpr (is_vector<T>) {
    if (a.size() != b.size()) return ".size";
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (auto at = difference(a[i], b[i]); !at.empty()) return "[" + std::to_string(i) + "]" + at;
    }
    return {};
  } else if constexpr (is_pointer<T> &&
                       std::is_same_v<std::remove_const_t<typename std::conditional_t<
                                          is_pointer<T>, T, std::shared_ptr<int>>::element_type>,
                                      std::string>) {
    return differs((a == nullptr ? std::string() : *a) == (b == nullptr ? std::string() : *b));
  } else if constexpr (is_pointer<T> || is_optional<T>) {
    if (static_cast<bool>(a) != static_cast<bool>(b)) return a ? " is lost" : " appears";
    return a ? difference(*a, *b) : std::string();
  } else if constexpr (is_shared<T>) {
    return difference(*a, *b);
  } else if constexpr (is_pair<T>) {
    auto at = difference(a.first, b.first);
    return at.empty() ? difference(a.second, b.second) : at;
  } else if constexpr (is_variant<T>) {
    if (a.index() != b.index()) return ".kind";
    return visit_variant(
        [&](const auto& body) {
          return difference(body, held_by<std::remove_cvref_t<decltype(body)>>(b));
        },
        a);
  } else if constexpr (std::is_same_v<T, double>) {
    return differs(std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b));
  } else if constexpr (std::is_scalar_v<T> || is_id<T> || is_text_pack<T> ||
                       !std::is_aggregate_v<T>) {
    return differs(a == b);
  } else {
    std::string found;
    std::size_t number = 0;
    with_members(a, [&](const auto&... in_a) {
      with_members(b, [&](const auto&... in_b) {
        (add_difference(found, number++, difference(in_a, in_b)), ...);
      });
    });
    return found;
  }
}

}  // namespace muster::testing
