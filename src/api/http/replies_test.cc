// What a client of HTTP reads of an error: a status to act on, a cause where there is one, and text
// for people.
#include "api/http/replies.h"

#include <gtest/gtest.h>

#include "text/json_reader.h"

namespace muster::api {
namespace {

Json error_in(const HttpReply& reply) {
  const auto body = parse_json(reply.body);
  EXPECT_TRUE(body.has_value()) << reply.body;
  const Json* error = body.has_value() ? body->find("error") : nullptr;
  EXPECT_NE(error, nullptr) << reply.body;
  return error == nullptr ? Json() : *error;
}

TEST(Replies, EveryCodeHasItsStatus) {
  const std::pair<ErrorCode, unsigned> statuses[] = {
      {ErrorCode::kInvalidArgument, 400},  {ErrorCode::kNotFound, 404},
      {ErrorCode::kAlreadyExists, 409},    {ErrorCode::kFailedPrecondition, 400},
      {ErrorCode::kPermissionDenied, 403}, {ErrorCode::kResourceExhausted, 429},
      {ErrorCode::kUnavailable, 503},      {ErrorCode::kDeadlineExceeded, 504},
      {ErrorCode::kConflict, 409},         {ErrorCode::kCorruption, 500},
      {ErrorCode::kUnimplemented, 501},    {ErrorCode::kInternal, 500}};
  for (const auto& [code, status] : statuses) {
    const HttpReply reply = error_reply(Error{code, "what", "way out"});
    EXPECT_EQ(reply.status, status) << error_code_name(code);
    EXPECT_EQ(error_in(reply).find("error")->text()->substr(0, 13), "what: way out");
    EXPECT_EQ(error_in(reply).find("cause"), nullptr);
  }
}

TEST(Replies, ACauseIsNamed) {
  const Json error = error_in(
      error_reply(Error{ErrorCode::kFailedPrecondition, "a newer run", "", ErrorCause::kStaleRun}));
  ASSERT_NE(error.find("cause"), nullptr);
  EXPECT_EQ(*error.find("cause")->text(), "stale_run");
}

TEST(Replies, WhatIsMissingSaysSoInDeterminedsWords) {
  EXPECT_EQ(
      *error_in(error_reply(Error{ErrorCode::kNotFound, "no trial 4", ""})).find("error")->text(),
      "no trial 4 (not found)");
  EXPECT_EQ(*error_in(error_reply(Error{ErrorCode::kNotFound, "trial 4 not found", ""}))
                 .find("error")
                 ->text(),
            "trial 4 not found");
}

TEST(Replies, PagesEndWhereTheyEnd) {
  const auto window = [](const char* target, std::size_t total) {
    const PageWindow found = window_of(parse_target(target).value(), total).value();
    return std::pair(found.begin, found.end);
  };
  using Range = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(window("/?limit=2&offset=1", 5), Range(1, 3));
  EXPECT_EQ(window("/", 5), Range(0, 5));
  EXPECT_EQ(window("/?offset=9", 5), Range(5, 5));
  EXPECT_EQ(window("/?offset=-2", 5), Range(3, 5));
  EXPECT_EQ(window("/?limit=-1", 5), Range(0, 5));
  EXPECT_EQ(window("/?offset=-9223372036854775808", 5), Range(0, 5));
  EXPECT_FALSE(window_of(parse_target("/?limit=x").value(), 5).has_value());
}

TEST(Replies, ErrorsHaveTheStatusOfTheirCode) {
  EXPECT_EQ(error_reply({ErrorCode::kNotFound, "no", ""}).status, 404U);
  EXPECT_EQ(error_reply({ErrorCode::kUnimplemented, "no", ""}).status, 501U);
  EXPECT_EQ(error_reply({ErrorCode::kFailedPrecondition, "no", "way out"}).body,
            R"({"error": {"code": 9, "reason": "FailedPrecondition", "error": "no: way out"}})");
  EXPECT_EQ(unauthenticated_reply("who").status, 401U);
}

}  // namespace
}  // namespace muster::api
