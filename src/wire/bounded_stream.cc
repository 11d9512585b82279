// The table of segments is read first and bounded, then the memory for all of the message is asked
// for at once and counted among its sender's bytes until the message is freed.
#include "wire/bounded_stream.h"

#include <capnp/message.h>
#include <kj/debug.h>

#include <array>
#include <cstdint>

#include "records/bytes.h"

namespace muster {
namespace {

constexpr std::uint32_t kSegmentsMax = 512;
/// The number of segments and the size of the first.
constexpr std::size_t kFirst = 2 * sizeof(std::uint32_t);

}  // namespace

kj::Exception overloaded(const std::string& reason) {
  return kj::Exception(kj::Exception::Type::OVERLOADED, __FILE__, __LINE__,
                       kj::heapString(reason.data(), reason.size()));
}

/// A message on its way in: first its table of segments, then their words.
struct BoundedMessageStream::Incoming {
  explicit Incoming(std::shared_ptr<const StreamHooks> h) : hooks(std::move(h)) {}
  ~Incoming() noexcept {
    if (held > 0) hooks->release(held);
  }
  std::uint32_t segment_count() const { return table[0] + 1; }

  std::shared_ptr<const StreamHooks> hooks;  ///< a message may be in use longer than its stream
  std::array<std::uint32_t, kSegmentsMax + 2>
      table{};  ///< the number of segments less one, then their sizes in words
  std::size_t held = 0;
  kj::Array<capnp::word> words;
  std::array<kj::ArrayPtr<const capnp::word>, kSegmentsMax> segments;
};

BoundedMessageStream::BoundedMessageStream(kj::AsyncIoStream& stream, std::size_t message_words_max,
                                           StreamHooks hooks)
    : stream_(stream),
      writer_(stream),
      message_words_max_(message_words_max),
      hooks_(std::make_shared<const StreamHooks>(std::move(hooks))) {}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> BoundedMessageStream::tryReadMessage(
    kj::ArrayPtr<kj::AutoCloseFd>, capnp::ReaderOptions, kj::ArrayPtr<capnp::word>) {
  auto incoming = kj::heap<Incoming>(hooks_);
  auto* table = incoming->table.data();
  return stream_.tryRead(table, kFirst, kFirst)
      .then([this, incoming = kj::mv(incoming)](
                std::size_t size) mutable -> kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> {
        // The peer has left between two messages.
        if (size == 0) return kj::Maybe<capnp::MessageReaderAndFds>(nullptr);
        KJ_REQUIRE(size == kFirst, "the connection ends within a message");
        KJ_REQUIRE(incoming->table[0] < kSegmentsMax, "a message of too many segments");
        // The table is padded to whole words.
        const std::size_t rest = (incoming->segment_count() & ~1U) * sizeof(std::uint32_t);
        if (rest == 0) return read_body(kj::mv(incoming));
        // Behind the two numbers that were read.
        auto* where = incoming->table.data() + 2;
        return stream_.read(where, rest).then([this, incoming = kj::mv(incoming)]() mutable {
          return read_body(kj::mv(incoming));
        });
      });
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> BoundedMessageStream::read_body(
    kj::Own<Incoming> incoming) {
  std::size_t total = 0;
  // 512 sizes of 32 bits do not overflow 64.
  for (std::uint32_t i = 0; i < incoming->segment_count(); ++i) total += incoming->table[1 + i];
  KJ_REQUIRE(total <= message_words_max_, "a message of too many bytes",
             total * sizeof(capnp::word));
  const std::size_t bytes = total * sizeof(capnp::word);
  // Asked before anything is allocated.
  if (const auto refusal = hooks_->hold(bytes)) kj::throwFatalException(overloaded(*refusal));
  incoming->held = bytes;
  incoming->words = kj::heapArray<capnp::word>(total);
  auto* words = incoming->words.begin();
  return stream_.read(words, bytes)
      .then([this, total,
             incoming = kj::mv(incoming)]() mutable -> kj::Maybe<capnp::MessageReaderAndFds> {
        std::size_t begin = 0;
        for (std::uint32_t i = 0; i < incoming->segment_count(); ++i) {
          const std::size_t size = incoming->table[1 + i];
          incoming->segments[i] = incoming->words.slice(begin, begin + size);
          begin += size;
        }
        hooks_->arrived();
        capnp::ReaderOptions options;
        // Pointers may lead to the same words again and again: the walk is bounded by the message's
        // size.
        options.traversalLimitInWords = records::kReadsMax * total + records::kReadsLeast;
        auto segments = kj::arrayPtr(incoming->segments.data(), incoming->segment_count());
        kj::Own<capnp::MessageReader> reader =
            kj::heap<capnp::SegmentArrayMessageReader>(segments, options).attach(kj::mv(incoming));
        return capnp::MessageReaderAndFds{kj::mv(reader), nullptr};
      });
}

kj::Promise<void> BoundedMessageStream::writeMessage(
    kj::ArrayPtr<const int> fds, kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  return writer_.writeMessage(fds, segments);
}

kj::Promise<void> BoundedMessageStream::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  return writer_.writeMessages(messages);
}

}  // namespace muster
