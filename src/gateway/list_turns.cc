#include "gateway/list_turns.h"

#include <utility>

// The budget is of one round of the event loop: within it work runs at once, beyond it in turns of
// users.
namespace muster {

kj::Promise<void> ListTurns::run(UserId user, std::function<std::size_t()> work) {
  if (spent_ < kCostMax && waiting_.is_empty()) {
    spend(work());
    return kj::READY_NOW;
  }
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiting_.add(user, Waiting{std::move(work), kj::mv(paf.fulfiller)});
  return kj::mv(paf.promise);
}

/// The loop looks for what came from outside only when it has nothing else to do, and a timer that
/// is due at once is such a thing: an event of the loop's own would be taken before all that.
void ListTurns::spend(std::size_t cost) {
  const bool is_first = spent_ == 0;
  // At least one, so that a round with work in it is seen as begun.
  spent_ += cost == 0 ? 1 : cost;
  if (is_first) tasks_.add(timer_.afterDelay(0 * kj::NANOSECONDS).then([this] { go_on(); }));
}

void ListTurns::go_on() {
  spent_ = 0;
  while (spent_ < kCostMax) {
    auto next = waiting_.next();
    if (!next) return;
    if (!next->fulfiller->isWaiting()) continue;  // who asked has left
    spend(next->work());
    next->fulfiller->fulfill();
  }
}

}  // namespace muster
