// How threads exchange values: a queue with an eventfd that an event loop can wait for. The only place with a mutex.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"

namespace muster {

/// Any number of threads push; one takes. Values come out in the order in which they went in.
/// Bound: none of its own; producers are bounded by what they may have in flight.
template <class T>
class Channel {
 public:
  Channel() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { CHECK(fd_ >= 0, "eventfd"); }
  ~Channel() { ::close(fd_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void push(T value) {
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = values_.empty();
      values_.push_back(std::move(value));
    }
    if (was_empty) wake();
  }
  /// Everything pushed so far. Clears the eventfd.
  std::vector<T> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto ignored = ::read(fd_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }
  /// Readable while something may be there to take.
  int fd() const { return fd_; }

 private:
  void wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(fd_, &one, sizeof one);
  }
  const int fd_;
  std::mutex mutex_;
  std::vector<T> values_;  ///< guarded by mutex_
};

}  // namespace muster
