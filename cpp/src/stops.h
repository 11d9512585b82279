// Who asks this run to stop: a signal, the stop file, the deadline, a controller.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "environment.h"
#include "session.h"

namespace muster::core {

class StopSource {
 public:
  virtual ~StopSource() = default;
  /// Why to stop; "" when nobody asks. Answers at once, but for the first answer of a controller.
  virtual std::string reason() = 0;
};

/// Caught from now until the source ends; a handler that was there before is called too. One source
/// in a process.
std::unique_ptr<StopSource> make_signal_source(int number);
/// The stop file and the deadline.
std::unique_ptr<StopSource> make_environment_source(const Environment& environment);
/// A thread keeps it up to date by long polls. Its first answer is waited for, at most two seconds.
std::unique_ptr<StopSource> make_controller_source(const Controller& controller);

}  // namespace muster::core
