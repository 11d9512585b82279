// How threads exchange values: a queue with an eventfd that an event loop can wait for, and a stock
// of credits for what is large. This is the only file with a mutex.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"

namespace muster {

/// A queue between threads: any number push, one receives. Values come out in the order in which
/// they went in. No call waits for another thread, beyond the mutex. The channel itself has no
/// bound: a producer of any number of values watches size() and stops accepting input; one of few
/// large values uses Credits.
template <class T>
class Channel {
 public:
  // None of these is inline: where `extern template class Channel<...>` declares a channel of large
  // messages, its users do not compile what moves and destroys those.
  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Adds a value, and makes fd() readable if the channel was empty.
  void push(T value);
  /// Removes and returns everything pushed so far, perhaps nothing; never waits. Clears the
  /// eventfd.
  std::vector<T> receive_all();
  /// Returns how many values wait.
  std::size_t size() const;
  /// Returns an eventfd that is readable whenever there is something to receive; now and then also
  /// when there is not. Lifetime: the channel's, which closes it.
  int fd() const { return fd_; }

 private:
  const int fd_;
  mutable std::mutex mutex_;
  std::vector<T> values_;  ///< guarded by mutex_
};

template <class T>
Channel<T>::Channel() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(fd_ >= 0, "eventfd");
}

template <class T>
Channel<T>::~Channel() {
  ::close(fd_);
}

template <class T>
void Channel<T>::push(T value) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = values_.empty();
    values_.push_back(std::move(value));
  }
  if (!was_empty) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(fd_, &one, sizeof one);
}

template <class T>
std::vector<T> Channel<T>::receive_all() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto ignored = ::read(fd_, &count, sizeof count);
  const std::lock_guard lock(mutex_);
  return std::exchange(values_, {});
}

template <class T>
std::size_t Channel<T>::size() const {
  const std::lock_guard lock(mutex_);
  return values_.size();
}

/// Bounds how many large values may be on their way to another thread: the sender acquires a credit
/// for each and waits while there is none, the receiver releases it when it has dealt with the
/// value.
class Credits {
 public:
  explicit Credits(std::size_t count) : left_(count) {}
  Credits(const Credits&) = delete;
  Credits& operator=(const Credits&) = delete;
  /// Acquires a credit; blocks while there is none.
  void acquire() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return left_ > 0; });
    --left_;
  }
  /// Releases a credit and wakes a thread that waits for one. Never blocks for long.
  void release() {
    {
      const std::lock_guard lock(mutex_);
      ++left_;
    }
    given_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::size_t left_;  ///< guarded by mutex_
};

}  // namespace muster
