// The tokens of people: which there are, taken back, and passwords that log in once.
#include <fmt/format.h>

#include <algorithm>

#include "api/determined/names.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "base/time.h"
#include "text/words.h"

namespace muster::api {
namespace {

Json token_json(const TokenRecord& record) {
  const bool is_login = record.kind == TokenKind::kLogin;
  return Json::Object{
      {"id", static_cast<std::int64_t>(record.id)},
      {"userId", user_number(record.owner.user)},
      {"username", record.owner.name},
      {"createdAt", time_json(record.made)},
      {"expiry", time_json(record.expiry)},
      // Determined has the two types.
      {"tokenType", is_login ? "TOKEN_TYPE_USER_SESSION" : "TOKEN_TYPE_ACCESS_TOKEN"},
      {"revoked", record.is_revoked},
      {"description", is_login ? "login" : "muster token"}};
}

bool may_see(const Caller& caller, UserId owner) {
  return caller.identity.is_operator || caller.identity.user == owner;
}

/// The caller's own, an operator's view of everybody's; revoked ones when they are asked for.
kj::Promise<HttpReply> list_tokens(ApiPort& port, HttpRequest request) {
  const auto with_revoked = flag_parameter(request, "showInactive");
  if (!with_revoked.has_value()) return error_reply(with_revoked.error());
  return ask_tokens(port, ListTokens{port.now()})
      .then([request, is_all = with_revoked->value_or(false)](
                Result<std::vector<TokenRecord>> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        // By name of the user, as the page lets one choose.
        const std::string_view name = request.parameter("username");
        std::erase_if(*all, [&](const TokenRecord& record) {
          return !may_see(request.caller, record.owner.user) || (record.is_revoked && !is_all) ||
                 (!name.empty() && record.owner.name != name);
        });
        return list_reply(request, "tokenInfo", *all, token_json);
      });
}

kj::Promise<HttpReply> revoke(ApiPort& port, const Caller& caller, std::uint64_t id) {
  const auto owner =
      caller.identity.is_operator ? std::nullopt : std::optional(caller.identity.user);
  return ask_tokens(port, RevokeToken{id, owner})
      .then([&port](Result<TokenRecord> record) -> HttpReply {
        if (!record.has_value()) return error_reply(record.error());
        port.forget_callers();
        return json_reply(Json::Object{{"tokenInfo", token_json(*record)}});
      });
}

Result<std::uint64_t> token_id(const HttpRequest& request) {
  // Ids are positive, and signed in the store.
  const auto id = parse_whole(request.arguments[0], INT64_MAX);
  if (id && *id > 0) return *id;
  return fail(wrong(fmt::format("'{}' is no token's id", request.arguments[0])));
}

kj::Promise<HttpReply> revoke_one(ApiPort& port, HttpRequest request) {
  const auto id = token_id(request);
  if (!id.has_value()) return error_reply(id.error());
  return revoke(port, request.caller, *id);
}

/// As Determined's clients change one: of what they may change only that it is revoked.
kj::Promise<HttpReply> patch_token(ApiPort& port, HttpRequest request) {
  const auto id = token_id(request);
  const auto body = body_of(request);
  if (!id.has_value()) return error_reply(id.error());
  if (!body.has_value()) return error_reply(body.error());
  const Json* is_revoked = field(*body, "setRevoked");
  const Json* description = field(*body, "description");
  const bool is_known =
      is_revoked != nullptr && is_revoked->boolean() != nullptr && *is_revoked->boolean();
  // Descriptions and lifetimes are not changed here: revoking is all there is.
  if (!is_known || (description != nullptr && !description->is_null())) {
    return error_reply({ErrorCode::kUnimplemented, "a token can be revoked and nothing else",
                        "send {\"setRevoked\": true}"});
  }
  return revoke(port, request.caller, *id);
}

/// Also what no list has: the tokens that commands take for their own calls. An operator may name a
/// user.
kj::Promise<HttpReply> revoke_all(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status text = check_texts(*body, {"username"}); !text.has_value())
    return error_reply(text.error());
  const Caller caller = request.caller;
  // An operator may name somebody else.
  const std::string name = text_field(*body, "username").value_or(caller.claims.user_name);
  return work<UserId>(port,
                      [&users = port.users(), name, caller]() -> Result<UserId> {
                        if (name == caller.claims.user_name) return caller.identity.user;
                        if (!caller.identity.is_operator)
                          return fail(ErrorCode::kPermissionDenied,
                                      "only operators revoke tokens of others", "");
                        if (const auto user = users.find(name)) return user->first;
                        return fail(ErrorCode::kNotFound, "there is no user " + name, "");
                      })
      .then([&port, now = port.now()](Result<UserId> user) -> kj::Promise<HttpReply> {
        if (!user.has_value()) return error_reply(user.error());
        return ask_tokens(port, RevokeAllTokens{*user, now})
            .then([&port](Result<TokenChangeDone> done) -> HttpReply {
              port.forget_callers();
              return done.has_value() ? empty_reply() : error_reply(done.error());
            });
      });
}

/// A password that logs the caller in once, from this machine.
kj::Promise<HttpReply> make_once(ApiPort& port, HttpRequest request) {
  const Caller& caller = request.caller;
  // A job's token ends with the job, and logs nobody in beyond it.
  if (caller.claims.scope != TokenScope::kUser) {
    return error_reply({ErrorCode::kPermissionDenied,
                        "a job's token ends with the job and logs nobody in beyond it",
                        "muster token --once asks for one"});
  }
  const TokenOwner owner{caller.identity.user, caller.identity.group, caller.claims.user_name};
  const TimePoint now = port.now();
  return ask_tokens(port, IssuePassword{owner, now})
      .then([owner, now](Result<std::string> password) -> HttpReply {
        if (!password.has_value()) return error_reply(password.error());
        return json_reply(Json::Object{{"username", owner.name},
                                       {"password", *password},
                                       {"expiry", time_json(now + TokenStore::kOnceLife)}});
      });
}

}  // namespace

void add_token_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/tokens", "Tokens: the caller's, or everybody's for operators",
             list_tokens, list_parameters({"username", "showInactive"}));
  router.add(Method::kPost, "/api/v1/tokens/once",
             "A password that logs the caller in once, from this machine, in the next ten minutes",
             make_once);
  router.add(Method::kPost, "/api/v1/tokens/revoke-all", "Make all tokens of a user void",
             revoke_all);
  router.add(Method::kPost, "/api/v1/tokens/{id}/revoke", "Make a token void", revoke_one);
  router.add(Method::kPatch, "/api/v1/tokens/{id}", "Make a token void", patch_token);
}

}  // namespace muster::api
