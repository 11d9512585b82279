// Tokens of HTTP's callers: JSON Web Tokens (RFC 7519) signed by the controller's key (HS256).
// Whoever has one is its user; which tokens of people's exist, and which are void, is stored
// elsewhere (store/tokens/token_store.h).
#pragma once

#include <cstdint>
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
  JobId job;              ///< kOwner, kTask: it ends with this job
  std::uint32_t run = 0;  ///< kTask: and with this run of its trial, from 1
  TrialId trial;          ///< kTask
  std::uint64_t id = 0;   ///< kUser: by which it is listed and revoked; 0: no list has it
  TimePoint made;         ///< kUser: when; unset: it ends with its job
  friend bool operator==(const TokenClaims&, const TokenClaims&) = default;
};

/// Returns the token. The same claims under the same key give the same text.
std::string token_text(const TokenClaims& claims, std::string_view key);
/// Returns a token's claims. Errors: kPermissionDenied: it is no token of ours, or its time is
/// over.
Result<TokenClaims> parse_token(std::string_view text, std::string_view key, TimePoint now);

/// Returns until when a token says that it lasts, whoever signed it. Nullopt: it does not say.
std::optional<TimePoint> expiry_in(std::string_view text);

/// Returns the end of the day, in UTC, on which `time` falls.
TimePoint end_of_day(TimePoint time);

/// Returns what Determined's client sends for a password: SHA-512 over a fixed salt and the
/// password, in hexadecimal digits; an empty one stays empty.
std::string client_password_hash(std::string_view password);

/// Compares two texts in a time that does not tell where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace muster
