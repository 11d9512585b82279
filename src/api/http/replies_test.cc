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

}  // namespace
}  // namespace muster::api
