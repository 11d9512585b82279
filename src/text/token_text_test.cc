#include "text/token_text.h"

#include <gtest/gtest.h>

#include "text/base64.h"

namespace muster {
namespace {

const TimePoint kNow = TimePoint::from_seconds(1'800'000'000);

TokenClaims task_claims() {
  TokenClaims claims;
  claims.scope = TokenScope::kTask;
  claims.user = UserId(1000);
  claims.group = GroupId(100);
  claims.user_name = "ann \"x\"";
  claims.job = JobId(7);
  claims.run = 3;
  claims.trial = TrialId(9);
  return claims;
}

TEST(Token, SaysWhatWasSignedAndNothingElse) {
  const std::string token = token_text(task_claims(), "key");
  EXPECT_EQ(parse_token(token, "key", kNow).value(), task_claims());
  EXPECT_EQ(token_text(task_claims(), "key"), token);
  EXPECT_FALSE(parse_token(token, "another key", kNow).has_value());
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    // The last character's spare bits are no part of the signature.
    EXPECT_TRUE(i + 1 == token.size() || !parse_token(changed, "key", kNow).has_value()) << i;
    EXPECT_FALSE(parse_token(token.substr(0, i), "key", kNow).has_value()) << i;
  }
  for (const char* text : {"", ".", "..", "a.b.c"}) {
    const auto parsed = parse_token(text, "key", kNow);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kPermissionDenied);
  }
}

TEST(Token, IsSignedAsTheStandardSays) {
  // Source: RFC 7515, appendix A.1.1.
  const std::string key =
      parse_base64(
          "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow")
          .value();
  constexpr std::string_view kToken =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl"
      "fQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const TimePoint end = TimePoint::from_seconds(1'300'819'380);
  const auto claims = parse_token(kToken, key, end - Duration::microseconds(1));
  ASSERT_TRUE(claims.has_value()) << claims.error().text();
  EXPECT_EQ(claims->expiry, end);
  EXPECT_FALSE(parse_token(kToken, key, end).has_value());
  EXPECT_TRUE(token_text(task_claims(), key).starts_with("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."))
      << R"({"alg":"HS256","typ":"JWT"})";
}

TEST(Token, EveryScopeReadsBack) {
  TokenClaims person;
  person.user = UserId(4'294'967'295);
  person.group = GroupId(0);
  person.user_name = "\xc3\xa9va";
  person.id = UINT64_MAX;
  person.made = kNow + Duration::microseconds(7);
  person.expiry = kNow + Duration::seconds(1);
  TokenClaims owner = person;
  owner.scope = TokenScope::kOwner;
  owner.job = JobId(4'294'967'295);
  TokenClaims task = task_claims();
  task.run = 4'294'967'295;
  for (const TokenClaims& claims : {TokenClaims(), person, owner, task})
    EXPECT_EQ(parse_token(token_text(claims, "k"), "k", kNow).value(), claims);
}

TEST(Token, EndsWithItsTime) {
  const TimePoint day = TimePoint::from_seconds(1'800'000'000 / 86'400 * 86'400);
  TokenClaims claims;
  claims.user = UserId(5);
  claims.expiry = end_of_day(day);
  const std::string token = token_text(claims, "key");
  EXPECT_TRUE(parse_token(token, "key", day + Duration::hours(23)).has_value());
  const auto late = parse_token(token, "key", day + Duration::hours(24));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(late.error().detail.find("time is over"), std::string::npos);
}

TEST(Token, ADayEndsAtMidnightUtc) {
  const TimePoint day = TimePoint::from_seconds(1'800'000'000 / 86'400 * 86'400);
  EXPECT_EQ(end_of_day(day + Duration::hours(5)), day + Duration::hours(24));
  EXPECT_EQ(end_of_day(day), day + Duration::hours(24));
  EXPECT_EQ(end_of_day(day + Duration::hours(24) - Duration::microseconds(1)),
            day + Duration::hours(24));
  EXPECT_EQ(end_of_day(day - Duration::microseconds(1)), day);
}

std::string unsigned_token(std::string_view body) {
  return "e30." + base64url_text(body) + ".AAAA";
}

TEST(Token, TellsItsTimeToThoseWithoutTheKey) {
  TokenClaims claims;
  EXPECT_EQ(expiry_in(token_text(claims, "key")), std::nullopt) << "it lasts for ever";
  claims.expiry = kNow;
  EXPECT_EQ(expiry_in(token_text(claims, "key")), kNow);
  EXPECT_EQ(expiry_in(unsigned_token(R"({"exp": 5})")), TimePoint::from_seconds(5));
  for (const char* body : {"", "{", "7", R"({"exp": "5"})", R"({"exp": 5.0})", R"({"exp": null})"})
    EXPECT_EQ(expiry_in(unsigned_token(body)), std::nullopt) << body;
  for (const char* text : {"", ".", "a.b", "!.!.!"}) EXPECT_EQ(expiry_in(text), std::nullopt);
}

TEST(Token, ATimeBeyondAllTimesIsNever) {
  EXPECT_EQ(expiry_in(unsigned_token(R"({"exp": 9223372036854775807})")), TimePoint::never());
  const auto past = expiry_in(unsigned_token(R"({"exp": -9223372036854775808})"));
  ASSERT_TRUE(past.has_value());
  EXPECT_LT(*past, TimePoint());
}

TEST(Token, PasswordsAreHashedAsTheClientDoes) {
  EXPECT_EQ(client_password_hash(""), "");
  // python3 -c 'import hashlib; print(hashlib.sha512(b"GubPEmmotfiK9TMD6Zdw" +
  // b"secret").hexdigest())'
  EXPECT_EQ(client_password_hash("secret"),
            "f6b1a15b3e3f6c5978ad185a85efc1c91f2da442e66c4ce48b12a36b5b4c04a4"
            "dbfe79f4fe07bf1eb0016e63d7613827e4c0ed3c8e3c305755792a556866a723");
}

TEST(Token, SecretsAreTheSameInEveryByte) {
  EXPECT_TRUE(is_same_secret("", ""));
  EXPECT_TRUE(is_same_secret(std::string_view("a\0b", 3), std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_same_secret(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
  EXPECT_FALSE(is_same_secret("secret", "secre"));
  EXPECT_FALSE(is_same_secret("", "s"));
}

}  // namespace
}  // namespace muster
