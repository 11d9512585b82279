#include "api/http/http_message.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::api {
namespace {

TEST(Target, IsSplitAndDecoded) {
  const auto request = parse_target("/api/v1/models/a%2Fb%20c/?x=1&x=2&name=a+b%26&empty=&flag");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->path, "/api/v1/models/a/b c");
  EXPECT_EQ(request->parameters("x"), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(request->parameter("x"), "2");
  EXPECT_EQ(request->parameter("name"), "a b&");
  EXPECT_TRUE(request->has("empty") && request->has("flag") && !request->has("none"));
  for (const char* target : {"", "x", "/a%2", "/a%zz", "/a?x=%"})
    EXPECT_FALSE(parse_target(target).has_value()) << target;
}

}  // namespace
}  // namespace muster::api
