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
#include "base/hash.h"
#include "base/id.h"
#include "base/members.h"
#include "base/rng.h"
#include "base/time.h"
#include "model/resource_request.h"
#include "model/text_pack.h"

namespace muster::testing {

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
  }
  (std::make_integer_sequence<int, 64>());
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

/// Returns where the two first differ, as a path of member numbers from 0; empty: they are equal.
/// Null bytes equal empty ones.
template <class T>
std::string difference(const T& a, const T& b) {
  const auto differs = [](bool is_equal) { return is_equal ? std::string() : std::string("!"); };
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
    [[maybe_unused]] const auto look = [&](const auto& x, const auto& y) {
      if (!found.empty()) return;
      if (auto at = difference(x, y); !at.empty()) found = "." + std::to_string(number) + at;
      ++number;
    };
    with_members(a, [&](const auto&... in_a) {
      with_members(b, [&](const auto&... in_b) { (look(in_a, in_b), ...); });
    });
    return found;
  }
}

}  // namespace muster::testing
