// What other threads ask of the tokens' thread, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/tokens/token_store.h"

namespace muster {

/// The answer to a question that has no other than that it was done.
struct TokenChangeDone {};

// Each question means what the method of TokenStore of its name means; `Answer` is its value.
struct IssueToken {
  using Answer = std::string;
  TokenOwner owner;
  TokenKind kind = TokenKind::kMade;
  TimePoint expiry;
  TimePoint now;
};
struct IssueSession {
  using Answer = std::string;
  TokenOwner owner;
  TimePoint expiry;
  TimePoint now;
};
/// Asks for a password that is good once.
struct IssuePassword {
  using Answer = std::string;
  TokenOwner owner;
  TimePoint now;
};
struct CheckToken {
  using Answer = TokenChangeDone;
  TokenClaims claims;
};
/// Asks for a token's revocation. Errors: kNotFound also when the token is not `owner`'s, so that
/// nobody learns of another's.
struct RevokeToken {
  using Answer = TokenRecord;
  std::uint64_t id = 0;
  std::optional<UserId> owner;  ///< nullopt: anybody's
};
struct RevokeAllTokens {
  using Answer = TokenChangeDone;
  UserId user;
  TimePoint now;
};
struct ListTokens {
  using Answer = std::vector<TokenRecord>;
  TimePoint now;
};
/// Asks for a login. Errors: kPermissionDenied "invalid credentials".
struct LogIn {
  using Answer = TokenOwner;
  std::string name;
  std::string password;
  bool is_on_this_machine = false;
  TimePoint now;
};

using TokenQuestion = std::variant<IssueToken, IssueSession, IssuePassword, CheckToken, RevokeToken,
                                   RevokeAllTokens, ListTokens, LogIn>;
using TokenAnswer =
    std::variant<TokenChangeDone, std::string, TokenOwner, TokenRecord, std::vector<TokenRecord>>;

/// Answers a question. Errors: as the store's.
Result<TokenAnswer> answer(TokenStore& store, const TokenQuestion& question);

}  // namespace muster
