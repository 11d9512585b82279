// Logging in, and who one is.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/fields.h"
#include "api/list_order.h"
#include "api/names.h"
#include "api/replies.h"
#include "api/router.h"
#include "base/time.h"
#include "codec/words.h"

namespace muster::api {
namespace {

/// The days to come for which a user's token may have been made: `muster token` gives none that lasts longer.
constexpr int kTokenDays = 367;
constexpr Duration kSession = Duration::hours(24 * 7);

Json user_json(UserId id, const std::string& name, bool is_admin) {
  return Json::Object{{"id", user_number(id)}, {"username", name},   {"displayName", name},  {"admin", is_admin},
                      {"active", true},       {"remote", false},    {"agentUserGroup", Json()}, {"modifiedAt", Json()},
                      {"lastAuthAt", Json()}};
}

Json caller_json(const ApiPort&, const Caller& caller) {
  return user_json(caller.identity.user, caller.claims.user_name, caller.identity.is_operator);
}

/// The claims that a name with what its client made of a password has; nothing: they do not fit.
std::optional<TokenClaims> log_in(ApiPort& port, const std::string& name, const std::string& password, const TcpEnds& ends) {
  const ApiPort::Facts& facts = port.facts();
  TokenClaims claims;
  if (!facts.open_user.empty() && name == facts.open_user && password.empty()) {
    // The name is known to everybody: it opens to the operator's own processes on this machine alone.
    const auto peer = tcp_peer_user(ends);
    if (!peer || (*peer != facts.operator_user && peer->value() != 0)) return std::nullopt;
    claims.user = facts.operator_user;
    claims.group = facts.operator_group;
    claims.user_name = facts.operator_name;
    return claims;
  }
  const auto user = port.find_user(name);
  if (!user || password.empty()) return std::nullopt;
  for (int day = 0; day < kTokenDays; ++day) {
    const std::string token = user_token(user->first, user->second, name, port.now() + Duration::hours(24 * day), facts.token_key);
    if (!is_same_secret(client_password_hash(token), password) && !is_same_secret(token, password)) continue;
    claims.user = user->first;
    claims.group = user->second;
    claims.user_name = name;
    return claims;
  }
  return std::nullopt;
}

kj::Promise<HttpReply> login(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const std::string name = text_field(*body, "username").value_or("");
  const std::string password = text_field(*body, "password").value_or("");
  return work<TokenClaims>(port, [&port, name, password, ends = request.ends]() -> Result<TokenClaims> {
           if (auto claims = log_in(port, name, password, ends)) return std::move(*claims);
           return fail(ErrorCode::kPermissionDenied, "invalid credentials", "");
         })
      .then([&port](Result<TokenClaims> claims) -> HttpReply {
        if (!claims.has_value()) return error_reply(claims.error());
        const ApiPort::Facts& facts = port.facts();
        const std::string token = user_token(claims->user, claims->group, claims->user_name, port.now() + kSession, facts.token_key);
        const bool is_admin = claims->user.value() == 0 || claims->user == facts.operator_user;
        HttpReply reply = json_reply(Json::Object{{"token", token}, {"user", user_json(claims->user, claims->user_name, is_admin)}});
        reply.cookie = fmt::format("auth={}; Path=/; HttpOnly; SameSite=Strict", token);
        return reply;
      });
}

kj::Promise<HttpReply> who_am_i(ApiPort& port, HttpRequest request) {
  return json_reply(Json::Object{{"user", caller_json(port, request.caller)}});
}

/// Users are the machine's: those that have experiments, and the caller.
kj::Promise<Result<std::vector<Json>>> users(ApiPort& port, const Caller& caller) {
  const UserId operator_user = port.facts().operator_user;
  return look<std::vector<Json>>(port, caller, [caller, operator_user](const ClusterState& state) -> Result<std::vector<Json>> {
    std::map<UserId, std::string> names{{caller.identity.user, caller.claims.user_name}};
    for (const auto& [id, experiment] : state.experiments().experiments()) names.emplace(experiment.spec->user, experiment.spec->user_name);
    std::vector<Json> all;
    for (const auto& [id, name] : names) all.push_back(user_json(id, name, id.value() == 0 || id == operator_user));
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
    std::erase_if(*all, [&](const Json& user) {
      return lower(word(user)).find(name) == std::string::npos || !is_active->value_or(true) || (*is_admin && **is_admin != *user.find("admin")->boolean());
    });
    const Status sorted = sort_list<Json>(request, *all, {sort_key<Json>("SORT_BY_USER_NAME", word), sort_key<Json>("SORT_BY_NAME", word),
                                                          sort_key<Json>("SORT_BY_DISPLAY_NAME", word)});
    if (!sorted.has_value()) return error_reply(sorted.error());
    return list_reply(request, "users", *all, [](const Json& user) { return user; });
  });
}

kj::Promise<HttpReply> find_user(ApiPort& port, HttpRequest request) {
  return users(port, request.caller).then([request](Result<std::vector<Json>> all) -> HttpReply {
    if (!all.has_value()) return error_reply(all.error());
    for (const Json& user : *all) {
      const bool is_it = std::to_string(*user.find("id")->whole()) == request.arguments[0] || *user.find("username")->text() == request.arguments[0];
      if (is_it) return json_reply(Json::Object{{"user", user}});
    }
    return error_reply({ErrorCode::kNotFound, "there is no user " + request.arguments[0], ""});
  });
}

}  // namespace

void add_session_routes(Router& router) {
  router.add_open(Method::kPost, "/api/v1/auth/login", "Log in: a user's name with a token of muster token as password", login);
  router.add(Method::kPost, "/api/v1/auth/logout", "Log out", [](ApiPort&, HttpRequest) -> kj::Promise<HttpReply> { return empty_reply(); });
  router.add(Method::kGet, "/api/v1/auth/user", "Who the caller is", who_am_i);
  router.add(Method::kGet, "/api/v1/me", "Who the caller is", who_am_i);
  router.add(Method::kGet, "/api/v1/users", "Users with experiments", list_users, list_parameters({"sortBy", "orderBy", "name", "active", "admin"}));
  router.add(Method::kGet, "/api/v1/users/setting", "Settings of the web interface", [](ApiPort&, HttpRequest) -> kj::Promise<HttpReply> {
    return json_reply(Json::Object{{"settings", Json::Array{}}});
  });
  router.add(Method::kGet, "/api/v1/users/{id}", "One user", find_user);
  router.add(Method::kGet, "/api/v1/users/{name}/by-username", "One user by name", find_user);
}

}  // namespace muster::api
