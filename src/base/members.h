// The members of a struct, found by the struct's own shape: what hashes, copies, draws and compares
// values of model/ needs no list of their members, so that a new member cannot be forgotten.
//
// Works for aggregates of at most 68 members, without base classes and without members that are
// arrays. A larger struct fails to compile: with_members says why.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/shared.h"
#include "base/small_list.h"
#include "base/variant.h"

namespace muster {

// ---- the members of a struct ----
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
// clang-format off
#define CASES_OF_TENS(CASE, t)                                            \
  CASE(t##9, MIXED, t, 9) CASE(t##8, MIXED, t, 8) CASE(t##7, MIXED, t, 7) \
  CASE(t##6, MIXED, t, 6) CASE(t##5, MIXED, t, 5) CASE(t##4, MIXED, t, 4) \
  CASE(t##3, MIXED, t, 3) CASE(t##2, MIXED, t, 2) CASE(t##1, MIXED, t, 1)
#define ALL_CASES(CASE)                                                           \
  CASES_OF_TENS(CASE, 6) CASE(60, TENS_6) CASES_OF_TENS(CASE, 5) CASE(50, TENS_5) \
  CASES_OF_TENS(CASE, 4) CASE(40, TENS_4) CASES_OF_TENS(CASE, 3) CASE(30, TENS_3) \
  CASES_OF_TENS(CASE, 2) CASE(20, TENS_2) CASES_OF_TENS(CASE, 1) CASE(10, TENS_1) \
  CASE(9, UNITS_9, z) CASE(8, UNITS_8, z) CASE(7, UNITS_7, z) CASE(6, UNITS_6, z) \
  CASE(5, UNITS_5, z) CASE(4, UNITS_4, z) CASE(3, UNITS_3, z) CASE(2, UNITS_2, z) \
  CASE(1, UNITS_1, z)
// clang-format on
#define BRACES(name) \
  {}
#define MEMBER_NAME(name) m##name
#define APPLY(macro, ...) macro(__VA_ARGS__)

/// True when so many empty braces initialise a T, which holds up to the number of its members.
template <class T, int count>
inline constexpr bool accepts_braces = true;
// clang-format off
#define ACCEPTS_CASE(n, macro, ...)                      \
  template <class T>                                     \
  inline constexpr bool accepts_braces<T, n> =           \
      requires { T{APPLY(macro, BRACES __VA_OPT__(, ) __VA_ARGS__)}; };
ALL_CASES(ACCEPTS_CASE)
#undef ACCEPTS_CASE
// clang-format on

template <class T, int low, int high>
consteval int count_members() {
  constexpr int kMiddle = (low + high + 1) / 2;
  if constexpr (low == high) {
    return low;
  } else if constexpr (accepts_braces<T, kMiddle>) {
    return count_members<T, kMiddle, high>();
  } else {
    return count_members<T, low, kMiddle - 1>();
  }
}

/// Returns how many members an aggregate has. It searches by halves: the compiler tries seven
/// numbers and not seventy.
template <class T>
consteval int member_count() {
  return count_members<T, 0, 69>();
}

/// Calls `use` with the members of a struct that has so many.
template <int count>
struct MembersOf {
  static decltype(auto) give(auto&, auto&& use) { return use(); }
};
// clang-format off
#define GIVE_CASE(n, macro, ...)                                                \
  template <>                                                                   \
  struct MembersOf<n> {                                                         \
    static decltype(auto) give(auto& value, auto&& use) {                       \
      auto& [APPLY(macro, MEMBER_NAME __VA_OPT__(, ) __VA_ARGS__)] = value;     \
      return use(APPLY(macro, MEMBER_NAME __VA_OPT__(, ) __VA_ARGS__));         \
    }                                                                           \
  };
ALL_CASES(GIVE_CASE)
#undef GIVE_CASE
// clang-format on

/// Calls `use` once with references to all members of `value`, in the order of their declaration,
/// and returns what it returns. A tuple of them would cost the compiler seconds.
template <class T, class Use>
decltype(auto) with_members(T& value, Use&& use) {
  constexpr int kCount = member_count<std::remove_const_t<T>>();
  static_assert(kCount < 69, "add cases for larger structs");
  return MembersOf<kCount>::give(value, use);
}

/// The members as a tuple of references, valid as long as `value` is there.
template <class T>
auto members_of(T& value) {
  return with_members(value, [](auto&... members) { return std::tie(members...); });
}

#undef UNITS_1
#undef UNITS_2
#undef UNITS_3
#undef UNITS_4
#undef UNITS_5
#undef UNITS_6
#undef UNITS_7
#undef UNITS_8
#undef UNITS_9
#undef UNITS_10
#undef TENS_1
#undef TENS_2
#undef TENS_3
#undef TENS_4
#undef TENS_5
#undef TENS_6
#undef MIXED
#undef CASES_OF_TENS
#undef ALL_CASES
#undef BRACES
#undef MEMBER_NAME
#undef APPLY

// ---- kinds of members ----

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_vector<std::deque<T>> = true;
template <class T>
inline constexpr bool is_small_list = false;
template <class T>
inline constexpr bool is_small_list<SmallList<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_pointer = false;
template <class T>
inline constexpr bool is_pointer<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool is_pointer<std::unique_ptr<T>> = true;
template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<Shared<T>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
concept is_std_variant = requires(const T& value) {
  []<class... Kind>(const std::variant<Kind...>&) {}(value);
};
template <class T>
concept is_variant = is_std_variant<T> || requires {
  typename T::KindList;
};
/// Calls std::visit, or visit of base/variant.h.
template <class Visitor, class T>
decltype(auto) visit_variant(Visitor&& visitor, T& value) {
  if constexpr (is_std_variant<std::remove_const_t<T>>) {
    return std::visit(visitor, value);
  } else {
    return visit(visitor, value);
  }
}
template <class T>
inline constexpr bool is_id = false;
template <class Tag, class Rep>
inline constexpr bool is_id<Id<Tag, Rep>> = true;

// ---- copies ----

/// Returns a copy of a struct in which each unique_ptr member owns a copy of what the original's
/// owns; every other member is copied by assignment, so shared_ptr members share. Requires: T is
/// default-constructible, and has no unique_ptr deeper than in its own members.
template <class T>
T copy_of_members(const T& value) {
  T copy;
  [[maybe_unused]] const auto put = []<class Member>(const Member& source, Member& target) {
    if constexpr (requires {
                    target.release();
                    source.get();
                  }) {
      if (source != nullptr) target = std::make_unique<typename Member::element_type>(*source);
    } else {
      target = source;
    }
  };
  with_members(value, [&](const auto&... from) {
    with_members(copy, [&](auto&... to) { (put(from, to), ...); });
  });
  return copy;
}

}  // namespace muster
