// Messages over a stream, each as its length (u32, little endian) and its bytes: between agent and
// step supervisors.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <functional>
#include <string>

#include "text/launch_size.h"

namespace muster {

/// One end of a connection. It sends in order without waiting, and without a bound on what waits;
/// it receives until the other side is gone. A message has at most kMessageMax bytes: a longer one
/// ends the receiver's run(). Thread: that of the event loop.
class MessageLink final : private kj::TaskSet::ErrorHandler {
 public:
  static constexpr std::uint32_t kMessageMax = kLaunchBytesMax;
  explicit MessageLink(kj::Own<kj::AsyncIoStream> stream);
  ~MessageLink() noexcept;
  /// Queues a message; dropped when writing has failed before. Requires: at most kMessageMax bytes,
  /// not checked here.
  void send(std::string bytes);
  /// Calls `receive` for every message; fulfilled when the stream ends, breaks or is malformed.
  /// Never rejected. Requires: called once; `receive` neither throws nor destroys the link.
  /// Lifetime: the link outlives the promise.
  kj::Promise<void> run(std::function<void(std::string)> receive);
  /// True once all that was sent is written to the stream, which does not mean that it was read;
  /// false once no more can be written, or when the link is destroyed. Never rejected. Requires:
  /// one at a time.
  kj::Promise<bool> flushed();

 private:
  kj::Promise<void> write_loop();
  kj::Promise<void> read_one();
  void taskFailed(kj::Exception&&) override;
  void wake(bool is_written);

  kj::Own<kj::AsyncIoStream> stream_;
  std::string waiting_;
  std::string writing_;
  bool is_writing_ = false;
  bool is_broken_ = false;
  unsigned char header_[4] = {};
  std::string body_;
  std::function<void(std::string)> receive_;
  kj::Maybe<kj::Own<kj::PromiseFulfiller<bool>>> flushed_;
  kj::TaskSet tasks_;
};

}  // namespace muster
