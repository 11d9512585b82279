#include "api/http/router.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::api {
namespace {

kj::Promise<HttpReply> nothing(ApiPort&, HttpRequest) { return HttpReply(); }

HttpRequest request_of(Method method, std::string path) {
  HttpRequest request;
  request.method = method;
  request.path = std::move(path);
  return request;
}

class Routes : public ::testing::Test {
 protected:
  Routes() {
    router_.add(Method::kGet, "/a/{id}", "One", nothing, {"limit"});
    router_.add(Method::kPost, "/a/fixed", "The fixed one", nothing);
    router_.add(Method::kGet, "/a/{id}/b/{name}", "Two places", nothing);
    router_.add_open(Method::kGet, "/open", "Open", nothing);
    router_.add_for_tasks(Method::kPost, "/task", "For tasks", nothing);
  }
  /// The summary of the route that is found; "" : none, "method": one of another method.
  std::string found(Method method, const std::string& path) {
    last_ = request_of(method, path);
    bool is_known_path = false;
    const Route* route = router_.find(last_, is_known_path);
    return route != nullptr ? route->summary : is_known_path ? "method" : "";
  }
  Router router_;
  HttpRequest last_;
};

TEST_F(Routes, PlacesTakeOnePartEachAndNoEmptyOne) {
  EXPECT_EQ(found(Method::kGet, "/a/5"), "One");
  EXPECT_EQ(last_.arguments, (std::vector<std::string>{"5"}));
  EXPECT_EQ(found(Method::kGet, "/a/x y/b/n"), "Two places");
  EXPECT_EQ(last_.arguments, (std::vector<std::string>{"x y", "n"}));
  EXPECT_EQ(found(Method::kGet, "/a/"), "");
  EXPECT_EQ(found(Method::kGet, "/a/1/b/"), "");
  EXPECT_EQ(found(Method::kGet, "/a"), "");
  EXPECT_EQ(found(Method::kGet, "/a/1/b"), "");
  EXPECT_EQ(found(Method::kGet, "/a/1/b/n/more"), "");
}

TEST_F(Routes, AnotherMethodIsToldFromNoPath) {
  EXPECT_EQ(found(Method::kPost, "/a/fixed"), "The fixed one");
  EXPECT_TRUE(last_.arguments.empty());
  EXPECT_EQ(found(Method::kDelete, "/a/fixed"), "method");
  EXPECT_EQ(found(Method::kPost, "/a/5"), "method");
  EXPECT_EQ(found(Method::kPost, "/b/5"), "");
  // What stands for anything is found under a fixed name, too.
  EXPECT_EQ(found(Method::kGet, "/a/fixed"), "One");
}

TEST_F(Routes, WhoMayComeIsTheRoutes) {
  bool is_known_path = false;
  HttpRequest open = request_of(Method::kGet, "/open");
  EXPECT_TRUE(router_.find(open, is_known_path)->is_open);
  HttpRequest task = request_of(Method::kPost, "/task");
  EXPECT_TRUE(router_.find(task, is_known_path)->is_for_tasks);
  EXPECT_FALSE(router_.find(task, is_known_path)->is_open);
  HttpRequest other = request_of(Method::kGet, "/a/5");
  EXPECT_FALSE(router_.find(other, is_known_path)->is_for_tasks);
}

TEST_F(Routes, AParameterThatNobodyReadsIsRefused) {
  const Route& route = router_.routes().front();
  HttpRequest request = request_of(Method::kGet, "/a/5");
  request.query = {{"limit", "1"}, {"limit", "2"}};
  EXPECT_TRUE(check_parameters(route, request).has_value());
  request.query.emplace_back("offset", "1");
  const Status refused = check_parameters(route, request);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().text().find("offset"), std::string::npos);
  EXPECT_NE(refused.error().text().find("it takes limit"), std::string::npos);
}

TEST(Router, EveryRouteHasAPatternOfItsOwn) {
  const Router router = make_router();
  std::set<std::pair<Method, std::string>> seen;
  for (const Route& route : router.routes()) {
    EXPECT_TRUE(seen.emplace(route.method, route.pattern).second) << route.pattern;
    EXPECT_TRUE(route.pattern.starts_with('/')) << route.pattern;
    EXPECT_FALSE(route.summary.empty()) << route.pattern;
    EXPECT_FALSE(route.is_open && route.is_for_tasks) << route.pattern;
    const std::set<std::string> names(route.parameters.begin(), route.parameters.end());
    EXPECT_EQ(names.size(), route.parameters.size()) << route.pattern;
  }
}

TEST(Router, AFixedPathIsTriedBeforeOneWithPlaces) {
  const Router router = make_router();
  const std::pair<Method, const char*> fixed[] = {{Method::kGet, "/api/v1/trials/time-series"},
                                                  {Method::kGet, "/api/v1/users/setting"},
                                                  {Method::kPost, "/api/v1/experiments/continue"},
                                                  {Method::kPost, "/api/v1/checkpoints/rm"},
                                                  {Method::kPost, "/api/v1/tokens/once"},
                                                  {Method::kPost, "/api/v1/tokens/revoke-all"}};
  for (const auto& [method, path] : fixed) {
    HttpRequest request = request_of(method, path);
    bool is_known_path = false;
    const Route* route = router.find(request, is_known_path);
    ASSERT_NE(route, nullptr) << path;
    EXPECT_EQ(route->pattern, path);
  }
}

}  // namespace
}  // namespace muster::api
