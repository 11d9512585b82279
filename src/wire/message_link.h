// Messages over a stream, each as its length (u32, little endian) and its bytes: between agent and
// step supervisors.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <functional>
#include <string>

#include "text/launch_size.h"

namespace muster {

/// One end. Sends in order without waiting; receives until the other side is gone. Bound:
/// kMessageMax per message.
class MessageLink final : private kj::TaskSet::ErrorHandler {
 public:
  static constexpr std::uint32_t kMessageMax = kLaunchBytesMax;
  explicit MessageLink(kj::Own<kj::AsyncIoStream> stream);
  ~MessageLink() noexcept;
  void send(std::string bytes);
  /// Calls `receive` for every message; fulfilled when the stream ends, breaks or is malformed.
  /// Never rejected.
  kj::Promise<void> run(std::function<void(std::string)> receive);
  /// True once all that was sent is written, false once nothing more can be, also because the link
  /// goes. Never rejected. Requires: one at a time.
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
