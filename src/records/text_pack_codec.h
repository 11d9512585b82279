// Texts of a job or step (model/text_pack.h) as one buffer with a mask of those that are there and
// the offset behind each. Internal to records/.
#pragma once

#include <kj/debug.h>

#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "model/text_pack.h"
#include "schema/model.capnp.h"

namespace muster::records {

template <class Key>
void write(schema::TextPack::Builder builder, const TextPack<Key>& pack) {
  const auto count = static_cast<unsigned>(pack.count());
  if (count == 0) return;
  builder.setMask(pack.mask());
  auto ends = builder.initEnds(count);
  std::uint32_t end = 0;
  for (unsigned i = 0; i < count; ++i)
    ends.set(i, end += static_cast<std::uint32_t>(pack.span_of(i).size()));
  const std::string_view all = pack.buffer();
  builder.setBuffer(kj::arrayPtr(reinterpret_cast<const kj::byte*>(all.data()), all.size()));
}

/// Raises a kj::Exception, and leaves the pack as it was, when the mask has a text that this
/// version does not know, or when the offsets do not rise within the buffer or are not one for each
/// text.
template <class Key>
void read(schema::TextPack::Reader reader, TextPack<Key>& pack) {
  const std::uint64_t mask = reader.getMask();
  const auto buffer = reader.getBuffer();
  const auto wire_ends = reader.getEnds();
  KJ_REQUIRE(std::bit_width(mask) <= static_cast<int>(TextPack<Key>::kSize),
             "written by a newer version", mask);
  KJ_REQUIRE(wire_ends.size() == static_cast<unsigned>(std::popcount(mask)),
             "texts and their number differ");
  std::array<std::uint32_t, 64> ends{};
  std::uint32_t last = 0;
  for (unsigned i = 0; i < wire_ends.size(); ++i) {
    KJ_REQUIRE(last < wire_ends[i] && wire_ends[i] <= buffer.size(), "texts out of order", i);
    ends[i] = last = wire_ends[i];
  }
  pack.assign(mask, std::span(ends).first(wire_ends.size()),
              std::string_view(reinterpret_cast<const char*>(buffer.begin()), buffer.size()));
}

}  // namespace muster::records
