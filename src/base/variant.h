// A value of one of many types: for lists of dozens of types that much of the code passes around,
// such as events.
//
// It behaves as std::variant does, without the empty state. The difference is what it costs to
// compile: what copies, moves and destroys a value is compiled in one file (base/variant_members.h
// says how), and visiting is one table. std::variant compiles all of that again in every file that
// makes or passes on a value. Short lists are std::variant's: they cost nothing there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace muster {

/// The types that a Variant may hold, by number.
template <class... Ts>
struct TypeList {
  static constexpr std::size_t kSize = sizeof...(Ts);
  static constexpr std::size_t kBytes = [] {
    std::size_t most = 1;
    ((most = sizeof(Ts) > most ? sizeof(Ts) : most), ...);
    return most;
  }();
  static constexpr std::size_t kAlignment = [] {
    std::size_t most = 1;
    ((most = alignof(Ts) > most ? alignof(Ts) : most), ...);
    return most;
  }();
  /// The type's number in the list; kSize when it is none of them.
  template <class T>
  static constexpr std::size_t kIndexOf = [] {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<T, Ts> || (++index, false)) || ...));
    return index;
  }();
  /// Calls `use.template operator()<T>()` for each type.
  template <class Use>
  static constexpr void for_each(Use&& use) {
    (use.template operator()<Ts>(), ...);
  }
};

/// The list of all types but the first: lists are made by macros that put a comma before each type.
template <class First, class... Rest>
struct TailOf : TypeList<Rest...> {};

template <class Kinds>
class Variant;
template <class T, class Kinds>
T& get(Variant<Kinds>& value);

/// A variant always holds exactly one value of one of the types. Assigning another type replaces
/// the value; a variant that was moved from still holds its type, in that type's moved-from state.
/// `Kinds` is a struct derived from a TypeList, so that names in the program stay short. Requires:
/// moving any of the types does not throw; at most 255 types; base/variant_members.h is
/// instantiated once for the list, else the program does not link.
template <class Kinds>
class Variant {
 public:
  using KindList = Kinds;

  /// Holds the first of the types, value-initialised.
  Variant();
  Variant(const Variant& other);
  Variant(Variant&& other) noexcept;
  Variant& operator=(const Variant& other);
  Variant& operator=(Variant&& other) noexcept;
  ~Variant();

  // A Variant is not of its own list: copies never come here.
  template <class T>
  requires(Kinds::template kIndexOf<std::remove_cvref_t<T>> < Kinds::kSize)
      Variant(T&& value)  // NOLINT(*-explicit-*, bugprone-forwarding-reference-overload)
      : index_(Kinds::template kIndexOf<std::remove_cvref_t<T>>) {
    ::new (static_cast<void*>(bytes_)) std::remove_cvref_t<T>(std::forward<T>(value));
  }

  /// Replaces the value by a value-initialised T and returns that.
  template <class T>
  requires(Kinds::template kIndexOf<T> < Kinds::kSize) T& emplace() {
    return get<T>(*this = Variant(T()));
  }

  /// The number of the held type in the list, from 0.
  std::size_t index() const { return index_; }
  /// Returns where the value lies, for get_if() and visit().
  void* bytes() { return bytes_; }
  const void* bytes() const { return bytes_; }

 private:
  static_assert(Kinds::kSize < 256);
  void destroy();

  std::uint8_t index_;
  alignas(Kinds::kAlignment) unsigned char bytes_[Kinds::kBytes];
};

template <class T, class Kinds>
bool holds_alternative(const Variant<Kinds>& value) {
  static_assert(Kinds::template kIndexOf<T> < Kinds::kSize);
  return value.index() == Kinds::template kIndexOf<T>;
}

/// Returns the held T; null when it holds another type. Requires: `value` is not null. T must be in
/// the list.
template <class T, class Kinds>
T* get_if(Variant<Kinds>* value) {
  return holds_alternative<T>(*value) ? std::launder(static_cast<T*>(value->bytes())) : nullptr;
}
template <class T, class Kinds>
const T* get_if(const Variant<Kinds>* value) {
  return holds_alternative<T>(*value) ? std::launder(static_cast<const T*>(value->bytes()))
                                      : nullptr;
}

/// Aborts the process: what get() does for a type that is not held.
[[noreturn]] void fail_variant_access(std::size_t held, std::size_t wanted);

/// Returns the held T. Requires: the variant holds one; otherwise the process aborts.
template <class T, class Kinds>
T& get(Variant<Kinds>& value) {
  if (T* held = get_if<T>(&value)) return *held;
  fail_variant_access(value.index(), Kinds::template kIndexOf<T>);
}
template <class T, class Kinds>
const T& get(const Variant<Kinds>& value) {
  if (const T* held = get_if<T>(&value)) return *held;
  fail_variant_access(value.index(), Kinds::template kIndexOf<T>);
}

namespace variant_detail {

template <class T, class Result, class Visitor>
Result call(Visitor& visitor, void* bytes) {
  return static_cast<Result>(visitor(*std::launder(static_cast<T*>(bytes))));
}
template <class T, class Result, class Visitor>
Result call_const(Visitor& visitor, const void* bytes) {
  return static_cast<Result>(visitor(*std::launder(static_cast<const T*>(bytes))));
}

template <class Visitor, class First, class... Rest>
decltype(auto) visit(Visitor& visitor, std::size_t index, void* bytes,
                     const TypeList<First, Rest...>*) {
  using Result = decltype(visitor(std::declval<First&>()));
  // Static: else the table is copied to the stack at each call.
  static constexpr Result (*kCalls[])(Visitor&, void*) = {call<First, Result, Visitor>,
                                                          call<Rest, Result, Visitor>...};
  return kCalls[index](visitor, bytes);
}
template <class Visitor, class First, class... Rest>
decltype(auto) visit(Visitor& visitor, std::size_t index, const void* bytes,
                     const TypeList<First, Rest...>*) {
  using Result = decltype(visitor(std::declval<const First&>()));
  static constexpr Result (*kCalls[])(Visitor&, const void*) = {
      call_const<First, Result, Visitor>, call_const<Rest, Result, Visitor>...};
  return kCalls[index](visitor, bytes);
}

}  // namespace variant_detail

/// Calls the visitor with the held value as its own type. A type that the visitor does not accept
/// fails to compile. The result has the type of the call for the first type of the list; the
/// results for the others are converted to it. Cost: one indirect call.
template <class Visitor, class Kinds>
decltype(auto) visit(Visitor&& visitor, Variant<Kinds>& value) {
  return variant_detail::visit(visitor, value.index(), value.bytes(),
                               static_cast<const Kinds*>(nullptr));
}
template <class Visitor, class Kinds>
decltype(auto) visit(Visitor&& visitor, const Variant<Kinds>& value) {
  return variant_detail::visit(visitor, value.index(), value.bytes(),
                               static_cast<const Kinds*>(nullptr));
}

}  // namespace muster
