#include "session.h"

#include <gtest/gtest.h>

#include <chrono>

#include "json.h"
#include "local_server.h"

namespace muster::core {
namespace {

Controller controller_at(int port, double retry_timeout_s = 20) {
  Controller out;
  out.host = "127.0.0.1";
  out.port = port;
  out.url = "http://127.0.0.1:" + std::to_string(port);
  out.token = "secret";
  out.retry_timeout_s = retry_timeout_s;
  return out;
}

/// What a call throws.
ControllerError failure(Session& session) {
  try {
    session.call("POST", "/x");
  } catch (const ControllerError& error) {
    return error;
  }
  return ControllerError("nothing was thrown");
}

TEST(Session, SendsJsonAndKeepsItsConnection) {
  LocalServer server({ok(R"({"a": 1})"), ok(""), ok("{}")});
  Session session(controller_at(server.port()));
  EXPECT_EQ(session.call("POST", "/trials/7/metrics", Value::Map{{"x", 0.5}})["a"].as_int(), 1);
  EXPECT_EQ(session.call("POST", "/ack"), Value(Value::Map{}));
  session.call("GET", "/y?z=1");
  EXPECT_EQ(server.connections(), 1);
  const auto requests = server.requests();
  EXPECT_EQ(requests[0].substr(0, requests[0].find('\r')),
            "POST /api/v1/trials/7/metrics HTTP/1.1");
  EXPECT_NE(requests[0].find("Grpc-Metadata-x-allocation-token: Bearer secret\r\n"),
            std::string::npos);
  EXPECT_EQ(requests[0].substr(requests[0].find("\r\n\r\n") + 4), R"({"x":0.5})");
  EXPECT_NE(requests[1].find("Content-Length: 0\r\n"), std::string::npos);
  EXPECT_EQ(requests[2].find("Content-Length"), std::string::npos);
}

TEST(Session, ReadsAnswersOfEveryForm) {
  LocalServer server(
      {"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5;x=y\r\n{\"a\":\r\nA\r\n 1234567} "
       "\r\n0\r\nTrailer: x\r\n\r\n",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: "
       "close\r\n\r\n{\"a\":2}\f",
       "HTTP/1.0 200 OK\r\n\r\n{\"a\":3}\f", "HTTP/1.1 204 No Content\r\n\r\n"});
  Session session(controller_at(server.port()));
  EXPECT_EQ(session.call("GET", "/")["a"].as_int(), 1234567);
  EXPECT_EQ(session.call("GET", "/")["a"].as_int(), 2);
  EXPECT_EQ(session.call("GET", "/")["a"].as_int(), 3);
  EXPECT_EQ(session.call("GET", "/"), Value(Value::Map{}));
}

TEST(Session, RepeatsWhileNobodyAnswers) {
  LocalServer server(
      {"close", "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\f", "no HTTP at all\r\n\r\n\f",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\f", ok(R"({"a": 1})")});
  Session session(controller_at(server.port()));
  EXPECT_EQ(session.call("POST", "/x", Value::Map{{"b", 2}})["a"].as_int(), 1);
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 6U);
  for (const std::string& each : requests) EXPECT_EQ(each, requests.front());
}

TEST(Session, TakesARefusalForFinal) {
  const std::string body = R"({"error": {"error": "no such trial"}})";
  LocalServer server(
      {"HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body,
       ok("[1]"), "HTTP/1.1 400 Bad Request\r\nContent-Length: 22\r\n\r\ninvalid run id, 1 != 2"});
  Session session(controller_at(server.port()));
  const ControllerError refusal = failure(session);
  EXPECT_EQ(refusal.status, 404);
  EXPECT_STREQ(refusal.what(), "POST /x: the controller refused with 404: no such trial");
  EXPECT_NE(std::string(failure(session).what()).find("no JSON object"), std::string::npos);
  EXPECT_THROW(session.call("POST", "/x"), StaleRunError);
}

TEST(Session, GivesUpWhenItsPatienceEnds) {
  int port = 0;
  { port = LocalServer({}).port(); }
  Session session(controller_at(port, 0.3));
  const ControllerError error = failure(session);
  EXPECT_FALSE(error.status);
  EXPECT_NE(std::string(error.what()).find("did not answer in time"), std::string::npos)
      << error.what();
}

TEST(Session, CountsSilenceAsABrokenConnection) {
  LocalServer server({"hang", ok("{}")});
  Session session(controller_at(server.port()));
  session.call("GET", "/", Value(), 0.2);
  EXPECT_EQ(server.connections(), 2);
}

TEST(Session, IsClosedWhileItWaits) {
  LocalServer server({"hang", "hang"});
  Session session(controller_at(server.port()));
  std::thread closer([&] {
    while (server.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    session.close();
  });
  const auto began = std::chrono::steady_clock::now();
  EXPECT_STREQ(failure(session).what(), "POST /x: the run has ended");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
  closer.join();
}

}  // namespace
}  // namespace muster::core
