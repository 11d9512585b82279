#include "search/archive.h"

#include <bit>

namespace muster::search {
namespace {

/// How deep a value may lie: what is deeper was not written by us, and would exhaust the stack.
constexpr int kDepthMax = 64;

void transfer_json(Archive& archive, Json& value, int depth) {
  auto kind = static_cast<std::uint8_t>(value.value().index());
  archive.field(kind);
  const auto scalar = [&]<class T>(T held) {
    if (const T* there = std::get_if<T>(&value.value())) held = *there;
    archive.field(held);
    value = Json(held);
  };
  switch (depth > kDepthMax ? 0 : kind) {
    case 1: return scalar(false);
    case 2: return scalar(std::int64_t{0});
    case 3: return scalar(0.0);
    case 4: return scalar(std::string());
    case 5: {
      Json::Array items;
      if (value.array() != nullptr) items = std::move(*value.array());
      std::uint64_t count = items.size();
      archive.field(count);
      for (std::uint64_t i = 0; i < count && archive.is_ok(); ++i) {
        if (archive.is_reading()) items.emplace_back();
        transfer_json(archive, items[i], depth + 1);
      }
      value = Json(std::move(items));
      return;
    }
    case 6: {
      Json::Object members;
      if (value.object() != nullptr) members = std::move(*value.object());
      std::uint64_t count = members.size();
      archive.field(count);
      for (std::uint64_t i = 0; i < count && archive.is_ok(); ++i) {
        if (archive.is_reading()) members.emplace_back();
        archive.field(members[i].name);
        transfer_json(archive, members[i].value, depth + 1);
      }
      value = Json(std::move(members));
      return;
    }
    default: value = Json();
  }
}

}  // namespace

void Archive::field(double& value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  field(bits);
  value = std::bit_cast<double>(bits);
}

void Archive::field(std::string& value) {
  const std::size_t size = begin_list(value.size());
  if (is_reading_) {
    value = std::string(take(size));
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
  const std::string_view bytes = take(size);
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
}

std::size_t Archive::begin_list(std::size_t count) {
  std::uint64_t wide = count;
  transfer(wide, sizeof(wide));
  if (is_reading_ && wide > rest_.size()) {
    is_ok_ = false;
    rest_ = {};
    return 0;
  }
  return static_cast<std::size_t>(wide);
}

std::string_view Archive::take(std::size_t size) {
  if (size > rest_.size()) {
    is_ok_ = false;
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

}  // namespace muster::search
