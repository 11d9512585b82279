// muster token: what proves over HTTP who one is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/http_access.h"

namespace muster::cli {
namespace {

constexpr int kDaysMax = 365;

TimePoint in_days(int days) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint::from_seconds(std::chrono::duration_cast<std::chrono::seconds>(now).count()) + Duration::hours(24 * days);
}

}  // namespace

Result<HttpAccess> find_http(Session& session, int days) {
  Query ping;
  ping.kind = QueryKind::kPing;
  const Page found = TRY(session.query(ping));
  if (!found.ping || found.ping->http_address.empty()) {
    return fail(ErrorCode::kFailedPrecondition, "this cluster does not serve HTTP", "set MusterHttp=HOST:PORT in its slurm.conf");
  }
  Query token;
  token.kind = QueryKind::kToken;
  token.until = in_days(days);
  const Page given = TRY(session.query(token));
  return HttpAccess{"http://" + found.ping->http_address, given.bytes};
}

int run_token(const Words& words) {
  int days = 30;
  CLI::App app("Prints a token that proves over HTTP who you are: as a bearer token, or as the password to log in with.", "muster token");
  app.add_option("--days", days, "how long it lasts, whole days in UTC")->capture_default_str()->check(CLI::Range(0, kDaysMax));
  if (const auto code = parse_words(app, words)) return *code;
  const Console console("muster token");
  Session session(console);
  const auto access = find_http(session, days);
  if (!access.has_value()) return console.fail(access.error());
  print(access->token + "\n");
  return 0;
}

}  // namespace muster::cli
