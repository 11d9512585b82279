// All routes that are served, together.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "api/http/http_message.h"
#include "api/http/openapi.h"
#include "api/http_service.h"

namespace muster::api {
namespace {

TEST(Router, FindsByMethodAndPath) {
  const Router router = make_router();
  const auto find = [&](Method method, const char* path) {
    HttpRequest request = parse_target(path).value();
    request.method = method;
    bool is_known = false;
    const Route* route = router.find(request, is_known);
    return std::tuple(route == nullptr ? "" : route->pattern, request.arguments, is_known);
  };
  using Arguments = std::vector<std::string>;
  EXPECT_EQ(find(Method::kGet, "/api/v1/trials/7"),
            std::tuple(std::string("/api/v1/trials/{trial}"), Arguments{"7"}, false));
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials/time-series")),
            "/api/v1/trials/time-series");
  EXPECT_EQ(std::get<1>(find(Method::kGet, "/api/v1/models/m/versions/3")), (Arguments{"m", "3"}));
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials/7/kill")), "");
  EXPECT_TRUE(std::get<2>(find(Method::kGet, "/api/v1/trials/7/kill"))) << "with another method";
  EXPECT_EQ(std::get<0>(find(Method::kGet, "/api/v1/trials//")), "")
      << "an empty part is no argument";
}

TEST(Router, NoRouteHidesAnother) {
  const Router router = make_router();
  for (const Route& route : router.routes()) {
    HttpRequest request;
    request.method = route.method;
    request.path = route.pattern;
    bool is_known = false;
    const Route* found = router.find(request, is_known);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->pattern, route.pattern);
  }
}

TEST(OpenApi, HasEveryRoute) {
  const Router router = make_router();
  const Json document = openapi_document(router, "1");
  std::size_t operations = 0;
  for (const Json::Member& path : *document.find("paths")->object())
    operations += path.value.object()->size();
  EXPECT_EQ(operations, router.routes().size());
}

TEST(Router, ParametersThatNobodyReadsAreRefused) {
  const Router router = make_router();
  const auto check = [&](const char* target) {
    HttpRequest request = parse_target(target).value();
    bool is_known = false;
    const Status checked = check_parameters(*router.find(request, is_known), request);
    return checked.has_value() ? "" : checked.error().text();
  };
  EXPECT_EQ(check("/api/v1/trials/7/"
                  "checkpoints?sortByAttr=SORT_BY_UUID&limit=1&offset=2&states=STATE_ACTIVE"),
            "");
  EXPECT_NE(check("/api/v1/trials/7/checkpoints?sortBy=SORT_BY_UUID")
                .find("has no parameter 'sortBy': it takes sortByAttr, "),
            std::string::npos);
  EXPECT_NE(check("/api/v1/trials/7?x=1").find("it takes none"), std::string::npos);
}

}  // namespace
}  // namespace muster::api
