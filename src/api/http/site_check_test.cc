// Which requests come in: by the name that they ask for, and by the page that sends them.
#include "api/http/site_check.h"

#include <gtest/gtest.h>

namespace muster::api {
namespace {

TEST(OwnHosts, AreAddressesLocalhostAndWhatIsListed) {
  const OwnHosts own({"Head", "gpu.example.org", "*.muster.example"});
  for (const char* host :
       {"localhost", "LOCALHOST:8080", "a.localhost:1", "127.0.0.1:8080", "10.1.2.3", "[::1]",
        "[::1]:80", "head:9", "HEAD.", "gpu.example.org:443", "web.muster.example"}) {
    EXPECT_TRUE(own.has(host)) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "head.evil.example", "muster.example", "x.gpu.example.org",
                           "127.0.0.1.evil.example", "[evil]", "", "head, evil.example"}) {
    EXPECT_FALSE(own.has(host)) << host;
  }
}

TEST(OwnHosts, AreNamedInTheErrorWithTheWayOut) {
  const Status checked = check_host(OwnHosts({"head"}), "Evil.example:80");
  EXPECT_EQ(checked.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(checked.error().text().find("'evil.example'"), std::string::npos);
  EXPECT_NE(checked.error().text().find("MusterHttpHosts"), std::string::npos);
  EXPECT_EQ(check_host(OwnHosts(), "").error().code, ErrorCode::kInvalidArgument);
}

RequestOrigin from_page(std::string_view origin, std::string_view fetch_site = {}) {
  RequestOrigin from;
  from.host = "head:8080";
  from.origin = origin;
  from.fetch_site = fetch_site;
  from.content_type = "application/json";
  return from;
}

TEST(Origin, OfAChangeIsOursOrNoPages) {
  for (const auto& from : {from_page(""), from_page("http://head:8080"),
                           from_page("https://HEAD:8080", "same-origin"), from_page("", "none")}) {
    EXPECT_TRUE(check_origin(Method::kPost, from).has_value()) << from.origin << from.fetch_site;
  }
  for (const auto& from :
       {from_page("http://evil.example"), from_page("http://head:9999"), from_page("null"),
        from_page("", "cross-site"), from_page("http://head:8080", "same-site"),
        from_page("file://head:8080")}) {
    for (const Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
      EXPECT_FALSE(check_origin(method, from).has_value()) << from.origin << from.fetch_site;
    }
    EXPECT_TRUE(check_origin(Method::kGet, from).has_value())
        << "what is read the browser keeps from the page";
  }
}

TEST(Origin, ACookieAloneChangesNothing) {
  RequestOrigin from = from_page("");
  from.is_by_cookie = true;
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8"}) {
    from.content_type = type;
    EXPECT_TRUE(check_origin(Method::kPost, from).has_value()) << type;
  }
  for (const char* type :
       {"", "text/plain", "application/x-www-form-urlencoded", "text/plain; x=application/json"}) {
    from.content_type = type;
    EXPECT_FALSE(check_origin(Method::kPost, from).has_value()) << type;
    EXPECT_TRUE(check_origin(Method::kGet, from).has_value()) << type;
    RequestOrigin marked = from;
    marked.has_request_header = true;
    EXPECT_TRUE(check_origin(Method::kPost, marked).has_value()) << type;
    RequestOrigin bearer = from;
    bearer.is_by_cookie = false;
    EXPECT_TRUE(check_origin(Method::kPost, bearer).has_value()) << type;
  }
}

TEST(HostsFile, GivesAllNamesOfTheMachine) {
  const auto names = names_in_hosts_file(
      "127.0.0.1 localhost\n# 10.0.0.9 head\n10.0.0.1\thead.example.org head gateway # "
      "head\n10.0.0.2 other\n",
      "head");
  EXPECT_EQ(names, (std::vector<std::string>{"head", "head.example.org", "head", "gateway"}));
}

}  // namespace
}  // namespace muster::api
