// Names and tickets hold all that is needed to check them: the controller keeps no table of
// either.

#include "trials/service_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/hash.h"
#include "trials/determined_text.h"

namespace muster {
namespace {

constexpr std::string_view kPrefix = "/proxy/";
constexpr std::size_t kUuid = 36;
constexpr std::size_t kTail = 24;  // where a uuid's last group begins

/// Tickets are signed by another key than tokens, so that neither passes for the other.
std::string ticket_key(std::string_view key) { return std::string(key) + " service ticket"; }

// Unlike parse_whole this reads hexadecimal too; the text must be a number as a whole.
std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string service_name(std::string_view cluster, JobId job) {
  // People name it by its beginning, so that differs from job to job.
  const std::uint64_t place =
      Hasher().add(cluster).add("service").add(std::uint64_t{job.value()}).digest();
  return uuid_text(place, place << 48 | job.value());
}

std::string service_allocation(std::string_view cluster, JobId job, std::uint32_t run) {
  return fmt::format("{}.{}", service_name(cluster, job), run);
}

std::optional<ServiceRun> parse_service_name(std::string_view cluster, std::string_view name) {
  if (name.size() < kUuid) return std::nullopt;
  const auto job = number(name.substr(kTail, kUuid - kTail), 16);
  // A job's number has 32 bits, the last group 48.
  if (!job || *job == 0 || *job > UINT32_MAX) return std::nullopt;
  ServiceRun run{JobId(static_cast<std::uint32_t>(*job)), 0};
  // A name is accepted only if it is exactly the one we would give: one of another cluster, or
  // guessed, fails in its hash.
  if (name.substr(0, kUuid) != service_name(cluster, run.job)) return std::nullopt;
  const std::string_view rest = name.substr(kUuid);
  if (rest.empty()) return run;
  const auto which = rest.front() == '.' ? number(rest.substr(1), 10) : std::nullopt;
  if (!which || *which == 0 || *which > UINT32_MAX) return std::nullopt;
  run.run = static_cast<std::uint32_t>(*which);
  return run;
}

// The command is the only mark of such a job: in brackets, as no user's command line is.
std::string_view service_command(ServiceKind kind) {
  switch (kind) {
    case ServiceKind::kTensorboard: return "(tensorboard)";
    case ServiceKind::kCheckpoint: return "(checkpoint download)";
    case ServiceKind::kCheckpointFiles: return "(checkpoint rm)";
  }
  return "";
}

std::optional<ServiceKind> service_kind(const JobSpec& spec) {
  for (const ServiceKind kind :
       {ServiceKind::kTensorboard, ServiceKind::kCheckpoint, ServiceKind::kCheckpointFiles}) {
    if (spec.get(JobText::kCommand) == service_command(kind)) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> service_variables(const ServiceContext& place, JobId job,
                                           std::uint32_t run) {
  return {"DET_MASTER=" + place.master, "DET_CLUSTER_ID=" + place.cluster,
          "DET_TASK_ID=" + service_name(place.cluster, job),
          "DET_ALLOCATION_ID=" + service_allocation(place.cluster, job, run),
          "DET_SESSION_TOKEN=" + place.session_token};
}

std::string service_ticket(TokenClaims claims, std::string_view key) {
  // Whatever token asked for it, a ticket holds only while the job lives.
  claims.scope = TokenScope::kOwner;
  return token_text(claims, ticket_key(key));
}

Result<TokenClaims> parse_service_ticket(std::string_view text, std::string_view key,
                                         TimePoint now) {
  auto claims = parse_token(text, ticket_key(key), now);
  if (claims.has_value()) return claims;
  // The message does not say what was wrong with it: a forger would learn from that.
  return fail(ErrorCode::kPermissionDenied, "invalid ticket",
              "get a new address: muster tensorboard open");
}

std::optional<ProxyTarget> parse_proxy_target(std::string_view target) {
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  // '/' and '?' are looked for in that order: a slash among the parameters belongs to them.
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::size_t slash = std::min(target.find('/'), mark);
  ProxyTarget found{
      std::string(target.substr(0, slash)), std::string(target.substr(slash, mark - slash)), {}};
  if (found.service.empty()) return std::nullopt;
  char separator = '?';
  // The ticket is removed, so that the service and its logs never see it; the other parameters
  // keep their order and spelling.
  for (std::string_view rest = target.substr(std::min(mark + 1, target.size())); !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (pair.starts_with(kTicketName) && pair.substr(kTicketName.size()).starts_with('=')) {
      found.ticket = pair.substr(kTicketName.size() + 1);
      continue;
    }
    // A service that was named without a slash gets its parameters at its root.
    if (found.rest.empty()) found.rest = "/";
    found.rest.append(1, separator).append(pair);
    separator = '&';
  }
  return found;
}

std::string interactive_path(std::string_view target) {
  constexpr std::string_view kPage = "/det/interactive/";
  if (!target.starts_with(kPage)) return "";
  target.remove_prefix(kPage.size());
  const std::string_view service = target.substr(0, target.find_first_of("/?"));
  // The result is the target of a redirection: only plain characters, or a client could be sent
  // elsewhere.
  const bool is_plain = std::ranges::all_of(
      service, [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.'; });
  return service.empty() || !is_plain ? "" : proxy_path(service) + "/";
}

std::string proxy_path(std::string_view service) { return fmt::format("{}{}", kPrefix, service); }

}  // namespace muster
