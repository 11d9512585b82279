// What confirming a token means. A token says who it is of and was signed; here it is asked
// whether that is still true.

#include "api/http/api_port.h"

#include <fmt/format.h>

namespace muster::api {

kj::Promise<Result<GroupId>> ApiPort::confirm(const TokenClaims& claims) {
  // A run's token ends with it, whatever became of its user; one that acts as its user does not
  // outlive the account either.
  if (claims.scope == TokenScope::kTask) return Result<GroupId>(claims.group);
  const auto look_up = [this, claims]() -> kj::Promise<Result<GroupId>> {
    return api::work<GroupId>(*this, [&users = users(), claims]() -> Result<GroupId> {
      const auto user = users.find(claims.user_name);
      if (user && user->first == claims.user) return user->second;
      // One without an account is known by the number alone.
      if (!user && claims.user_name == std::to_string(claims.user.value())) return claims.group;
      return fail(ErrorCode::kPermissionDenied, "invalid token",
                  fmt::format("{} is no user any more, or has another number", claims.user_name));
    });
  };
  if (claims.scope != TokenScope::kUser && !claims.made.is_set()) return look_up();
  return api::ask_tokens(*this, CheckToken{claims})
      .then([look_up](Result<TokenChangeDone> good) -> kj::Promise<Result<GroupId>> {
        if (!good.has_value()) return Result<GroupId>(fail(good.error()));
        return look_up();
      });
}

}  // namespace muster::api
