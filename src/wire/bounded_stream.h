// Cap'n Proto messages from a peer that is not trusted: each is bounded before memory is allocated
// for it, and what a reader may walk through it is bounded by its own size. Internal to wire/.
#pragma once

#include <capnp/serialize-async.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster {

/// Returns the exception (OVERLOADED) for a peer that asks for too much: it may try later.
kj::Exception overloaded(const std::string& reason);

/// The callbacks by which a stream asks and informs its owner. They are called from within reads,
/// on the stream's thread.
struct StreamHooks {
  /// Called when memory for a message of that size is about to be allocated. Nullopt: it may be; a
  /// text: the read fails with overloaded(text), which ends the connection.
  std::function<std::optional<std::string>(std::size_t bytes)> hold;
  /// Called when a message for which hold() admitted as many bytes is freed, or its read has
  /// failed.
  std::function<void(std::size_t bytes)> release;
  /// Called when a whole message has arrived.
  std::function<void()> arrived;
};

/// Reads messages of at most `message_words_max` words (of eight bytes) and 512 segments; writes as
/// capnp's own stream does. A message may be traversed as records/bytes.h says, whatever options a
/// reader gives; file descriptors are not received. Errors: reads fail with a kj::Exception for a
/// message beyond the bounds or cut off, and for one that hold() refuses. Lifetime: `stream`
/// outlives it; what the hooks refer to also outlives every message that was read.
class BoundedMessageStream final : public capnp::MessageStream {
 public:
  BoundedMessageStream(kj::AsyncIoStream& stream, std::size_t message_words_max, StreamHooks hooks);

  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> tryReadMessage(
      kj::ArrayPtr<kj::AutoCloseFd> fds, capnp::ReaderOptions options,
      kj::ArrayPtr<capnp::word> scratch) override;
  kj::Promise<void> writeMessage(
      kj::ArrayPtr<const int> fds,
      kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) override;
  kj::Promise<void> writeMessages(
      kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) override;
  kj::Maybe<int> getSendBufferSize() override { return writer_.getSendBufferSize(); }
  kj::Promise<void> end() override { return writer_.end(); }

 private:
  struct Incoming;
  kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> read_body(kj::Own<Incoming> incoming);

  kj::AsyncIoStream& stream_;
  capnp::AsyncIoMessageStream writer_;
  std::size_t message_words_max_;
  std::shared_ptr<const StreamHooks> hooks_;
};

}  // namespace muster
