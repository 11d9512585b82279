// Tokens of HTTP's callers: JSON Web Tokens (RFC 7519) signed by the controller's key (HS256). Whoever has one is its user;
// nothing about it is stored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace muster {

/// What a token lets its bearer do.
enum class TokenScope {
  kUser,   ///< all that the user may
  kOwner,  ///< the same, while the job lives: for what runs in it
  kTask,   ///< to speak for one run of one trial
};

struct TokenClaims {
  TokenScope scope = TokenScope::kUser;
  UserId user;
  GroupId group;
  std::string user_name;
  TimePoint expiry = TimePoint::never();
  JobId job;                  ///< kOwner, kTask: it ends with this job
  std::uint32_t run = 0;      ///< kTask: and with this run of its trial, from 1
  TrialId trial;              ///< kTask
  friend bool operator==(const TokenClaims&, const TokenClaims&) = default;
};

/// The same claims under the same key give the same text.
std::string token_text(const TokenClaims& claims, std::string_view key);
/// Errors: kPermissionDenied: no token of ours, or its time is over.
Result<TokenClaims> parse_token(std::string_view text, std::string_view key, TimePoint now);

/// The user's token that ends with the day, in UTC, on which `end` falls.
std::string user_token(UserId user, GroupId group, const std::string& name, TimePoint end, std::string_view key);

/// What Determined's client sends for a password: SHA-512 over a fixed salt and the password, in hexadecimal digits; an empty one
/// stays empty.
std::string client_password_hash(std::string_view password);

/// Equal texts, found out in a time that does not tell where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace muster
