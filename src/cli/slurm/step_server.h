// srun's end of a step's standard streams: it listens, lets in the supervisors that know the key,
// and exchanges frames with them (wire/step_io.h). The caller decides what frames mean.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/step_io.h"

namespace muster::cli {

/// The callbacks, which are called on the event loop. `node` is the supervisor's rank within the
/// step.
struct StepEvents {
  std::function<void(std::uint32_t node)> joined;
  std::function<void(std::uint32_t node, Frame frame)> frame;
  std::function<void(std::uint32_t node)> lost;  ///< the connection ended; after kDone as well
  /// Called when a supervisor waits to be let in, and cannot be now: an errno, EMFILE mostly. Once
  /// per shortage.
  std::function<void(int error)> shortage = [](int) {};
};

/// A private socket for one step. The folder and the socket vanish with it.
class StepServer {
 public:
  /// Begins to listen. Errors: kUnavailable when there is no folder to listen in.
  static Result<std::unique_ptr<StepServer>> create(kj::AsyncIoContext& io, StepEvents events);
  ~StepServer();

  /// Returns the address, for StepText::kIoAddress and kIoKey.
  const std::string& address() const;
  const std::string& key() const;

  /// Sends to one supervisor, or to all. Frames to one that is gone are dropped.
  void send(std::uint32_t node, FrameKind kind, std::uint32_t task, std::string_view payload);
  void send_all(FrameKind kind, std::uint32_t task, std::string_view payload);
  /// Closes one connection, after what was sent.
  void close(std::uint32_t node);
  std::size_t joined_count() const;
  /// True while the last shortage goes on.
  bool is_short() const;
  /// Removes the folder once all are there: nobody would remove it if this process were killed
  /// later.
  void hide();
  /// Fulfilled when no supervisor has kInputWindow bytes of input under way, which bounds standard
  /// input. One waiter.
  kj::Promise<void> room();

 private:
  struct State;
  explicit StepServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::cli
