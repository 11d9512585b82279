// header.payload.signature of RFC 7515, each in base64url. Only tokens that carry our signature
// are ever looked into: the header's algorithm is not read, so that no token can choose "none".

#include "text/token_text.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "text/base64.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/words.h"

namespace muster {
namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr std::int64_t kDaySeconds = 86'400;

constexpr std::string_view scope_name(TokenScope scope) {
  switch (scope) {
    case TokenScope::kUser: return "user";
    case TokenScope::kOwner: return "owner";
    case TokenScope::kTask: return "task";
  }
  return "";
}

std::string signature(std::string_view text, std::string_view key) {
  std::string bytes(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(bytes.data()), &size);
  // EVP_MAX_MD_SIZE is that of the longest hash, 64 bytes, of which SHA-256 fills 32.
  bytes.resize(size);
  return bytes;
}

// One message for every fault: a forger does not learn how far a token came.
Error no_token() {
  return Error{ErrorCode::kPermissionDenied, "invalid token",
               "it is not of this cluster, or it was cut short"};
}

std::uint32_t number_of(const Json& claims, std::string_view name) {
  const Json* value = claims.find(name);
  const std::int64_t* number = value == nullptr ? nullptr : value->whole();
  return number == nullptr ? 0 : static_cast<std::uint32_t>(*number);
}

/// Requires: the signature is right, so that the claims are as we wrote them.
TokenClaims claims_of(const Json& json) {
  TokenClaims claims;
  const Json* scope = json.find("scope");
  for (const TokenScope known : {TokenScope::kUser, TokenScope::kOwner, TokenScope::kTask}) {
    if (scope != nullptr && scope->text() != nullptr && *scope->text() == scope_name(known))
      claims.scope = known;
  }
  // RFC 7519 has names for these three, sub, exp and jti; the others are ours.
  if (const Json* name = json.find("sub"); name != nullptr && name->text() != nullptr)
    claims.user_name = *name->text();
  claims.user = UserId(number_of(json, "uid"));
  claims.group = GroupId(number_of(json, "gid"));
  if (const Json* end = json.find("exp"); end != nullptr && end->whole() != nullptr)
    claims.expiry = TimePoint::from_seconds(*end->whole());
  // jti is a text in RFC 7519, and an id has 64 bits, more than JavaScript's numbers hold.
  if (const Json* id = json.find("jti"); id != nullptr && id->text() != nullptr)
    claims.id = parse_whole(*id->text()).value_or(0);
  if (const Json* made = json.find("made_us"); made != nullptr && made->whole() != nullptr)
    claims.made = TimePoint::from_microseconds(*made->whole());
  claims.job = JobId(number_of(json, "job"));
  claims.run = number_of(json, "run");
  claims.trial = TrialId(number_of(json, "trial"));
  return claims;
}

}  // namespace

std::string token_text(const TokenClaims& claims, std::string_view key) {
  Json::Object body{{"scope", std::string(scope_name(claims.scope))},
                    {"sub", claims.user_name},
                    {"uid", claims.user.value()},
                    {"gid", claims.group.value()}};
  if (!claims.expiry.is_never()) body.push_back({"exp", claims.expiry.seconds()});
  if (claims.id != 0) body.push_back({"jti", std::to_string(claims.id)});
  if (claims.made.is_set()) body.push_back({"made_us", claims.made.microseconds()});
  if (claims.scope != TokenScope::kUser) body.push_back({"job", claims.job.value()});
  if (claims.scope == TokenScope::kTask) {
    body.push_back({"run", claims.run});
    body.push_back({"trial", claims.trial.value()});
  }
  std::string text =
      base64url_text(kHeader) + "." + base64url_text(json_text(Json(std::move(body))));
  return text + "." + base64url_text(signature(text, key));
}

Result<TokenClaims> parse_token(std::string_view text, std::string_view key, TimePoint now) {
  const std::size_t last = text.rfind('.');
  const std::size_t first = text.find('.');
  if (last == text.npos || first == last) return fail(no_token());
  const auto given = parse_base64(text.substr(last + 1));
  // The signature is compared before anything is parsed, and in constant time: the body of a
  // forged token is never read.
  if (!given.has_value() || !is_same_secret(*given, signature(text.substr(0, last), key)))
    return fail(no_token());
  const std::string body = TRY(parse_base64(text.substr(first + 1, last - first - 1)));
  const Json json = TRY(parse_json(body));
  TokenClaims claims = claims_of(json);
  if (claims.expiry <= now)
    return fail(ErrorCode::kPermissionDenied, "invalid token",
                "its time is over: make another with muster token");
  return claims;
}

std::optional<TimePoint> expiry_in(std::string_view text) {
  // Does not check a signature: the client that asks has no key.
  const std::size_t first = text.find('.');
  const std::size_t last = text.rfind('.');
  if (last == text.npos || first == last) return std::nullopt;
  const auto body = parse_base64(text.substr(first + 1, last - first - 1));
  const auto json = body.has_value() ? parse_json(*body) : Result<Json>(fail(body.error()));
  if (!json.has_value()) return std::nullopt;
  const Json* end = json->find("exp");
  return end == nullptr || end->whole() == nullptr
             ? std::nullopt
             : std::optional(TimePoint::from_seconds(*end->whole()));
}

TimePoint end_of_day(TimePoint time) {
  // UTC's day: the division by 86400 counts from 1970-01-01T00:00:00Z.
  return TimePoint::from_seconds((time.seconds() / kDaySeconds + 1) * kDaySeconds);
}

std::string client_password_hash(std::string_view password) {
  if (password.empty()) return "";
  // The constant of Determined's client: passwords arrive hashed with it.
  const std::string salted = "GubPEmmotfiK9TMD6Zdw" + std::string(password);
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  ::EVP_Digest(salted.data(), salted.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
               ::EVP_sha512(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i)
    hex += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(digest[i])));
  return hex;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace muster
