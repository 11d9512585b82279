// The same calls write and read: a field list in each method serves both ways, so that they cannot
// differ. Numbers are little-endian of fixed width; doubles travel as bits, because a search that
// is read back must decide exactly as before.

#include "search/archive.h"

#include <bit>

#include "base/check.h"

namespace muster::search {
namespace {

/// Deeper than any file that we read: only bytes that were never written go on so long, and they
/// must not exhaust the stack.
constexpr int kDepthMax = 400;

void transfer_json(Archive& archive, Json& value, int depth);

template <class T>
void transfer_scalar(Archive& archive, Json& value) {
  T held{};
  if (!archive.is_reading()) held = std::get<T>(value.value());
  archive.field(held);
  if (archive.is_reading()) value = Json(std::move(held));
}

/// The items of a list or the members of an object, made where they are read.
template <class Items, class Transfer>
void transfer_items(Archive& archive, Items& items, Transfer&& transfer) {
  std::uint64_t count = items.size();
  archive.field(count);
  for (std::uint64_t i = 0; i < count && archive.is_ok(); ++i) {
    // Made one by one: a count that bytes made up must not allocate before items follow.
    if (archive.is_reading()) items.emplace_back();
    transfer(items[i]);
  }
}

void transfer_json(Archive& archive, Json& value, int depth) {
  // The index of the variant is the format: its order is fixed by what is stored.
  auto kind = static_cast<std::uint8_t>(value.value().index());
  archive.field(kind);
  if (archive.is_reading()) {
    value = kind == 5 ? Json(Json::Array{}) : kind == 6 ? Json(Json::Object{}) : Json();
    // Bytes may come from a damaged file: refused. What is written was parsed within the depth: a
    // bug.
    if (depth > kDepthMax) return archive.refuse();
  }
  CHECK(depth <= kDepthMax, "a value lies deeper than any that is read");
  switch (kind) {
    case 1: return transfer_scalar<bool>(archive, value);
    case 2: return transfer_scalar<std::int64_t>(archive, value);
    case 3: return transfer_scalar<double>(archive, value);
    case 4: return transfer_scalar<std::string>(archive, value);
    case 5:
      return transfer_items(archive, *value.array(),
                            [&](Json& item) { transfer_json(archive, item, depth + 1); });
    case 6:
      return transfer_items(archive, *value.object(), [&](Json::Member& member) {
        archive.field(member.name);
        transfer_json(archive, member.value, depth + 1);
      });
    default: return;
  }
}

}  // namespace

void Archive::field(double& value) {
  // Bits and not text: NaN and infinity are among the results of trials.
  auto bits = std::bit_cast<std::uint64_t>(value);
  field(bits);
  value = std::bit_cast<double>(bits);
}

void Archive::field(std::string& value) {
  const std::size_t size = begin_list(value.size());
  if (is_reading_) {
    value = std::string(read_bytes(size));
  } else {
    bytes_ += value;
  }
}

void Archive::field(Json& value) { transfer_json(*this, value, 0); }

void Archive::transfer(std::uint64_t& value, std::size_t size) {
  if (!is_reading_) {
    for (std::size_t i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i));
    return;
  }
  value = 0;
  const std::string_view bytes = read_bytes(size);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
}

std::size_t Archive::begin_list(std::size_t count) {
  std::uint64_t wide = count;
  transfer(wide, sizeof(wide));
  if (is_reading_ && wide > rest_.size()) {
    refuse();
    return 0;
  }
  return static_cast<std::size_t>(wide);
}

std::string_view Archive::read_bytes(std::size_t size) {
  if (size > rest_.size()) {
    refuse();
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

}  // namespace muster::search
