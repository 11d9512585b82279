// A user is in turns_ exactly while mails of his wait, so that next() finds no empty queue.
#include "workload/mail/mail_queue.h"

#include <utility>

namespace muster {

bool MailQueue::add(const MailOrder& order) {
  std::deque<MailOrder>& own = waiting_[order.mail.user];
  if (own.size() >= kUserMax) return false;
  if (own.empty()) turns_.push_back(order.mail.user);
  own.push_back(order);
  return true;
}

std::optional<MailOrder> MailQueue::next() {
  if (turns_.empty()) return std::nullopt;
  const UserId user = turns_.front();
  turns_.pop_front();
  const auto own = waiting_.find(user);
  MailOrder order = std::move(own->second.front());
  own->second.pop_front();
  if (own->second.empty()) {
    waiting_.erase(own);
  } else {
    turns_.push_back(user);
  }
  return order;
}

}  // namespace muster
