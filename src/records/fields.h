// How a model value becomes Cap'n Proto fields and back, from one list of fields for both
// directions.
//
// A struct's list is a macro `FOO_FIELDS(F, S, L, P, O)` with one entry per field:
//
// - F(member, Name): a scalar, text, id, time, enum or bitmap
// - S(member, Name): a nested struct
// - L(member, Name): a vector or SmallList of structs, texts or scalars
// - P(member, Name): a struct behind a pointer or in an optional; absent when null
// - O(member, Name): an optional scalar or text, with a `hasName` field beside it (an optional list
//   is written by hand)
//
// RECORD(Type, schema::Type, FOO_FIELDS) then defines write(builder, value) and read(reader,
// value). read() requires a fresh value, because what is absent leaves its member alone. It raises
// a kj::Exception for an enumerator that this version does not know and for malformed bytes, which
// with_message (bytes.h) turns into an Error. Units on the wire: microseconds for times and spans,
// the bits of the number for a double. Internal to records/.
#pragma once

#include <capnp/any.h>
#include <capnp/message.h>
#include <kj/debug.h>

#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/bitmap.h"
#include "base/id.h"
#include "base/small_list.h"
#include "base/time.h"
#include "model/step.h"
#include "model/text_pack.h"
#include "records/enum_counts.h"

namespace muster::records {

// ---- scalars to the wire ----
template <class T>
requires std::is_integral_v<T> T to_wire(T value) { return value; }
template <class T>
requires std::is_enum_v<T>
auto to_wire(T value) { return static_cast<std::underlying_type_t<T>>(value); }
template <class Tag, class Rep>
Rep to_wire(Id<Tag, Rep> id) {
  return id.value();
}
inline std::uint64_t to_wire(double value) { return std::bit_cast<std::uint64_t>(value); }
inline std::int64_t to_wire(Duration d) { return d.microseconds(); }
inline std::int64_t to_wire(TimePoint t) { return t.microseconds(); }
inline std::int32_t to_wire(ExitStatus status) { return status.raw; }
inline capnp::Text::Reader to_wire(const std::string& text) {
  return capnp::Text::Reader(text.c_str(), text.size());
}
inline kj::ArrayPtr<const std::uint64_t> to_wire(const Bitmap& bitmap) {
  return kj::arrayPtr(bitmap.words().data(), bitmap.words().size());
}
inline capnp::Data::Reader to_wire(const std::shared_ptr<const std::string>& bytes) {
  if (bytes == nullptr) return {};
  return capnp::Data::Reader(reinterpret_cast<const kj::byte*>(bytes->data()), bytes->size());
}

// ---- and back ----
template <class T>
requires std::is_integral_v<T>
void from_wire(T wire, T& value) { value = wire; }
template <class W, class T>
requires std::is_enum_v<T>
void from_wire(W wire, T& value) {
  static_assert(kEnumCount<T> > 0, "say how many enumerators it has");
  KJ_REQUIRE(static_cast<unsigned>(wire) < kEnumCount<T>, "unknown enumerator", wire);
  value = static_cast<T>(wire);
}
template <class Tag, class Rep>
void from_wire(Rep wire, Id<Tag, Rep>& id) {
  id = Id<Tag, Rep>(wire);
}
inline void from_wire(std::uint64_t wire, double& value) { value = std::bit_cast<double>(wire); }
inline void from_wire(std::int64_t wire, Duration& d) { d = Duration::microseconds(wire); }
inline void from_wire(std::int64_t wire, TimePoint& t) { t = TimePoint::from_microseconds(wire); }
inline void from_wire(std::int32_t wire, ExitStatus& status) { status.raw = wire; }
inline void from_wire(capnp::Text::Reader wire, std::string& text) {
  text.assign(wire.begin(), wire.size());
}
inline void from_wire(capnp::List<std::uint64_t>::Reader wire, Bitmap& bitmap) {
  std::vector<std::uint64_t> words;
  words.reserve(wire.size());
  for (const std::uint64_t word : wire) words.push_back(word);
  bitmap = Bitmap::from_words(std::move(words));
}
inline void from_wire(capnp::Data::Reader wire, std::shared_ptr<const std::string>& bytes) {
  bytes =
      std::make_shared<const std::string>(reinterpret_cast<const char*>(wire.begin()), wire.size());
}

// ---- lists ----
template <class List, class T>
void put_element(List list, unsigned i, const T& value) {
  if constexpr (requires { list.set(i, to_wire(value)); }) {
    list.set(i, to_wire(value));
  } else {
    write(list[i], value);
  }
}
template <class Wire, class T>
void read_element(Wire wire, T& value) {
  if constexpr (requires { from_wire(wire, value); }) {
    from_wire(wire, value);
  } else {
    read(wire, value);
  }
}
/// Refuses a list of structs of no size, which may claim any length in a message of any size.
/// Nobody writes such a one; without them a list has no more elements than its message has bits.
template <class List>
void require_sized(List list) {
  if constexpr (requires { capnp::AnyStruct::Reader(list[0]); }) {
    if (list.size() == 0) return;
    const capnp::AnyStruct::Reader first(list[0]);
    KJ_REQUIRE(first.getDataSection().size() + first.getPointerSection().size() > 0,
               "a list of elements without a size");
  }
}
template <class List, class T>
void read_list(List list, std::vector<T>& values) {
  require_sized(list);
  values.clear();
  values.reserve(list.size());
  for (auto wire : list) read_element(wire, values.emplace_back());
}
template <class List, class T>
void read_list(List list, SmallList<T>& values) {
  std::vector<T> all;
  read_list(list, all);
  values = all;
}
template <class List, class Values>
void write_list(List list, const Values& values) {
  for (unsigned i = 0; i < values.size(); ++i) put_element(list, i, values[i]);
}

template <class Wire, class T>
void read_into(Wire wire, std::shared_ptr<const T>& value) {
  auto fresh = std::make_shared<T>();
  read(wire, *fresh);
  value = std::move(fresh);
}
template <class Wire, class T>
void read_into(Wire wire, std::optional<T>& value) {
  read(wire, value.emplace());
}

template <class Wire, class T>
void read_optional(Wire wire, std::optional<T>& value) {
  if constexpr (requires {
                  value->reserve(1);
                  value->push_back(*value->begin());
                } &&
                !std::is_same_v<T, std::string>) {
    read_list(wire, value.emplace());
  } else {
    from_wire(wire, value.emplace());
  }
}

}  // namespace muster::records

#define MUSTER_WRITE_F(member, Name) builder.set##Name(to_wire(value.member));
#define MUSTER_WRITE_S(member, Name) write(builder.init##Name(), value.member);
#define MUSTER_WRITE_L(member, Name)                                                          \
  if (!value.member.empty()) {                                                                \
    write_list(builder.init##Name(static_cast<unsigned>(value.member.size())), value.member); \
  }
#define MUSTER_WRITE_P(member, Name) \
  if (value.member) write(builder.init##Name(), *value.member);
#define MUSTER_WRITE_O(member, Name)           \
  if (value.member) {                          \
    builder.setHas##Name(true);                \
    builder.set##Name(to_wire(*value.member)); \
  }

#define MUSTER_READ_F(member, Name) from_wire(reader.get##Name(), value.member);
#define MUSTER_READ_S(member, Name) read(reader.get##Name(), value.member);
#define MUSTER_READ_L(member, Name) read_list(reader.get##Name(), value.member);
#define MUSTER_READ_P(member, Name) \
  if (reader.has##Name()) read_into(reader.get##Name(), value.member);
#define MUSTER_READ_O(member, Name) \
  if (reader.getHas##Name()) read_optional(reader.get##Name(), value.member);

// NOLINTBEGIN(bugprone-macro-parentheses): they are names of types.
#define RECORD(Type, Schema, FIELDS)                                                       \
  void write(Schema::Builder builder, const Type& value) {                                 \
    FIELDS(MUSTER_WRITE_F, MUSTER_WRITE_S, MUSTER_WRITE_L, MUSTER_WRITE_P, MUSTER_WRITE_O) \
  }                                                                                        \
  void read(Schema::Reader reader, Type& value) {                                          \
    FIELDS(MUSTER_READ_F, MUSTER_READ_S, MUSTER_READ_L, MUSTER_READ_P, MUSTER_READ_O)      \
  }
// NOLINTEND(bugprone-macro-parentheses)
