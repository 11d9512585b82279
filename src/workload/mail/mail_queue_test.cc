#include "workload/mail/mail_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {
namespace {

MailOrder mail_of(std::uint32_t user, const std::string& subject) {
  MailOrder order;
  order.mail.user = UserId(user);
  order.mail.subject = subject;
  return order;
}

TEST(MailQueue, UsersTakeTurnsAndKeepTheirOrder) {
  MailQueue queue;
  for (const char* subject : {"a1", "a2", "a3"}) EXPECT_TRUE(queue.add(mail_of(1, subject)));
  EXPECT_TRUE(queue.add(mail_of(2, "b1")));
  std::vector<std::string> sent;
  while (const auto order = queue.next()) sent.push_back(order->mail.subject);
  EXPECT_EQ(sent, (std::vector<std::string>{"a1", "b1", "a2", "a3"}));
  EXPECT_TRUE(queue.is_empty());
}

TEST(MailQueue, OneUsersThousandsLeaveRoomForOthers) {
  MailQueue queue;
  for (std::size_t i = 0; i < MailQueue::kUserMax; ++i) EXPECT_TRUE(queue.add(mail_of(1, "many")));
  EXPECT_FALSE(queue.add(mail_of(1, "one more")));
  EXPECT_TRUE(queue.add(mail_of(2, "mine")));
  (void)queue.next();
  EXPECT_EQ(queue.next()->mail.subject, "mine");
  EXPECT_TRUE(queue.add(mail_of(1, "one more"))) << "one has been sent";
}

}  // namespace
}  // namespace muster
