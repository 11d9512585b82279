// Shares the gateway's time among long lists and configurations. Slices of lists are made one after
// the other, and between two portions of that work whoever else has something for the gateway's
// thread is served. It belongs to that thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstddef>
#include <functional>

#include "base/turn_queue.h"
#include "model/ids.h"

namespace muster {

class ListTurns final : private kj::TaskSet::ErrorHandler {
 public:
  explicit ListTurns(kj::Timer& timer) : timer_(timer), tasks_(*this) {}

  /// Runs `work`, a slice of a list for `user`, which answers what it cost: about as many jobs as
  /// it showed. It runs at once when little such work was done since other events were last looked
  /// for, else in turn, users by turns. Fulfilled when it has run; dropping the promise before that
  /// means that it never runs.
  kj::Promise<void> run(UserId user, std::function<std::size_t()> work);

  /// The most that is made of lists between two looks at other events, in jobs: about a
  /// millisecond.
  static constexpr std::size_t kCostMax = 256;

 private:
  struct Waiting {
    std::function<std::size_t()> work;
    kj::Own<kj::PromiseFulfiller<void>> fulfiller;
  };
  void spend(std::size_t cost);
  void go_on();
  void taskFailed(kj::Exception&&) override {}

  kj::Timer& timer_;
  TurnQueue<UserId, Waiting> waiting_;
  std::size_t spent_ = 0;  ///< since other events were last looked for
  kj::TaskSet tasks_;
};

}  // namespace muster
