// Tokens of people: listed, revoked, forgotten, and what a crash leaves of their file.
#include "store/tokens/token_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

const TimePoint kNow = TimePoint::from_seconds(1'800'000'000);
const TokenOwner kAnn{UserId(1), GroupId(10), "ann"};
const TokenOwner kBob{UserId(2), GroupId(20), "bob"};

class Tokens : public ::testing::Test {
 protected:
  Tokens() {
    char name[] = "/tmp/muster-tokens.XXXXXX";
    folder_ = ::mkdtemp(name);
    path_ = folder_ + "/tokens";
    reopen();
  }
  ~Tokens() override { std::filesystem::remove_all(folder_); }
  void reopen(TimePoint now = kNow) {
    store_.reset();
    auto opened = TokenStore::open(path_, "key", now);
    ASSERT_TRUE(opened.has_value()) << opened.error().text();
    store_ = std::move(opened).value();
  }
  std::string made(const TokenOwner& owner, int days = 1, TimePoint now = kNow) {
    return store_->issue(owner, TokenKind::kMade, kNow + Duration::hours(24 * days), now).value();
  }
  std::string login(const TokenOwner& owner) {
    return store_->issue(owner, TokenKind::kLogin, kNow + Duration::hours(24), kNow).value();
  }
  bool is_good(const std::string& token) {
    return store_->check(parse_token(token, "key", kNow).value()).has_value();
  }
  std::uint64_t id(const std::string& token) { return parse_token(token, "key", kNow).value().id; }

  std::string folder_;
  std::string path_;
  std::unique_ptr<TokenStore> store_;
};

TEST_F(Tokens, HaveIdsAndOutliveTheStore) {
  const std::string ann = made(kAnn);
  const std::string bob = made(kBob);
  EXPECT_EQ(id(ann), 1U);
  EXPECT_EQ(id(bob), 2U);
  EXPECT_EQ(made(kAnn), ann) << "one for one end: a shell that asks again gets no further one";
  EXPECT_NE(made(kAnn, 2), ann);
  reopen();
  EXPECT_TRUE(is_good(ann) && is_good(bob));
  EXPECT_EQ(made(kAnn), ann);
  EXPECT_EQ(store_->list(kNow).size(), 3U);
  EXPECT_EQ(store_->find(2)->owner, kBob);
}

TEST_F(Tokens, AreVoidOnceRevokedAlsoAfterARestart) {
  const std::string first = made(kAnn);
  const std::string other = made(kBob);
  ASSERT_TRUE(store_->revoke(id(first)).has_value());
  EXPECT_TRUE(store_->revoke(id(first)).has_value()) << "again: done already";
  EXPECT_EQ(store_->revoke(99).error().code, ErrorCode::kNotFound);
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(is_good(first));
    EXPECT_TRUE(is_good(other));
    EXPECT_EQ(store_->log_in("ann", first, true, kNow), std::nullopt);
    reopen();
  }
  EXPECT_NE(made(kAnn), first) << "the next one is another";
}

TEST_F(Tokens, AllOfAUsersAreVoidAtOnceSessionsToo) {
  const std::string token = made(kAnn);
  const std::string session = store_->session(kAnn, kNow + Duration::hours(1), kNow);
  const std::string other = store_->session(kBob, kNow + Duration::hours(1), kNow);
  EXPECT_TRUE(is_good(session));
  ASSERT_TRUE(store_->revoke_all(kAnn.user, kNow).has_value());
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(is_good(token) || is_good(session));
    EXPECT_TRUE(is_good(other));
    reopen();
  }
  EXPECT_TRUE(is_good(made(kAnn))) << "one made in the same moment afterwards";
}

TEST_F(Tokens, NumbersAreNeverGivenTwice) {
  made(kAnn, 1);
  made(kAnn, 2);
  reopen(kNow + Duration::hours(24 * 9));
  EXPECT_TRUE(store_->list(kNow).empty()) << "their time is over: forgotten";
  reopen(kNow);
  EXPECT_EQ(id(made(kAnn)), 3U);
}

TEST_F(Tokens, ThatNobodyKnowsAreRefused) {
  TokenClaims claims;
  claims.user = kAnn.user;
  EXPECT_FALSE(store_->check(claims).has_value()) << "it says not when it was made";
  claims.made = kNow;
  claims.id = 77;
  EXPECT_FALSE(store_->check(claims).has_value());
}

TEST_F(Tokens, ArePasswordsOfTheirOwners) {
  const std::string token = made(kAnn);
  const std::string by_login = login(kAnn);
  for (const std::string& password : {token, client_password_hash(token)}) {
    EXPECT_EQ(store_->log_in("ann", password, false, kNow), kAnn);
    EXPECT_EQ(store_->log_in("bob", password, false, kNow), std::nullopt);
  }
  EXPECT_EQ(store_->log_in("ann", token, false, kNow + Duration::hours(25)), std::nullopt);
  for (const std::string& password : {std::string(), std::string("x"), by_login})
    EXPECT_EQ(store_->log_in("ann", password, true, kNow), std::nullopt);
  reopen();
  EXPECT_EQ(store_->log_in("ann", token, false, kNow), kAnn);
}

TEST_F(Tokens, PasswordsForOnceOpenOnceHereAndSoon) {
  const std::string once = store_->issue_once(kAnn, kNow).value();
  EXPECT_EQ(store_->log_in("ann", once, false, kNow), std::nullopt) << "from another machine";
  EXPECT_EQ(store_->log_in("bob", once, true, kNow), std::nullopt);
  EXPECT_EQ(store_->log_in("ann", client_password_hash(once), true, kNow), kAnn);
  EXPECT_EQ(store_->log_in("ann", once, true, kNow), std::nullopt) << "it was used";
  const std::string late = store_->issue_once(kAnn, kNow).value();
  EXPECT_NE(late, once);
  EXPECT_EQ(store_->log_in("ann", late, true, kNow + TokenStore::kOnceLife), std::nullopt);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(store_->issue_once(kBob, kNow).has_value());
  EXPECT_EQ(store_->issue_once(kBob, kNow).error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(store_->issue_once(kAnn, kNow).has_value()) << "one user's fill nobody else's";
  const std::string gone = store_->issue_once(kAnn, kNow).value();
  ASSERT_TRUE(store_->revoke_all(kAnn.user, kNow).has_value());
  EXPECT_EQ(store_->log_in("ann", gone, true, kNow), std::nullopt);
}

TEST_F(Tokens, OfAUserAreBoundedAndTheOldestLoginGoes) {
  const std::string kept = made(kAnn);
  const std::string oldest = login(kAnn);
  for (std::size_t i = 2; i < TokenStore::kOwnerMax; ++i) login(kAnn);
  EXPECT_TRUE(is_good(oldest));
  const std::string newest = login(kAnn);
  EXPECT_FALSE(is_good(oldest));
  EXPECT_TRUE(is_good(kept) && is_good(newest));
}

TEST_F(Tokens, ALineThatACrashCutIsNoDamage) {
  const std::string token = made(kAnn);
  std::ofstream(path_, std::ios::app) << R"({"id": 2, "ki)";
  reopen();
  EXPECT_TRUE(is_good(token));
  EXPECT_EQ(id(made(kBob)), 2U);
  std::ofstream(path_, std::ios::app) << "{\"id\": 2, \"ki\n";
  EXPECT_EQ(TokenStore::check(path_).error().code, ErrorCode::kCorruption);
  EXPECT_EQ(TokenStore::open(path_, "key", kNow).error().code, ErrorCode::kCorruption);
}

TEST_F(Tokens, AFileInWhichNothingIsKnownIsDamaged) {
  store_.reset();
  for (const char* text : {"", "no line", "5\n", "[]\n", "null\n", "{}\n", "{\"last\": -1}\n"}) {
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_EQ(TokenStore::open(path_, "key", kNow).error().code, ErrorCode::kCorruption) << text;
    EXPECT_EQ(std::filesystem::file_size(path_), std::string_view(text).size());
  }
}

TEST_F(Tokens, ThatWereRevokedStaySoWhenTheirListIsLost) {
  const std::string revoked = made(kAnn);
  ASSERT_TRUE(store_->revoke(id(revoked)).has_value());
  store_.reset();
  std::filesystem::remove(path_);
  reopen();
  for (const TokenOwner& owner : {kBob, kAnn}) {
    const std::string later = made(owner, 1, kNow + Duration::seconds(1));
    EXPECT_TRUE(is_good(later));
    EXPECT_FALSE(is_good(revoked)) << "token " << id(later) << " is another";
    store_.reset();
    std::filesystem::remove(path_);
    reopen();
  }
}

TEST_F(Tokens, AreCheckedWithoutAChange) {
  made(kAnn);
  std::ofstream(path_, std::ios::app) << "{\"id\": 2, \"ki";  // cut off by a crash
  const auto size = std::filesystem::file_size(path_);
  EXPECT_TRUE(TokenStore::check(path_).has_value());
  EXPECT_EQ(std::filesystem::file_size(path_), size);
  EXPECT_TRUE(TokenStore::check(folder_ + "/none").has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/none"));
}

TEST_F(Tokens, AFileThatCannotBeReadStaysAsItIs) {
  store_.reset();
  std::filesystem::remove(path_);
  std::filesystem::create_symlink(path_, path_);  // a loop
  EXPECT_EQ(TokenStore::open(path_, "key", kNow).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(TokenStore::open(path_, "key", kNow).error().code, ErrorCode::kUnavailable);
}

TEST_F(Tokens, FileIsItsOwnersAlone) {
  struct stat file {};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

}  // namespace
}  // namespace muster
