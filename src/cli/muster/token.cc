// muster token: what proves over HTTP who one is; which there are; taken back.
#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/http_access.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"
#include "text/token_text.h"

namespace muster::cli {
namespace {

// Ten years.
constexpr int kDaysMax = 3650;

TimePoint wall_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint::from_microseconds(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

struct TokenOptions {
  int days = 30;
  bool is_once = false;
  bool is_json = false;
  bool is_all = false;  ///< of the caller's, or of `user`'s
  bool with_revoked = false;
  std::string user;
  std::vector<std::uint64_t> ids;
};

int print_token(const Console& console, Session& session, const TokenOptions& options) {
  const auto access = find_http(session, Duration::hours(24) * options.days);
  if (!access.has_value()) return console.fail(access.error());
  print(access->token + "\n");
  // The server may give less than was asked for.
  const auto end = expiry_in(access->token);
  const Duration left = end ? *end - wall_now() : Duration::infinite();
  // The day's end counts as the day.
  if (left + Duration::hours(24) < Duration::hours(24) * options.days) {
    fmt::print(stderr,
               "muster token: it lasts {} days: no longer than MusterHttpTokenDays lets one\n",
               left.seconds() / 86'400);
  }
  return 0;
}

int print_once(const Console& console, Session& session) {
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto once = web.post("tokens/once", Json::Object{});
  if (!once.has_value()) return console.fail(once.error());
  print(text_of(*once, "password") + "\n");
  return 0;
}

int list(const Console& console, Session& session, const TokenOptions& options) {
  const std::string path =
      fmt::format("tokens?showInactive={}", options.with_revoked ? "true" : "false");
  if (options.is_json) return print_json(console, session, path);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto found = web.get(path);
  if (!found.has_value()) return console.fail(found.error());
  std::vector<Row> rows;
  for (const Json& token : items_of(*found, "tokenInfo")) {
    const Json* revoked = token.find("revoked");
    const bool is_revoked =
        revoked != nullptr && revoked->boolean() != nullptr && *revoked->boolean();
    rows.push_back({number_cell(token.find("id")), text_of(token, "username"),
                    text_of(token, "description"), text_of(token, "createdAt"),
                    text_of(token, "expiry"), is_revoked ? "revoked" : "good"});
  }
  print(table_text({"ID", "USER", "FOR", "MADE", "ENDS", "STATE"}, rows, terminal_paint()));
  return 0;
}

int revoke(const Console& console, Session& session, const TokenOptions& options) {
  // Either ids or all of them, and one of the two.
  if (options.is_all == !options.ids.empty())
    return console.fail(
        Error{ErrorCode::kInvalidArgument, "which tokens?", "name their ids, or --all"});
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  if (options.is_all) {
    // The caller's own, where no user is named.
    const Json body = options.user.empty() ? Json(Json::Object{})
                                           : Json(Json::Object{{"username", options.user}});
    const auto done = web.post("tokens/revoke-all", body);
    return done.has_value() ? 0 : console.fail(done.error());
  }
  for (const std::uint64_t id : options.ids) {
    const auto done = web.post(fmt::format("tokens/{}/revoke", id), Json::Object{});
    if (!done.has_value()) return console.fail(done.error());
  }
  return 0;
}

}  // namespace

Result<HttpAccess> find_http(Session& session, Duration life) {
  Query ping;
  // The address comes from the controller: with port 0 in slurm.conf only it knows which was
  // given.
  ping.kind = QueryKind::kPing;
  const Page found = TRY(session.query(ping));
  // The token comes over the socket of commands, where the kernel says who asks: no password is
  // needed.
  Query token;
  token.kind = QueryKind::kToken;
  token.until = wall_now() + life;
  // Where HTTP is not served the answer says why not.
  const Page given = TRY(session.query(token));
  if (!found.ping || found.ping->http_address.empty())
    return fail(ErrorCode::kUnavailable, "HTTP has only now begun to be served", "try again");
  return HttpAccess{"http://" + found.ping->http_address, given.bytes};
}

int run_token(const Words& words) {
  TokenOptions options;
  CommandParser parser(
      "Prints a token that proves over HTTP who you are: as a bearer token, or as the password to "
      "log in with.",
      "muster token");
  parser
      .add_option("--days", options.days,
                  "how long it lasts, whole days in UTC, as far as MusterHttpTokenDays lets it")
      .shows_default()
      .range(1, kDaysMax);
  parser.add_flag(
      "--once", options.is_once,
      "a password instead that logs in once, from this machine, in the next ten minutes");
  CommandParser& listing =
      parser.add_subcommand("list", "your tokens, or everybody's if you are an operator");
  listing.add_flag("--json", options.is_json, "as JSON");
  listing.add_flag("--revoked", options.with_revoked, "those that were revoked, too");
  CommandParser& revoking = parser.add_subcommand("revoke", "makes tokens void");
  revoking.add_option("ids", options.ids, "their ids, as list shows them");
  revoking.add_flag("--all", options.is_all, "all of yours, those that commands hold included");
  revoking.add_option("--user", options.user, "with --all: of this user, for operators");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster token");
  Session session(console);
  if (listing.is_given()) return list(console, session, options);
  if (revoking.is_given()) return revoke(console, session, options);
  return options.is_once ? print_once(console, session) : print_token(console, session, options);
}

}  // namespace muster::cli
