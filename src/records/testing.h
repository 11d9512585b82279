// Values of any struct of model/, drawn from a seed, and their comparison member by member. Members are found by the
// struct's own shape, so that a new one is drawn and compared without a line here. For tests.
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
#include "base/id.h"
#include "base/rng.h"
#include "base/time.h"
#include "model/text_pack.h"

namespace muster::testing {

// ---- the members of a struct, as a tuple of references ----
// LIST_n(x): n things, x(a name of its own) each; n = 10 * tens + units.
#define UNITS_1(x, t) x(t##1)
#define UNITS_2(x, t) UNITS_1(x, t), x(t##2)
#define UNITS_3(x, t) UNITS_2(x, t), x(t##3)
#define UNITS_4(x, t) UNITS_3(x, t), x(t##4)
#define UNITS_5(x, t) UNITS_4(x, t), x(t##5)
#define UNITS_6(x, t) UNITS_5(x, t), x(t##6)
#define UNITS_7(x, t) UNITS_6(x, t), x(t##7)
#define UNITS_8(x, t) UNITS_7(x, t), x(t##8)
#define UNITS_9(x, t) UNITS_8(x, t), x(t##9)
#define UNITS_10(x, t) UNITS_9(x, t), x(t##10)
#define TENS_1(x) UNITS_10(x, a)
#define TENS_2(x) TENS_1(x), UNITS_10(x, b)
#define TENS_3(x) TENS_2(x), UNITS_10(x, c)
#define TENS_4(x) TENS_3(x), UNITS_10(x, d)
#define TENS_5(x) TENS_4(x), UNITS_10(x, e)
#define TENS_6(x) TENS_5(x), UNITS_10(x, f)
#define MIXED(x, tens, units) TENS_##tens(x), UNITS_##units(x, z)
// CASE(n, macro, arguments after x): sizes from the largest down.
#define CASES_OF_TENS(CASE, t)                                                                          \
  CASE(t##9, MIXED, t, 9) CASE(t##8, MIXED, t, 8) CASE(t##7, MIXED, t, 7) CASE(t##6, MIXED, t, 6)       \
  CASE(t##5, MIXED, t, 5) CASE(t##4, MIXED, t, 4) CASE(t##3, MIXED, t, 3) CASE(t##2, MIXED, t, 2)       \
  CASE(t##1, MIXED, t, 1)
#define ALL_CASES(CASE)                                                                                 \
  CASES_OF_TENS(CASE, 6) CASE(60, TENS_6) CASES_OF_TENS(CASE, 5) CASE(50, TENS_5)                       \
  CASES_OF_TENS(CASE, 4) CASE(40, TENS_4) CASES_OF_TENS(CASE, 3) CASE(30, TENS_3)                       \
  CASES_OF_TENS(CASE, 2) CASE(20, TENS_2) CASES_OF_TENS(CASE, 1) CASE(10, TENS_1)                       \
  CASE(9, UNITS_9, z) CASE(8, UNITS_8, z) CASE(7, UNITS_7, z) CASE(6, UNITS_6, z) CASE(5, UNITS_5, z)   \
  CASE(4, UNITS_4, z) CASE(3, UNITS_3, z) CASE(2, UNITS_2, z) CASE(1, UNITS_1, z)
#define BRACES(name) {}
#define NAME(name) m##name
#define APPLY(macro, ...) macro(__VA_ARGS__)

/// How many members an aggregate has: so many empty braces initialise it and no more.
template <class T>
consteval int member_count() {
#define COUNT_CASE(n, macro, ...) \
  if constexpr (requires { T{APPLY(macro, BRACES __VA_OPT__(, ) __VA_ARGS__)}; }) return n; else
  ALL_CASES(COUNT_CASE) return 0;
#undef COUNT_CASE
}

template <class T>
auto members_of(T& value) {
  constexpr int kCount = member_count<std::remove_const_t<T>>();
  static_assert(kCount < 69, "add cases for larger structs");
#define TIE_CASE(n, macro, ...)                                                       \
  if constexpr (kCount == n) {                                                        \
    auto& [APPLY(macro, NAME __VA_OPT__(, ) __VA_ARGS__)] = value;                    \
    return std::tie(APPLY(macro, NAME __VA_OPT__(, ) __VA_ARGS__));                   \
  } else
  ALL_CASES(TIE_CASE) return std::tuple<>();
#undef TIE_CASE
}

// ---- the enumerators of an enum ----

template <auto kValue>
consteval bool is_named() {
  return std::string_view(__PRETTY_FUNCTION__).find("kValue = (") == std::string_view::npos;
}
/// Every enumerator from 0 to 63.
template <class E>
std::vector<E> enumerators() {
  std::vector<E> all;
  [&]<int... i>(std::integer_sequence<int, i...>) {
    ((is_named<static_cast<E>(i)>() ? all.push_back(static_cast<E>(i)) : void()), ...);
  }(std::make_integer_sequence<int, 64>());
  return all;
}

// ---- kinds of members ----

template <class T> inline constexpr bool is_vector = false;
template <class T> inline constexpr bool is_vector<std::vector<T>> = true;
template <class T> inline constexpr bool is_vector<std::deque<T>> = true;
template <class T> inline constexpr bool is_small_list = false;
template <class T> inline constexpr bool is_small_list<SmallList<T>> = true;
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_pointer = false;
template <class T> inline constexpr bool is_pointer<std::shared_ptr<T>> = true;
template <class T> inline constexpr bool is_pointer<std::unique_ptr<T>> = true;
template <class T> inline constexpr bool is_pair = false;
template <class A, class B> inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T> inline constexpr bool is_variant = false;
template <class... T> inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T> inline constexpr bool is_text_pack = false;
template <class K> inline constexpr bool is_text_pack<TextPack<K>> = true;
template <class T> inline constexpr bool is_id = false;
template <class Tag, class Rep> inline constexpr bool is_id<Id<Tag, Rep>> = true;

/// Pointers that are never null in a value that may be recorded. Specialised by the test.
template <class T>
inline constexpr bool kIsRequired = false;

// ---- drawing ----

inline std::string random_text(Rng& rng) {
  std::string text(rng.below(4) == 0 ? 0 : rng.below(20), '\0');
  for (char& c : text) c = static_cast<char>(rng.below(256));
  return text;
}

/// Every member drawn over its whole range; lists of 0 to 3, and what may be absent is at times.
template <class T>
void draw(T& value, Rng& rng) {
  if constexpr (std::is_same_v<T, bool>) {
    value = rng.chance(0.5);
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(rng.next());
  } else if constexpr (std::is_same_v<T, double>) {
    value = rng.chance(0.2) ? std::numeric_limits<double>::quiet_NaN() : std::bit_cast<double>(rng.next());
  } else if constexpr (std::is_enum_v<T>) {
    static const std::vector<T> kAll = enumerators<T>();
    value = kAll[rng.below(kAll.size())];
  } else if constexpr (is_id<T>) {
    value = T(static_cast<typename T::rep>(rng.next()));
  } else if constexpr (std::is_same_v<T, Duration>) {
    value = rng.chance(0.1) ? Duration::infinite() : Duration::microseconds(static_cast<std::int64_t>(rng.next()));
  } else if constexpr (std::is_same_v<T, TimePoint>) {
    value = rng.chance(0.1) ? TimePoint::never() : TimePoint::from_microseconds(static_cast<std::int64_t>(rng.next()));
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
  } else if constexpr (is_pair<T>) {
    draw(value.first, rng);
    draw(value.second, rng);
  } else if constexpr (is_variant<T>) {
    std::visit([&](auto& body) { draw(body, rng); }, value);  // the alternative is the caller's choice
  } else {
    static_assert(std::is_aggregate_v<T>);
    std::apply([&](auto&... member) { (draw(member, rng), ...); }, members_of(value));
  }
}

// ---- comparing ----

/// Where the two first differ, as a path of member numbers from 0; empty: they are equal. Null bytes equal empty ones.
template <class T>
std::string difference(const T& a, const T& b) {
  const auto differs = [](bool is_equal) { return is_equal ? std::string() : std::string("!"); };
  if constexpr (is_vector<T>) {
    if (a.size() != b.size()) return ".size";
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (auto at = difference(a[i], b[i]); !at.empty()) return "[" + std::to_string(i) + "]" + at;
    }
    return {};
  } else if constexpr (is_pointer<T> && std::is_same_v<std::remove_const_t<typename std::conditional_t<is_pointer<T>, T, std::shared_ptr<int>>::element_type>, std::string>) {
    return differs((a == nullptr ? std::string() : *a) == (b == nullptr ? std::string() : *b));
  } else if constexpr (is_pointer<T> || is_optional<T>) {
    if (static_cast<bool>(a) != static_cast<bool>(b)) return a ? " is lost" : " appears";
    return a ? difference(*a, *b) : std::string();
  } else if constexpr (is_pair<T>) {
    auto at = difference(a.first, b.first);
    return at.empty() ? difference(a.second, b.second) : at;
  } else if constexpr (is_variant<T>) {
    if (a.index() != b.index()) return ".kind";
    return std::visit(
        [&](const auto& body) { return difference(body, std::get<std::remove_cvref_t<decltype(body)>>(b)); }, a);
  } else if constexpr (std::is_same_v<T, double>) {
    return differs(std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b));
  } else if constexpr (std::is_scalar_v<T> || is_id<T> || is_text_pack<T> || !std::is_aggregate_v<T>) {
    return differs(a == b);
  } else {
    std::string found;
    const auto in_a = members_of(a);
    const auto in_b = members_of(b);
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      [[maybe_unused]] const auto look = [&](std::size_t number, const auto& x, const auto& y) {
        if (!found.empty()) return;
        if (auto at = difference(x, y); !at.empty()) found = "." + std::to_string(number) + at;
      };
      (look(i, std::get<i>(in_a), std::get<i>(in_b)), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(in_a)>>());
    return found;
  }
}

}  // namespace muster::testing
