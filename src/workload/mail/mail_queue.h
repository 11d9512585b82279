// Mails that wait for MailProg, which sends one at a time: every user's in their order, the users
// in turn, so that nobody's thousands keep another's one waiting.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "workload/mail/mail.h"

namespace muster {

/// One mail, and the program that sends it.
struct MailOrder {
  std::string program;
  Mail mail;
};

class MailQueue {
 public:
  /// The most mails of one user. What comes beyond is not accepted.
  static constexpr std::size_t kUserMax = 1'000;

  /// Adds a mail. False: too many of this user's wait.
  bool add(const MailOrder& order);
  /// Removes and returns the next to send. Nullopt: none waits.
  std::optional<MailOrder> next();
  bool is_empty() const { return turns_.empty(); }

 private:
  std::map<UserId, std::deque<MailOrder>> waiting_;
  std::deque<UserId> turns_;  ///< users of whom mails wait, whoever is next first
};

}  // namespace muster
