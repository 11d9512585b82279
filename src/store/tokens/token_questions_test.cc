// What other threads ask of the tokens gets what the store says, and nobody learns of another's.
#include "store/tokens/token_questions.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace muster {
namespace {

const TimePoint kAskTime = TimePoint::from_seconds(1'800'000'000);
const TimePoint kEnd = kAskTime + Duration::hours(24);
const TokenOwner kAskerAnn{UserId(1), GroupId(10), "ann"};
const TokenOwner kAskerBob{UserId(2), GroupId(20), "bob"};

class TokenQuestions : public ::testing::Test {
 protected:
  TokenQuestions() {
    char name[] = "/tmp/muster-tokens.XXXXXX";
    folder_ = ::mkdtemp(name);
    auto opened = TokenStore::open(folder_ + "/tokens", "key", kAskTime);
    EXPECT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(opened).value();
  }
  ~TokenQuestions() override { std::filesystem::remove_all(folder_); }

  template <class Question>
  Result<typename Question::Answer> ask(Question question) {
    auto said = answer(*store_, TokenQuestion(std::move(question)));
    if (!said.has_value()) return fail(said.error());
    return std::get<typename Question::Answer>(std::move(said).value());
  }
  TokenClaims claims_of(const std::string& token) {
    return parse_token(token, "key", kAskTime).value();
  }

  std::string folder_;
  std::unique_ptr<TokenStore> store_;
};

TEST_F(TokenQuestions, WhatIsIssuedIsGoodUntilItIsRevoked) {
  const std::string token = ask(IssueToken{kAskerAnn, TokenKind::kMade, kEnd, kAskTime}).value();
  EXPECT_TRUE(ask(CheckToken{claims_of(token)}).has_value());
  const TokenRecord revoked = ask(RevokeToken{claims_of(token).id, std::nullopt}).value();
  EXPECT_TRUE(revoked.is_revoked);
  EXPECT_EQ(revoked.owner, kAskerAnn);
  const auto checked = ask(CheckToken{claims_of(token)});
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::kPermissionDenied);
}

TEST_F(TokenQuestions, AnothersTokenIsNotThere) {
  const std::string token = ask(IssueToken{kAskerAnn, TokenKind::kMade, kEnd, kAskTime}).value();
  const std::uint64_t id = claims_of(token).id;
  const auto of_bob = ask(RevokeToken{id, kAskerBob.user});
  const auto of_nobody = ask(RevokeToken{id + 1, kAskerBob.user});
  ASSERT_FALSE(of_bob.has_value());
  ASSERT_FALSE(of_nobody.has_value());
  EXPECT_EQ(of_bob.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(of_bob.error(), of_nobody.error()) << "the answer tells whether there is one";
  EXPECT_TRUE(ask(CheckToken{claims_of(token)}).has_value());
  EXPECT_TRUE(ask(RevokeToken{id, kAskerAnn.user}).has_value());
}

TEST_F(TokenQuestions, ListsAndRevokesAllOfAUser) {
  const std::string ann = ask(IssueToken{kAskerAnn, TokenKind::kLogin, kEnd, kAskTime}).value();
  const std::string session = ask(IssueSession{kAskerAnn, kEnd, kAskTime}).value();
  const std::string bob = ask(IssueToken{kAskerBob, TokenKind::kMade, kEnd, kAskTime}).value();
  EXPECT_EQ(ask(ListTokens{kAskTime}).value().size(), 2U) << "a session is in no list";
  EXPECT_EQ(ask(ListTokens{kEnd}).value().size(), 0U);
  ASSERT_TRUE(ask(RevokeAllTokens{kAskerAnn.user, kAskTime}).has_value());
  EXPECT_FALSE(ask(CheckToken{claims_of(ann)}).has_value());
  EXPECT_FALSE(ask(CheckToken{claims_of(session)}).has_value());
  EXPECT_TRUE(ask(CheckToken{claims_of(bob)}).has_value());
}

TEST_F(TokenQuestions, APasswordForOnceLogsInOnceAndFromHere) {
  const std::string password = ask(IssuePassword{kAskerAnn, kAskTime}).value();
  EXPECT_FALSE(ask(LogIn{"ann", password, false, kAskTime}).has_value()) << "from another machine";
  EXPECT_FALSE(ask(LogIn{"bob", password, true, kAskTime}).has_value());
  EXPECT_EQ(ask(LogIn{"ann", password, true, kAskTime}).value(), kAskerAnn);
  const auto again = ask(LogIn{"ann", password, true, kAskTime});
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(again.error().message, "invalid credentials");
}

}  // namespace
}  // namespace muster
