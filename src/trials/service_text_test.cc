#include "trials/service_text.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr const char* kClusterId = "774aef9f-d754-42e0-8ca0-aee09bf1ed9d";

TEST(ServiceName, IsAUuidThatNamesTheJob) {
  const std::string name = service_name(kClusterId, JobId(4'000'000'000));
  EXPECT_EQ(name.size(), 36U);
  EXPECT_NE(name.substr(0, 8), service_name(kClusterId, JobId(7)).substr(0, 8))
      << "people name it by its beginning";
  EXPECT_EQ(parse_service_name(kClusterId, name)->job, JobId(4'000'000'000));
  EXPECT_EQ(parse_service_name(kClusterId, name)->run, 0U);
  EXPECT_EQ(parse_service_name(kClusterId, service_allocation(kClusterId, JobId(7), 12))->run, 12U);
}

TEST(ServiceName, OfAnotherFormOrClusterIsNone) {
  const std::string name = service_name(kClusterId, JobId(7));
  EXPECT_FALSE(parse_service_name("another", name).has_value());
  for (const std::string& text : {std::string(), std::string("7"), name + "x", name + ".",
                                  name + ".0", name + ".1x", "1." + name, std::string(36, '0')}) {
    EXPECT_FALSE(parse_service_name(kClusterId, text).has_value()) << text;
  }
}

TEST(ServiceKind, IsOfJobsMadeToServe) {
  JobSpec spec;
  EXPECT_FALSE(service_kind(spec).has_value());
  for (const ServiceKind kind :
       {ServiceKind::kTensorboard, ServiceKind::kCheckpoint, ServiceKind::kCheckpointFiles}) {
    spec.text.set(JobText::kCommand, std::string(service_command(kind)));
    EXPECT_EQ(service_kind(spec), kind);
  }
}

TEST(ServiceTicket, OpensAServiceAndNoMore) {
  TokenClaims claims;
  claims.user = UserId(5);
  claims.job = JobId(7);
  claims.expiry = TimePoint::from_seconds(1000);
  const std::string ticket = service_ticket(claims, "key");
  const auto read = parse_service_ticket(ticket, "key", TimePoint::from_seconds(999));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->user, UserId(5));
  EXPECT_EQ(read->job, JobId(7));
  EXPECT_FALSE(parse_token(ticket, "key", TimePoint::from_seconds(1)).has_value())
      << "it is no token";
  EXPECT_FALSE(parse_service_ticket(token_text(claims, "key"), "key", TimePoint::from_seconds(1))
                   .has_value())
      << "nor is a token one";
  EXPECT_FALSE(parse_service_ticket(ticket, "key", TimePoint::from_seconds(1000)).has_value())
      << "it ends";
}

TEST(ProxyTarget, IsServiceRestAndTicket) {
  const auto parts = [](std::string_view target) {
    const auto found = parse_proxy_target(target);
    return found ? found->service + " " + found->rest + " " + found->ticket : "-";
  };
  EXPECT_EQ(parts("/proxy/a/b/c?x=1&y"), "a /b/c?x=1&y ");
  EXPECT_EQ(parts("/proxy/a/"), "a / ");
  EXPECT_EQ(parts("/proxy/a"), "a  ") << "no slash follows";
  EXPECT_EQ(parts("/proxy/a?x=1"), "a /?x=1 ");
  EXPECT_EQ(parts("/proxy/a/?muster_ticket=t&x=%2F&muster_ticketx=2"),
            "a /?x=%2F&muster_ticketx=2 t");
  EXPECT_EQ(parts("/proxy/a/?x=1&muster_ticket=t"), "a /?x=1 t");
  EXPECT_EQ(parts("/proxy/a/b?q=/c"), "a /b?q=/c ");
  for (const char* target : {"/proxy/", "/proxy", "/proxy//x", "/api/proxy/a", ""})
    EXPECT_EQ(parts(target), "-") << target;
}

TEST(InteractivePath, LeadsToTheService) {
  EXPECT_EQ(
      interactive_path("/det/interactive/a-1/tensorboard/What%20it%20is/pool/%2Fdet%2Fwait?x=1"),
      "/proxy/a-1/");
  for (const char* target : {"/det/interactive/", "/det/", "/det/interactive/a%0d/x", "/proxy/a/"})
    EXPECT_EQ(interactive_path(target), "") << target;
}

TEST(ProxyTarget, ATicketIsTakenOutWhereverItStands) {
  const auto parsed = [](std::string_view target) {
    const auto found = parse_proxy_target(target);
    return found ? found->service + " " + found->rest + " " + found->ticket : "none";
  };
  EXPECT_EQ(parsed("/proxy/s/"), "s / ");
  EXPECT_EQ(parsed("/proxy/s"), "s  ");
  EXPECT_EQ(parsed("/proxy/s/a/b?x=1&muster_ticket=t&y=2"), "s /a/b?x=1&y=2 t");
  EXPECT_EQ(parsed("/proxy/s?muster_ticket=t"), "s  t");
  EXPECT_EQ(parsed("/proxy/s/?muster_ticket=a&muster_ticket=b"), "s / b") << "the last counts";
  EXPECT_EQ(parsed("/proxy/s/?muster_tickets=a"), "s /?muster_tickets=a ");
  EXPECT_EQ(parsed("/proxy/s/a?b/c?d"), "s /a?b/c?d ");
  for (const char* elsewhere : {"", "/", "/proxy", "/proxy/", "/proxy//a", "/proxy/?a", "proxy/s/"})
    EXPECT_EQ(parsed(elsewhere), "none") << elsewhere;
}

TEST(ServiceVariables, SayWhereAndInWhoseNameItServes) {
  const auto variables = service_variables({"cluster", "http://head:1", "token"}, JobId(7), 2);
  EXPECT_EQ(variables, (std::vector<std::string>{
                           "DET_MASTER=http://head:1", "DET_CLUSTER_ID=cluster",
                           "DET_TASK_ID=" + service_name("cluster", JobId(7)),
                           "DET_ALLOCATION_ID=" + service_allocation("cluster", JobId(7), 2),
                           "DET_SESSION_TOKEN=token"}));
}

}  // namespace
}  // namespace muster
