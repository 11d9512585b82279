// The tokens that people have for HTTP, which of them are void, and passwords that log in once.
// They have a file of their own: tokens are secrets of this controller, as its key is, and no part
// of the state that is replayed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/json.h"
#include "text/token_text.h"

namespace muster {

/// How a token came to be.
enum class TokenKind {
  kMade,   ///< muster token, muster env
  kLogin,  ///< by a password
};

struct TokenOwner {
  UserId user;
  GroupId group;
  std::string name;
  friend bool operator==(const TokenOwner&, const TokenOwner&) = default;
};

struct TokenRecord {
  std::uint64_t id = 0;  ///< from 1, never given twice
  TokenKind kind = TokenKind::kMade;
  TokenOwner owner;
  TimePoint made;
  TimePoint expiry;
  bool is_revoked = false;
};

/// One open file. Used by one thread at a time. Changes are on stable storage when a call returns.
/// Errors: kUnavailable: the disk refuses, and nothing has changed but what issue() and
/// revoke_all() say.
class TokenStore {
 public:
  /// Opens or creates the file. `key` signs the tokens. What has expired by `now` is forgotten.
  /// Errors: as read_whole; kCorruption: a whole line is damaged, or there is none. A last one
  /// without its end is dropped.
  static Result<std::unique_ptr<TokenStore>> open(const std::string& path, std::string key,
                                                  TimePoint now);
  /// Checks, without a change, that open() would read the file. Errors: open's of reading.
  static Status check(const std::string& path);
  ~TokenStore();
  TokenStore(const TokenStore&) = delete;
  TokenStore& operator=(const TokenStore&) = delete;

  /// Returns a token as text. kMade: the one that the owner has already with this expiry, if it is
  /// not revoked. Beyond `kOwnerMax` of an owner's the oldest login is revoked, or the oldest of
  /// all: also where an error follows. `expiry` is cut to whole seconds.
  Result<std::string> issue(const TokenOwner& owner, TokenKind kind, TimePoint expiry,
                            TimePoint now);
  /// Returns a token that no list has, for a command's own calls. It is void after `revoke_all`, or
  /// its end.
  std::string session(const TokenOwner& owner, TimePoint expiry, TimePoint now) const;
  /// Checks that a token is not void. Errors: kPermissionDenied: it was revoked, or is not known
  /// any more. Requires: the claims' signature is right, and their time is not over (parse_token).
  Status check(const TokenClaims& claims) const;

  /// Revokes a token. Errors: kNotFound.
  Status revoke(std::uint64_t id);
  /// Revokes all that the user has at `now`, sessions of commands included. Passwords for once are
  /// void also where an error follows.
  Status revoke_all(UserId user, TimePoint now);
  /// Returns the tokens of all users, least id first, without those whose time is over.
  std::vector<TokenRecord> list(TimePoint now) const;
  std::optional<TokenRecord> find(std::uint64_t id) const;

  /// Returns a password that logs its owner in once, in the next kOnceLife, from this machine;
  /// while the store is open. Errors: kResourceExhausted: the owner has sixteen that nobody used.
  Result<std::string> issue_once(const TokenOwner& owner, TimePoint now);
  /// Returns whose password it is, as the client sent it: plain or hashed (client_password_hash). A
  /// kMade token is one as often as it lives. Cost: the same for every name. Nullopt: nobody's of
  /// that name.
  std::optional<TokenOwner> log_in(const std::string& name, const std::string& password,
                                   bool is_on_this_machine, TimePoint now);

  static constexpr std::size_t kOwnerMax = 1000;
  static constexpr Duration kOnceLife = Duration::minutes(10);

 private:
  struct Once {
    TokenOwner owner;
    TimePoint expiry;
  };
  TokenStore(int fd, std::string path, std::string key)
      : fd_(fd), path_(std::move(path)), key_(std::move(key)) {}
  Status append(const std::string& line);
  void apply(const Json& line);
  void apply(TokenRecord record);
  void forget_password(const TokenRecord& record);
  std::string text_of(const TokenRecord& record) const;
  Status make_room(UserId user, TimePoint now);

  int fd_;
  std::string path_;
  std::string key_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, TokenRecord> records_;
  std::map<UserId, TimePoint> void_before_;  ///< by user: what was made until then
  std::unordered_map<std::string, std::uint64_t>
      by_password_;                             ///< kMade and not revoked, by client_password_hash
  std::unordered_map<std::string, Once> once_;  ///< likewise
};

}  // namespace muster
