// Cap'n Proto messages as strings of bytes, with third-party exceptions turned into errors here and
// nowhere else. Internal to records/ and wire/.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::records {

/// Returns the message in Cap'n Proto's stream framing: a table of segments, then their words.
/// Shape: a multiple of eight bytes.
inline std::string message_bytes(capnp::MessageBuilder& message) {
  const auto segments = message.getSegmentsForOutput();
  const std::size_t words = capnp::computeSerializedSizeInWords(segments);
  std::string bytes(words * sizeof(capnp::word), '\0');
  kj::ArrayOutputStream out(kj::arrayPtr(reinterpret_cast<kj::byte*>(bytes.data()), bytes.size()));
  capnp::writeMessage(out, segments);
  return bytes;
}

/// A reader may traverse kReadsMax times as many words as the message has, and kReadsLeast more so
/// that a small one can be read: pointers that share a target cannot make a short message endless.
inline constexpr std::uint64_t kReadsMax = 4;
inline constexpr std::uint64_t kReadsLeast = 1024;

/// Calls `use(reader)` with the root of the message in `bytes`. Errors: kCorruption when the
/// message is malformed, or when `use` throws, which is how read() refuses a value: `use` may have
/// run in part then, and what it filled must be dropped. Lifetime: the reader is valid within
/// `use`. Cost: copies the bytes where they are not aligned to a word.
template <class Root, class Use>
Status with_message(std::string_view bytes, Use&& use) {
  auto failure = kj::runCatchingExceptions([&] {
    const std::size_t count = bytes.size() / sizeof(capnp::word);
    kj::Array<capnp::word> copy;
    auto words = kj::arrayPtr(reinterpret_cast<const capnp::word*>(bytes.data()), count);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) != 0) {
      copy = kj::heapArray<capnp::word>(count);
      std::memcpy(copy.begin(), bytes.data(), count * sizeof(capnp::word));
      words = copy;
    }
    capnp::ReaderOptions options;
    // A message that is read once is bounded by its size; only lists of elements without a size
    // could be longer, and ours have none.
    options.traversalLimitInWords = kReadsMax * count + kReadsLeast;
    capnp::FlatArrayMessageReader reader(words, options);
    use(reader.template getRoot<Root>());
  });
  KJ_IF_MAYBE (exception, failure) {
    return fail(ErrorCode::kCorruption, "malformed record", exception->getDescription().cStr());
  }
  return {};
}

}  // namespace muster::records
