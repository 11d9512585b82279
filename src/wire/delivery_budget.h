// How many bytes of large messages are on their way to all agents together.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstddef>
#include <deque>

namespace muster {

/// A launch is written out for each of its nodes: for thousands at once, and with a large
/// environment, that would fill the memory and keep the loop from everything else. One thread.
/// Requires: outlives its shares.
class DeliveryBudget {
 public:
  DeliveryBudget(std::size_t bytes_max, kj::Timer& timer) : bytes_max_(bytes_max), timer_(timer) {}
  KJ_DISALLOW_COPY(DeliveryBudget);

  /// Given back when it is destroyed, or when it is old: an agent that reads nothing holds up the
  /// others for so long alone.
  class Share {
   public:
    Share(DeliveryBudget& budget, std::size_t bytes);
    ~Share() { give_back(); }
    KJ_DISALLOW_COPY(Share);

   private:
    void give_back();
    DeliveryBudget& budget_;
    std::size_t bytes_;
    kj::Promise<void> too_old_;
  };

  /// Fulfilled when so many bytes may go, in the order of asking. More than all together go when
  /// nothing else is on its way.
  kj::Promise<kj::Own<Share>> take(std::size_t bytes);

 private:
  struct Asking {
    std::size_t bytes;
    kj::Own<kj::PromiseFulfiller<kj::Own<Share>>> answer;
  };
  void serve();

  std::size_t bytes_max_;
  kj::Timer& timer_;
  std::size_t used_ = 0;
  std::deque<Asking> asking_;
};

}  // namespace muster
