// Texts of HTTP: JSON, base64, tokens, times.
#include <gtest/gtest.h>

#include "text/base64.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/token_text.h"
#include "text/utf8.h"
#include "text/web_time.h"

namespace muster {
namespace {

TEST(JsonReader, KeepsWhatTheTextSays) {
  const auto json = parse_json(
      R"({"a": [1, -2.5, true, null, "x\u00e9"], "b": {"c": 9223372036854775807, "d": 1e400}, "a2": 18446744073709551615})");
  ASSERT_FALSE(json.has_value()) << "1e400 is no number that a double holds";
  const auto good = parse_json(
      R"({"a": [1, -2.5, true, null, "x\u00e9"], "b": {"c": 9223372036854775807}, "d": 18446744073709551615})");
  ASSERT_TRUE(good.has_value()) << good.error().text();
  EXPECT_EQ(json_text(*good),
            "{\"a\": [1, -2.5, true, null, \"x\xc3\xa9\"], \"b\": {\"c\": 9223372036854775807}, "
            "\"d\": 1.8446744073709552e+19}");
}

TEST(JsonReader, LastOfEqualNamesCounts) {
  const auto json = parse_json(R"({"a": 1, "a": 2})");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json_text(*json), R"({"a": 2})");
}

TEST(JsonText, ObjectsOfManyMembersAreReadInLinearTime) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += (i == 0 ? "{\"" : ", \"") + std::to_string(i) + "\": 1";
  text += ", \"299999\": 2, \"3\": 4}";
  const auto json = parse_json(text);  // quadratic, it takes minutes
  ASSERT_TRUE(json.has_value());
  ASSERT_EQ(json->object()->size(), 300'000U);
  EXPECT_EQ(*json->object()->back().value.whole(), 2) << "the later value";
  EXPECT_EQ(*(*json->object())[3].value.whole(), 4);
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\": nan}", "\"\xff\"", "1 2", "{'a': 1}"}) {
    const auto json = parse_json(text);
    ASSERT_FALSE(json.has_value()) << text;
    EXPECT_EQ(json.error().message, "this is no JSON");
    EXPECT_NE(json.error().detail, "") << text;
  }
  const auto deep = parse_json(std::string(100'000, '['));
  ASSERT_FALSE(deep.has_value());
  EXPECT_EQ(deep.error().detail, "more than 200 levels");
}

TEST(Base64, RoundTripsEveryLength) {
  EXPECT_EQ(base64_text("Man"), "TWFu");
  EXPECT_EQ(base64_text("Ma"), "TWE=");
  EXPECT_EQ(base64_text("M"), "TQ==");
  EXPECT_EQ(base64url_text("\xff\xef\xbe"), "_---");
  EXPECT_EQ(base64_text("\xff\xef\xbe"), "/+++");
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(parse_base64(base64_text(bytes)).value(), bytes);
    EXPECT_EQ(parse_base64(base64url_text(bytes)).value(), bytes);
    bytes += static_cast<char>(i * 37);
  }
  for (const char* text : {"TQ", "TQ=="}) EXPECT_EQ(parse_base64(text).value(), "M");
  for (const char* text : {"T", "TW!u", "TQ=a"})
    EXPECT_FALSE(parse_base64(text).has_value()) << text;
}

TEST(Token, SaysWhatWasSignedAndNothingElse) {
  const TimePoint now = TimePoint::from_seconds(1'800'000'000);
  TokenClaims claims;
  claims.scope = TokenScope::kTask;
  claims.user = UserId(1000);
  claims.group = GroupId(100);
  claims.user_name = "ann \"x\"";
  claims.job = JobId(7);
  claims.run = 3;
  claims.trial = TrialId(9);
  const std::string token = token_text(claims, "key");
  EXPECT_EQ(parse_token(token, "key", now).value(), claims);
  EXPECT_FALSE(parse_token(token, "another key", now).has_value());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    // The last character's spare bits are no part of the signature.
    EXPECT_TRUE(i + 1 == token.size() || !parse_token(changed, "key", now).has_value()) << i;
    EXPECT_FALSE(parse_token(token.substr(0, i), "key", now).has_value()) << i;
  }
  for (const char* text : {"", ".", "..", "a.b.c"})
    EXPECT_FALSE(parse_token(text, "key", now).has_value()) << text;
}

TEST(Token, EndsWithItsTime) {
  const TimePoint day = TimePoint::from_seconds(1'800'000'000 / 86'400 * 86'400);
  EXPECT_EQ(end_of_day(day + Duration::hours(5)), day + Duration::hours(24));
  EXPECT_EQ(end_of_day(day), end_of_day(day + Duration::hours(20)));
  TokenClaims claims;
  claims.user = UserId(5);
  claims.user_name = "bob";
  claims.id = 1'000'000'000'000;
  claims.made = day + Duration::microseconds(7);
  claims.expiry = end_of_day(day);
  const std::string token = token_text(claims, "key");
  EXPECT_EQ(parse_token(token, "key", day).value(), claims);
  EXPECT_TRUE(parse_token(token, "key", day + Duration::hours(23)).has_value());
  const auto late = parse_token(token, "key", day + Duration::hours(24));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kPermissionDenied);
}

TEST(Token, PasswordsAreHashedAsTheClientDoes) {
  EXPECT_EQ(client_password_hash(""), "");
  // python3 -c 'import hashlib; print(hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" +
  // b"secret").hexdigest())'
  EXPECT_EQ(client_password_hash("secret").substr(0, 16), "f6b1a15b3e3f6c59");
  EXPECT_EQ(client_password_hash("secret").size(), 128U);
}

TEST(Utf8, KeepsWhatIsRightAndMarksWhatIsNot) {
  for (const char* text : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                           "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a" + mark + "b");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), mark + mark) << "too long";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), mark + mark + mark) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), mark + mark + mark + mark) << "beyond Unicode";
  EXPECT_EQ(valid_utf8("\xe2\x82"), mark + mark) << "cut short";
  EXPECT_EQ(valid_utf8("\xe2\x82"
                       "a"),
            mark + mark + "a");
}

TEST(WebTime, RoundTrips) {
  const TimePoint time = TimePoint::from_microseconds(1'787'328'000'123'456);
  EXPECT_EQ(web_time_text(time), "2026-08-21T16:00:00.123456Z");
  for (const char* text : {"2026-08-21T16:00:00.123456Z", "2026-08-21T18:00:00.1234567+02:00",
                           "2026-08-21 16:00:00.123456", "2026-08-21T10:30:00.123456789-0530"}) {
    EXPECT_EQ(parse_web_time(text).value(), time) << text;
  }
  EXPECT_EQ(parse_web_time("2026-08-21T16:00:00Z").value(), time - Duration::microseconds(123'456));
  EXPECT_EQ(web_time_text(TimePoint()), "");
  for (const char* text : {"", "2026-08-21", "2026-13-21T16:00:00Z", "2026-08-21T16:00:00X",
                           "2026-08-21T16:00:00Z ", "-026-08-21T16:00:00Z"}) {
    EXPECT_FALSE(parse_web_time(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace muster
