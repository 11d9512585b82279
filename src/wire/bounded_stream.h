// Cap'n Proto messages from a peer that is not trusted: each is bounded before memory is set aside
// for it, and what a reader may walk through it is bounded by its own size. Internal to wire/.
#pragma once

#include <capnp/serialize-async.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace muster {

/// "Not now, because": what a peer that asks for too much is answered.
kj::Exception overloaded(const std::string& reason);

/// What a stream's owner is asked and told.
struct StreamHooks {
  /// `bytes` are about to be held; a text: they are refused and the connection ends with it.
  std::function<std::optional<std::string>(std::size_t bytes)> hold;
  std::function<void(std::size_t bytes)> release;
  /// A whole message has arrived.
  std::function<void()> arrived;
};

/// Reads as it says above; writes as usual. Requires: `stream` outlives it, and what the hooks
/// refer to also every message read.
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
