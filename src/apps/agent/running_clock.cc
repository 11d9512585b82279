// A thread ticks while a call blocks. Time between two ticks counts as run up to kTickMax; for what
// lies beyond the whole process stood still.
#include "apps/agent/running_clock.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "env/posix/clocks.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kTick(100);
/// A tick that comes later than that shows a pause: a busy machine lets nobody wait for longer.
constexpr Duration kTickMax = Duration::seconds(1);

/// Counts from its making on until it is asked.
class RunningClock {
 public:
  /// Where there is no thread to be had, all of the time counts as run.
  RunningClock() : last_(steady_now()) {
    try {
      thread_ = std::thread([this] { count(); });
    } catch (const std::system_error&) {
    }
  }
  ~RunningClock() {
    if (thread_.joinable()) stop();
  }
  RunningClock(const RunningClock&) = delete;
  RunningClock& operator=(const RunningClock&) = delete;

  Duration stop() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_one();
    if (!thread_.joinable()) return steady_now() - last_;
    thread_.join();
    return ran_;
  }

 private:
  void count() {
    std::unique_lock lock(mutex_);
    while (!is_over_) {
      over_.wait_for(lock, kTick, [this] { return is_over_; });
      const TimePoint now = steady_now();
      ran_ = ran_ + std::min(now - last_, kTickMax);
      last_ = now;
    }
  }

  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  Duration ran_;
  TimePoint last_;
  std::thread thread_;
};

}  // namespace

ElapsedTime measure_time(const std::function<void()>& work) {
  // By CLOCK_BOOTTIME, which counts while the machine is suspended.
  const TimePoint begin = steady_now();
  RunningClock clock;
  work();
  const Duration ran = clock.stop();
  return {steady_now() - begin, ran};
}

}  // namespace muster
