// Tickets hold the state and may outlive the gate, as promises that clients drop late.
#include "gateway/list_gate.h"

#include <utility>

namespace muster {

ListGate::ListGate(std::size_t of_user_max)
    : state_(std::make_shared<State>(State{of_user_max, {}})) {}

kj::Promise<kj::Own<ListGate::Ticket>> ListGate::enter(UserId user) {
  Lists& lists = state_->users[user];
  if (lists.under_way < state_->of_user_max) {
    ++lists.under_way;
    return kj::heap<Ticket>(state_, user);
  }
  auto paf = kj::newPromiseAndFulfiller<kj::Own<Ticket>>();
  lists.waiting.push_back(kj::mv(paf.fulfiller));
  return kj::mv(paf.promise);
}

std::size_t ListGate::users() const { return state_->users.size(); }

/// The right goes on to whoever waits longest and is still there.
ListGate::Ticket::~Ticket() noexcept(false) {
  const auto found = state_->users.find(user_);
  if (found == state_->users.end()) return;
  Lists& lists = found->second;
  while (!lists.waiting.empty()) {
    auto next = kj::mv(lists.waiting.front());
    lists.waiting.pop_front();
    // Its client has left.
    if (!next->isWaiting()) continue;
    // Handed on without counting down: as many are under way as before.
    next->fulfill(kj::heap<Ticket>(state_, user_));
    return;
  }
  // Users without lists leave no trace.
  if (--lists.under_way == 0) state_->users.erase(found);
}

}  // namespace muster
