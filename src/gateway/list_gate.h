// How many lists each user has on their way at once: what is under way holds memory, so the others
// wait for one of them to end. A user whose clients do not read what they asked for keeps nobody
// but himself waiting. Belongs to the gateway's thread.
#pragma once

#include <kj/async.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

#include "model/ids.h"

namespace muster {

class ListGate {
  struct State;

 public:
  /// The right to be under way, given back with its end. May outlive the gate.
  class Ticket {
   public:
    Ticket(std::shared_ptr<State> state, UserId user) : state_(std::move(state)), user_(user) {}
    KJ_DISALLOW_COPY(Ticket);
    ~Ticket() noexcept(false);

   private:
    std::shared_ptr<State> state_;
    UserId user_;
  };

  explicit ListGate(std::size_t of_user_max);
  /// Fulfilled when the user has room, in the order of the calls.
  kj::Promise<kj::Own<Ticket>> enter(UserId user);
  /// Users who have anything under way.
  std::size_t users() const;

 private:
  struct Lists {
    std::size_t under_way = 0;
    std::deque<kj::Own<kj::PromiseFulfiller<kj::Own<Ticket>>>> waiting;
  };
  struct State {
    std::size_t of_user_max;
    std::map<UserId, Lists> users;
  };
  std::shared_ptr<State> state_;
};

}  // namespace muster
