// The hash of any value of model/: it covers every member, found by the struct's own shape, so that
// no member can be forgotten. state_hash.cc is built on it; internal to state/.
#pragma once

#include <array>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bitmap.h"
#include "base/hash.h"
#include "base/members.h"
#include "base/time.h"
#include "model/text_pack.h"

namespace muster {

/// Members that the hash of a struct leaves out, because another member stands for them.
/// Specialised where that is so. `kOmits<Struct, Member>` is about a member's type.
template <class Struct, class Member>
inline constexpr bool kOmits = false;

/// Returns the hash of a value. Equal values have equal hashes on every host. A member that is what
/// a fresh struct has adds nothing, so that a member added at a struct's end leaves the hashes of
/// what was recorded before it as they were. Null bytes equal empty ones. Cost: O(size of the
/// value).
template <class T>
std::uint64_t value_hash(const T& value);

namespace value_hash_detail {

template <class K>
std::true_type pack(const TextPack<K>&);
std::false_type pack(...);
template <class T>
inline constexpr bool is_pack = decltype(pack(std::declval<const T&>()))::value;

template <class T>
std::uint64_t of_list(const T& values) {
  Hasher hasher;
  hasher.add(values.size());
  for (const auto& value : values) hasher.add(value_hash(value));
  return hasher.digest();
}

template <class T>
std::uint64_t of_pack(const T& pack) {
  Hasher hasher;
  hasher.add(pack.mask()).add(pack.buffer());
  for (std::size_t i = 0; i < pack.count(); ++i) hasher.add(pack.span_of(i).size());
  return hasher.digest();
}

template <class T>
std::uint64_t of_pointer(const T& pointer) {
  using Pointee = std::remove_const_t<typename T::element_type>;
  if constexpr (std::is_same_v<Pointee, std::string>) {
    return Hasher()
        .add(pointer == nullptr ? std::string_view() : std::string_view(*pointer))
        .digest();
  } else {
    return pointer == nullptr ? 0 : Hasher().add(1).add(value_hash(*pointer)).digest();
  }
}

/// True where the two are equal for certain, at the cost of a glance: numbers, and what is empty.
template <class T>
bool is_plainly_equal(const T& a, const T& b) {
  // Not of floating numbers: 0 and -0 are equal and have other bits.
  if constexpr (std::has_unique_object_representations_v<T> && !is_pointer<T>) {
    return a == b;
  } else if constexpr (std::is_same_v<T, Bitmap>) {
    return a.words().empty() && b.words().empty();
  } else if constexpr (is_pointer<T>) {
    return a == nullptr && b == nullptr;
  } else if constexpr (is_shared<T>) {
    return a.is_one_with(b);
  } else if constexpr (is_vector<T> || is_small_list<T> || std::is_same_v<T, std::string>) {
    return a.empty() && b.empty();
  } else {
    return false;
  }
}

template <class Struct, class Member>
std::uint64_t hash_unless_omitted(const Member& member) {
  if constexpr (kOmits<Struct, Member>)
    return 0;
  else
    return value_hash(member);
}

/// Adds a member by its number, unless it is what a fresh struct has. Most members are: those are
/// not hashed.
template <class Struct, class Member>
void add_member(Hasher& hasher, std::size_t number, const Member& member, const Member& fresh,
                std::uint64_t hash_of_fresh) {
  if constexpr (!kOmits<Struct, Member>) {
    if (is_plainly_equal(member, fresh)) return;
    const std::uint64_t hash = value_hash(member);
    if (hash != hash_of_fresh) hasher.add(number).add(hash);
  }
}

template <class T>
std::uint64_t of_struct(const T& value) {
  static const T kFresh{};
  [[maybe_unused]] static const auto kHashesOfFresh =
      with_members(kFresh, [](const auto&... fresh) {
        return std::array<std::uint64_t, sizeof...(fresh)>{hash_unless_omitted<T>(fresh)...};
      });
  Hasher hasher;
  with_members(value, [&](const auto&... member) {
    with_members(kFresh, [&](const auto&... fresh) {
      std::size_t number = 0;
      // In order: each comma waits for what stands before it.
      ((add_member<T>(hasher, number, member, fresh, kHashesOfFresh[number]), ++number), ...);
    });
  });
  return hasher.digest();
}

}  // namespace value_hash_detail

template <class T>
std::uint64_t value_hash(const T& value) {
  using namespace value_hash_detail;
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return Hasher().add(value).digest();
  } else if constexpr (std::is_same_v<T, double>) {
    return Hasher().add(std::bit_cast<std::uint64_t>(value)).digest();
  } else if constexpr (is_id<T>) {
    return Hasher().add(value.value()).digest();
  } else if constexpr (std::is_same_v<T, Duration> || std::is_same_v<T, TimePoint>) {
    return Hasher().add(value.microseconds()).digest();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return Hasher().add(std::string_view(value)).digest();
  } else if constexpr (std::is_same_v<T, Bitmap>) {
    return of_list(value.words());
  } else if constexpr (is_pack<T>) {
    return of_pack(value);
  } else if constexpr (is_pointer<T>) {
    return of_pointer(value);
  } else if constexpr (is_shared<T>) {
    return value_hash(*value);
  } else if constexpr (is_optional<T>) {
    return value ? Hasher().add(1).add(value_hash(*value)).digest() : 0;
  } else if constexpr (is_pair<T>) {
    return Hasher().add(value_hash(value.first)).add(value_hash(value.second)).digest();
  } else if constexpr (is_variant<T>) {
    return visit_variant(
        [&](const auto& body) {
          return Hasher().add(value.index()).add(value_hash(body)).digest();
        },
        value);
  } else if constexpr (is_vector<T> || is_small_list<T>) {
    return of_list(value);
  } else {
    return of_struct(value);
  }
}

}  // namespace muster
