// Logging in, and who one is.
// Users are the machine's: nobody is created here, and a password is a token or a password for
// once, never one of the machine's.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/determined/names.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "base/time.h"
#include "text/words.h"

namespace muster::api {
namespace {

// As long as Determined's sessions last.
constexpr Duration kSession = Duration::hours(24 * 7);

Duration session_life(const ApiPort& port) {
  return std::min(kSession, Duration::hours(24) * port.settings().token_days);
}

// Fields that pages read of a user and that mean nothing here.
Json user_json(UserId id, const std::string& name, bool is_admin) {
  return Json::Object{{"id", user_number(id)},    {"username", name},     {"displayName", name},
                      {"admin", is_admin},        {"active", true},       {"remote", false},
                      {"agentUserGroup", Json()}, {"modifiedAt", Json()}, {"lastAuthAt", Json()}};
}

Json caller_json(const ApiPort&, const Caller& caller) {
  return user_json(caller.identity.user, caller.claims.user_name, caller.identity.is_operator);
}

HttpReply logged_in(const ApiPort& port, const TokenOwner& owner, const std::string& token) {
  const bool is_admin = port.settings().is_operator(owner.user);
  HttpReply reply = json_reply(
      Json::Object{{"token", token}, {"user", user_json(owner.user, owner.name, is_admin)}});
  // HttpOnly and Strict: no script reads it and no other site sends it.
  reply.cookie = fmt::format("auth={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}", token,
                             session_life(port).seconds());
  return reply;
}

/// A wrong password and an unknown name are answered alike, after the same work.
kj::Promise<HttpReply> login(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const std::string name = text_field(*body, "username").value_or("");
  const std::string password = text_field(*body, "password").value_or("");
  // By address and not by name: guessing at many names is one guesser.
  const TcpPeer peer = request.peer;
  // Before the password is looked at, so that guessing is slowed.
  if (!port.logins().may_try(peer.name, port.now())) {
    return error_reply({ErrorCode::kResourceExhausted,
                        "too many logins from " + peer.name + " failed", "try again in a minute"});
  }
  const TimePoint now = port.now();
  return ask_tokens(port, LogIn{name, password, peer.is_on_this_machine, now})
      .then([&port, peer, now](Result<TokenOwner> owner) -> kj::Promise<HttpReply> {
        if (!owner.has_value()) {
          port.logins().failed(peer.name, now);
          return unauthenticated_reply(owner.error().text());
        }
        return ask_tokens(port,
                          IssueToken{*owner, TokenKind::kLogin, now + session_life(port), now})
            .then([&port, owner = *owner](Result<std::string> token) {
              return token.has_value() ? logged_in(port, owner, *token)
                                       : error_reply(token.error());
            });
      });
}

HttpReply logged_out(ApiPort& port, const std::optional<Error>& error) {
  // What was remembered of callers is thrown away with the token.
  port.forget_callers();
  HttpReply reply = done_or(error);
  reply.cookie = "auth=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0";
  return reply;
}

/// The token that it is asked with is void afterwards.
kj::Promise<HttpReply> logout(ApiPort& port, HttpRequest request) {
  const TokenClaims& claims = request.caller.claims;
  // A run's token is not the user's to end.
  if (claims.scope != TokenScope::kUser || claims.id == 0) return logged_out(port, std::nullopt);
  return ask_tokens(port, RevokeToken{claims.id, std::nullopt})
      .then([&port](Result<TokenRecord> done) {
        return logged_out(port, done.has_value() ? std::nullopt : std::optional(done.error()));
      });
}

kj::Promise<HttpReply> who_am_i(ApiPort& port, HttpRequest request) {
  return json_reply(Json::Object{{"user", caller_json(port, request.caller)}});
}

/// Users are the machine's: those that have experiments, and the caller.
kj::Promise<Result<std::vector<Json>>> users(ApiPort& port, const Caller& caller) {
  return look<std::vector<Json>>(
      port, caller,
      [caller, &details = port.settings()](const ClusterState& state) -> Result<std::vector<Json>> {
        std::map<UserId, std::string> names{{caller.identity.user, caller.claims.user_name}};
        for (const auto& [id, experiment] : state.experiments().experiments())
          names.emplace(experiment.spec->user, experiment.spec->user_name);
        std::vector<Json> all;
        for (const auto& [id, name] : names)
          all.push_back(user_json(id, name, details.is_operator(id)));
        return all;
      });
}

kj::Promise<HttpReply> list_users(ApiPort& port, HttpRequest request) {
  return users(port, request.caller).then([request](Result<std::vector<Json>> all) -> HttpReply {
    if (!all.has_value()) return error_reply(all.error());
    const auto word = [](const Json& user) { return *user.find("username")->text(); };
    const std::string name = lower(request.parameter("name"));
    const auto is_active = flag_parameter(request, "active");
    const auto is_admin = flag_parameter(request, "admin");
    if (!is_active.has_value()) return error_reply(is_active.error());
    if (!is_admin.has_value()) return error_reply(is_admin.error());
    // Filters are parts of names, without case.
    std::erase_if(*all, [&](const Json& user) {
      return lower(word(user)).find(name) == std::string::npos || !is_active->value_or(true) ||
             (*is_admin && **is_admin != *user.find("admin")->boolean());
    });
    const Status sorted = sort_list<Json>(
        request, *all,
        {sort_key<Json>("SORT_BY_USER_NAME", word), sort_key<Json>("SORT_BY_NAME", word),
         sort_key<Json>("SORT_BY_DISPLAY_NAME", word)});
    if (!sorted.has_value()) return error_reply(sorted.error());
    return list_reply(request, "users", *all, [](const Json& user) { return user; });
  });
}

kj::Promise<HttpReply> find_user(ApiPort& port, HttpRequest request) {
  return users(port, request.caller).then([request](Result<std::vector<Json>> all) -> HttpReply {
    if (!all.has_value()) return error_reply(all.error());
    // By id or by name, as the two routes ask.
    for (const Json& user : *all) {
      const bool is_it = std::to_string(*user.find("id")->whole()) == request.arguments[0] ||
                         *user.find("username")->text() == request.arguments[0];
      if (is_it) return json_reply(Json::Object{{"user", user}});
    }
    return error_reply({ErrorCode::kNotFound, "there is no user " + request.arguments[0], ""});
  });
}

}  // namespace

void add_session_routes(Router& router) {
  router.add_open(Method::kPost, "/api/v1/auth/login",
                  "Log in: a user's name with a token of muster token as password", login);
  router.add(Method::kPost, "/api/v1/auth/logout", "Log out: the token is void", logout);
  router.add(Method::kGet, "/api/v1/auth/user", "Who the caller is", who_am_i);
  router.add(Method::kGet, "/api/v1/me", "Who the caller is", who_am_i);
  router.add(Method::kGet, "/api/v1/users", "Users with experiments", list_users,
             list_parameters({"sortBy", "orderBy", "name", "active", "admin"}));
  router.add(Method::kGet, "/api/v1/users/setting", "Settings of the web interface",
             [](ApiPort&, HttpRequest) -> kj::Promise<HttpReply> {
               return json_reply(Json::Object{{"settings", Json::Array{}}});
             });
  router.add(Method::kGet, "/api/v1/users/{id}", "One user", find_user);
  router.add(Method::kGet, "/api/v1/users/{name}/by-username", "One user by name", find_user);
}

}  // namespace muster::api
