// Bounds how many lists each user is sent at once: a list that is being sent holds memory, so
// further ones of the same user wait for one of them to end. A user whose clients do not read what
// they asked for delays nobody else. Thread: the gateway's.
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
  /// The right to send one list. Destroying it passes the right on to the user's next list that
  /// still waits. May outlive the gate.
  class Ticket {
   public:
    Ticket(std::shared_ptr<State> state, UserId user) : state_(std::move(state)), user_(user) {}
    KJ_DISALLOW_COPY(Ticket);
    ~Ticket() noexcept(false);

   private:
    std::shared_ptr<State> state_;
    UserId user_;
  };

  /// Begins with no lists. Requires: of_user_max > 0; with 0 no list would ever be sent.
  explicit ListGate(std::size_t of_user_max);
  /// Enters a list. Fulfilled when the user has fewer than the maximum under way; a user's calls in
  /// their order. Dropping the promise leaves the queue.
  kj::Promise<kj::Own<Ticket>> enter(UserId user);
  /// Returns how many users have a list under way.
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
