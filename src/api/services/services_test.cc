// What of services needs no controller: what jobs said, and which headers go on.
#include <gtest/gtest.h>

#include "api/services/proxy.h"

namespace muster::api {
namespace {

Announcement said(std::uint32_t run, int second, std::uint16_t port = 5000) {
  Announcement announcement;
  announcement.run = run;
  announcement.port = port;
  announcement.heard = TimePoint::from_seconds(second);
  return announcement;
}

TEST(ServiceBook, KnowsWhatEachRunSaidLast) {
  ServiceBook book;
  book.announce(JobId(7), said(1, 10, 5000));
  book.announce(JobId(7), said(2, 20, 6000));
  ASSERT_NE(book.find(JobId(7), 2), nullptr);
  EXPECT_EQ(book.find(JobId(7), 2)->port, 6000);
  EXPECT_EQ(book.find(JobId(7), 1), nullptr) << "an older run serves no more";
  EXPECT_EQ(book.find(JobId(8), 1), nullptr);
}

TEST(ServiceBook, ForgetsTheSilentAndStaysSmall) {
  ServiceBook book;
  for (std::uint32_t job = 1; job <= 1024; ++job)
    book.announce(JobId(job), said(1, job <= 1000 ? 0 : 5000));
  book.announce(JobId(2000), said(1, 5000));
  EXPECT_EQ(book.size(), 25U) << "those that spoke lately, and the new one";
  EXPECT_NE(book.find(JobId(1001), 1), nullptr);
  for (std::uint32_t job = 3000; job < 6000; ++job) book.announce(JobId(job), said(1, 5000));
  EXPECT_EQ(book.size(), 1024U) << "also when none is silent";
  EXPECT_NE(book.find(JobId(5999), 1), nullptr);
  book.announce(JobId(1), said(1, 5000));
  EXPECT_NE(book.find(JobId(1), 1), nullptr) << "who speaks is heard, whatever goes for it";
}

TEST(ServiceBook, ConnectionsToOneDoNotKeepOthersOut) {
  ServiceBook book;
  std::vector<ConnectionSlot> held;
  for (std::uint32_t job = 1; job <= 8; ++job) {
    for (int i = 0; i < 64; ++i) {
      auto place = book.acquire_slot(JobId(job));
      ASSERT_TRUE(place.has_value()) << job << " " << i;
      held.push_back(std::move(*place));
    }
    EXPECT_FALSE(book.acquire_slot(JobId(job)).has_value()) << "as many as one may have";
  }
  EXPECT_FALSE(book.acquire_slot(JobId(9)).has_value()) << "as many as there may be";
  held.pop_back();
  EXPECT_TRUE(book.acquire_slot(JobId(9)).has_value());
  EXPECT_TRUE(book.acquire_slot(JobId(8)).has_value()) << "what was taken for 9 was given back";
}

ServiceJob running() {
  auto spec = std::make_shared<JobSpec>();
  spec->text.set(JobText::kName, "board");
  ServiceJob service;
  service.job = JobId(7);
  service.run = 1;
  service.host = "node1";
  service.state = JobState::kRunning;
  service.shown_state = "RUNNING";
  service.spec = spec;
  return service;
}

TEST(ServiceAddress, IsOnTheJobsNodeOnceItHasSpoken) {
  ServiceBook book;
  ServiceJob service = running();
  EXPECT_EQ(address_of(service, book).error().code, ErrorCode::kUnavailable);
  EXPECT_NE(address_of(service, book)
                .error()
                .text()
                .find("job 7 (board) does not serve yet: it is RUNNING"),
            std::string::npos);
  book.announce(JobId(7), said(1, 10));
  EXPECT_EQ(address_of(service, book)->host, "node1");
  EXPECT_EQ(address_of(service, book)->port, 5000);
  service.run = 2;
  EXPECT_FALSE(is_ready(service, book)) << "the next run has not spoken";
}

TEST(ServiceAddress, SaysWhyThereIsNone) {
  ServiceBook book;
  ServiceJob service = running();
  service.state = JobState::kCompleted;
  service.is_over = true;
  service.shown_state = "COMPLETED";
  EXPECT_EQ(address_of(service, book).error().code, ErrorCode::kNotFound);
  service.state = JobState::kFailed;
  service.exit = ExitStatus::exited(127);
  EXPECT_NE(address_of(service, book).error().text().find("its PATH has no python3"),
            std::string::npos);
  service.exit = ExitStatus::exited(3);
  EXPECT_NE(address_of(service, book).error().text().find("its exit code is 3"), std::string::npos);
  Announcement failure = said(1, 10, 0);
  failure.failure = "pip install it";
  book.announce(JobId(7), failure);
  EXPECT_EQ(address_of(service, book).error().code, ErrorCode::kFailedPrecondition)
      << "its own words are better";
  EXPECT_NE(address_of(service, book).error().text().find("pip install it"), std::string::npos);
}

TEST(Proxy, KeepsWhatIsOursAndWhatIsOfOneConnection) {
  for (const char* name :
       {"Authorization", "cookie", "Set-Cookie", "Connection", "Transfer-Encoding",
        "MUSTER-SERVICE-SECRET", "Grpc-Metadata-x-allocation-token", "Proxy-Authorization",
        "X-Forwarded-Prefix", "Service-Worker-Allowed", "CLEAR-SITE-DATA",
        "Strict-Transport-Security", "Alt-Svc"}) {
    EXPECT_FALSE(is_handed_on(name)) << name;
  }
  for (const char* name : {"Accept", "Content-Type", "Host", "X-Cookie", "Range"})
    EXPECT_TRUE(is_handed_on(name)) << name;
}

TEST(Proxy, BrowsersSeeServicesUnderTheNameTheyAskedWith) {
  ApiPort::ServerSettings details;
  details.services_port = 9;
  EXPECT_EQ(services_origin(details, "localhost:80"), "http://localhost:9");
  EXPECT_EQ(services_origin(details, "head"), "http://head:9");
  EXPECT_EQ(services_origin(details, "[::1]"), "http://[::1]:9");
  EXPECT_EQ(services_origin(details, "[::1]:80"), "http://[::1]:9");
  details.services_url = "https://services.example";
  EXPECT_EQ(services_origin(details, "head"), "https://services.example");
}

TEST(Proxy, FindsACookieByItsWholeName) {
  EXPECT_EQ(cookie_value("a=1; auth=t.o.k; b=2", "auth"), "t.o.k");
  EXPECT_EQ(cookie_value("auth=x=y", "auth"), "x=y");
  EXPECT_EQ(cookie_value("xauth=1; authx=2", "auth"), "");
  EXPECT_EQ(cookie_value("", "auth"), "");
}

TEST(Proxy, ATaskIsNoOperatorWhoeverOwnsIt) {
  ApiPort::ServerSettings details;
  details.operator_user = UserId(5);
  TokenClaims claims;
  claims.user = UserId(5);
  EXPECT_TRUE(caller_with(details, claims).identity.is_operator);
  details.operators = {UserId(6)};
  claims.user = UserId(6);
  EXPECT_TRUE(caller_with(details, claims).identity.is_operator);
  claims.user = UserId(5);
  claims.scope = TokenScope::kTask;
  EXPECT_FALSE(caller_with(details, claims).identity.is_operator);
  claims.scope = TokenScope::kUser;
  claims.user = UserId(7);
  EXPECT_FALSE(caller_with(details, claims).identity.is_operator);
}

}  // namespace
}  // namespace muster::api
