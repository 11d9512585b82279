// The supervisor's end of the stream to srun. Frames: wire/step_io.h.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "wire/step_io.h"

namespace muster {

/// Sends frames in order, without waiting up to kQueueMax bytes; beyond that `room` says when to
/// continue.
class SrunLink final : private kj::TaskSet::ErrorHandler {
 public:
  static constexpr std::size_t kQueueMax = 4U << 20;
  explicit SrunLink(kj::Own<kj::AsyncIoStream> stream);
  void send(FrameKind kind, std::uint32_t task, std::string_view payload);
  /// Fulfilled at once while the queue is short.
  kj::Promise<void> room();
  kj::Promise<void> flushed();
  /// Calls `receive` for every frame; fulfilled when srun is gone or speaks nonsense.
  kj::Promise<void> run(std::function<void(Frame)> receive);

 private:
  kj::Promise<void> write_loop();
  kj::Promise<void> read_loop();
  void wake();
  void taskFailed(kj::Exception&&) override;

  kj::Own<kj::AsyncIoStream> stream_;
  std::string waiting_;
  std::string writing_;
  bool is_writing_ = false;
  bool is_broken_ = false;
  FrameReader reader_;
  char buffer_[65536] = {};
  std::function<void(Frame)> receive_;
  std::vector<std::pair<bool, kj::Own<kj::PromiseFulfiller<void>>>>
      waiters_;  ///< true: until all is written
  kj::TaskSet tasks_;
};

}  // namespace muster
