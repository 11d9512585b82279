// Services by name; what a running job says of itself; tickets for browsers.
// A service is a job of its owner's that has said where it listens. Who may use it is who may
// control the job; where it runs is what the state says of the job.
#include "api/services/services.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/job_access.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "api/services/proxy.h"
#include "trials/determined_text.h"
#include "workload/requests/job_requests.h"

namespace muster::api {
namespace {

/// Ports below are the system's, where a user's job cannot listen.
constexpr std::int64_t kPortMin = 1024;
constexpr std::size_t kSecretMax = 256;
constexpr std::size_t kFailureMax = 2048;

const Job* job_named(const ClusterState& state, std::string_view cluster, std::string_view name) {
  // Services are named by their job, or by their trial.
  if (const auto run = parse_service_name(cluster, name)) return state.jobs().find(run->job);
  const auto run = parse_task_name(name);
  const Trial* trial = run ? state.experiments().find(run->trial) : nullptr;
  return trial == nullptr ? nullptr : state.jobs().find(trial->job);
}

// A job that left the queue cannot be told from one that never was.
Error no_service(std::string_view name) {
  return Error{ErrorCode::kNotFound, fmt::format("there is no service {}", name),
               "its job has ended and left the queue, or never was"};
}

/// What a shell answers when a program is not there.
constexpr int kNoProgram = 127;

/// After its end.
std::string way_out(const ServiceJob& service) {
  if (service.state != JobState::kFailed) return "start another";
  return service.exit.code() == kNoProgram
             ? "its PATH has no python3"
             : fmt::format("its exit code is {}", service.exit.code());
}

/// A word of a header, as a service makes it.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Result<Announcement> announcement_of(const Json& body, const ApiPort::ServerSettings& details,
                                     TimePoint now) {
  Announcement said;
  said.heard = now;
  said.failure = text_field(body, "failure").value_or("").substr(0, kFailureMax);
  // Cut: a failure is one line of a table.
  said.secret = text_field(body, "secret").value_or("");
  if (said.secret.size() > kSecretMax || !is_plain(said.secret)) {
    return fail(wrong(fmt::format("secret: at most {} visible characters", kSecretMax)));
  }
  const std::int64_t port = whole_field(body, "port").value_or(0);
  if (port != 0 && (port < kPortMin || port > UINT16_MAX))
    return fail(wrong(fmt::format("port: {} is none from {} to 65535", port, kPortMin)));
  // A service must not make the controller call itself.
  if (port != 0 &&
      (details.address.ends_with(fmt::format(":{}", port)) || port == details.services_port))
    return fail(wrong(fmt::format("port: {} is the controller's own", port)));
  said.port = static_cast<std::uint16_t>(port);
  return said;
}

/// A run's allocation says where it serves. The node is the one that it runs on, whatever
/// `proxyAddress` says.
kj::Promise<HttpReply> announce(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  auto said = announcement_of(*body, port.settings(), port.now());
  if (!said.has_value()) return error_reply(said.error());
  const TokenClaims& claims = request.caller.claims;
  const std::string& name = request.arguments[0];
  const auto service = parse_service_name(port.settings().cluster_id, name);
  const auto trial = service ? std::nullopt : parse_task_name(name);
  const bool is_owner = claims.scope == TokenScope::kOwner;  // its token names the job and no run
  const bool is_service =
      service && service->job == claims.job && (is_owner || service->run == claims.run);
  const bool is_trial = trial && trial->trial == claims.trial && trial->run == claims.run;
  const bool is_own = claims.scope != TokenScope::kUser && (is_service || (is_trial && !is_owner));
  // Only a run may say where it serves.
  if (!is_own)
    return error_reply({ErrorCode::kPermissionDenied,
                        fmt::format("this token is not of allocation {}", name),
                        "DET_SESSION_TOKEN is"});
  said->run = service ? service->run : trial->run;
  // The token must still be of a run that goes: tokens outlive their runs by moments.
  return port.look(request.caller, [](const ClusterState&) {})
      .then([&port, job = claims.job,
             said = std::move(said).value()](Status alive) mutable -> HttpReply {
        if (!alive.has_value()) return error_reply(alive.error());
        // Determined's own launcher tells its address and no port: there is nothing to reach then.
        if (said.port != 0 || !said.failure.empty()) port.services().announce(job, std::move(said));
        return empty_reply();
      });
}

kj::Promise<HttpReply> give_ticket(ApiPort& port, HttpRequest request) {
  const std::string cluster = port.settings().cluster_id;
  return look<ServiceJob>(
             port, request.caller,
             [cluster, name = request.arguments[0], caller = request.caller](
                 const ClusterState& state) { return find_service(state, cluster, name, caller); })
      .then([&port, caller = request.caller](Result<ServiceJob> service) -> HttpReply {
        if (!service.has_value()) return error_reply(service.error());
        TokenClaims claims = caller.claims;
        claims.job = service->job;
        claims.expiry = port.now() + kTicketLife;
        const std::string ticket = service_ticket(claims, port.settings().token_key);
        const std::string path =
            fmt::format("{}/?{}={}", proxy_path(service->name), kTicketName, ticket);
        return json_reply(Json::Object{
            {"ticket", ticket},
            {"path", path},
            {"url", services_origin(port.settings(), port.settings().address) + path}});
      });
}

}  // namespace

ServiceJob service_of(const ClusterState& state, std::string_view cluster, const Job& job) {
  ServiceJob service;
  service.job = job.id;
  service.run = run_number(job);
  service.name = service_name(cluster, job.id);
  // A job without nodes is nowhere.
  if (job.holds_resources() && job.run != nullptr) {
    const NodeConfig& node = state.nodes().at(job.run->allocation->nodes.front().node).config;
    service.host = node.address.empty() ? node.name : node.address;
  }
  service.state = job.state;
  service.shown_state = shown_state_name(job.state, job.flags);
  service.is_over = job.is_over();
  service.exit = job.exit;
  service.submit_time = job.submit_time;
  service.start_time = job.start_time;
  service.end_time = job.end_time;
  service.spec = job.spec;
  service.partition =
      state
          .partition(job.holds_resources() || job.is_over() ? job.partition
                                                            : job.partitions.front())
          .name;
  return service;
}

Result<ServiceJob> find_service(const ClusterState& state, std::string_view cluster,
                                std::string_view name, const Caller& caller) {
  const Job* job = job_named(state, cluster, name);
  if (job == nullptr) return fail(no_service(name));
  const bool may_use =
      caller.claims.scope != TokenScope::kTask && access::may_control(*job, caller.identity);
  // A task may not use services: its token is of itself.
  if (!may_use) {
    return fail(ErrorCode::kPermissionDenied,
                fmt::format("service {} is {}'s", name, job->spec->get(JobText::kUserName)),
                "its owner and operators may use it");
  }
  ServiceJob service = service_of(state, cluster, *job);
  service.name = name;
  return service;
}

std::string described(const ServiceJob& service) {
  return fmt::format("job {} ({})", service.job.value(), service.spec->name());
}

Result<ServiceAddress> address_of(const ServiceJob& service, const ServiceBook& book) {
  const Announcement* said = book.find(service.job, service.run);
  if (said != nullptr && !said->failure.empty()) {
    return fail(ErrorCode::kFailedPrecondition, ErrorCause::kCannotServe,
                fmt::format("{} cannot serve", described(service)), said->failure);
  }
  if (service.is_over || is_finished(service.state)) {
    return fail(ErrorCode::kNotFound,
                fmt::format("{} has ended: {}", described(service), service.shown_state),
                way_out(service));
  }
  // An announcement of an earlier run is not found by this one's number.
  if (said != nullptr && !service.host.empty())
    return ServiceAddress{service.job, service.host, said->port, said->secret};
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("{} does not serve yet: it is {}", described(service), service.shown_state),
      service.state == JobState::kPending
          ? fmt::format("muster why {} says why", service.job.value())
          : "");
}

bool is_ready(const ServiceJob& service, const ServiceBook& book) {
  return address_of(service, book).has_value();
}

void add_service_routes(Router& router) {
  router.add_for_tasks(Method::kPost, "/api/v1/allocations/{allocation}/proxy_address",
                       "Say where a run serves: its port and the secret that it asks for",
                       announce);
  router.add(Method::kPost, "/api/v1/services/{service}/ticket",
             "An address that opens a service in a browser", give_ticket);
}

}  // namespace muster::api
