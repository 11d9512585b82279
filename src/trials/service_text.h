// Services: what a job offers over HTTP, reached through the controller. This file has their names,
// the tickets that open one of them to a browser, and the variables of such a job. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job_spec.h"
#include "text/token_text.h"

namespace muster {

/// Returns a job's name as a service: a uuid, as Determined names tasks that are no trials.
/// `cluster`: a uuid.
std::string service_name(std::string_view cluster, JobId job);
/// Returns "<service>.<run>", runs from 1.
std::string service_allocation(std::string_view cluster, JobId job, std::uint32_t run);

struct ServiceRun {
  JobId job;
  std::uint32_t run = 0;  ///< from 1; 0: the name says none
};
/// Reads a name. Nullopt: it is no name of this cluster's.
std::optional<ServiceRun> parse_service_name(std::string_view cluster, std::string_view name);

/// What a job was made for: to show event files, to send a checkpoint, to remove files of
/// checkpoints (which serves nothing).
enum class ServiceKind { kTensorboard, kCheckpoint, kCheckpointFiles };
/// Returns what such a job's JobText::kCommand says.
std::string_view service_command(ServiceKind kind);
/// Returns a job's kind. Nullopt: it was submitted for something else.
std::optional<ServiceKind> service_kind(const JobSpec& spec);

/// What a job needs, as NAME=VALUE, to announce where it serves. `master`: "http://host:port".
struct ServiceContext {
  std::string cluster;
  std::string master;
  std::string session_token;
};
std::vector<std::string> service_variables(const ServiceContext& place, JobId job,
                                           std::uint32_t run);

/// Returns a ticket that opens one job's service to one user until it ends, and nothing else: it is
/// no token of the API. It is for addresses that a browser is given. Requires: `claims` name user,
/// job and expiry.
std::string service_ticket(TokenClaims claims, std::string_view key);
/// Returns the claims of a ticket. Errors: kPermissionDenied.
Result<TokenClaims> parse_service_ticket(std::string_view text, std::string_view key,
                                         TimePoint now);

/// A target below /proxy/: "/proxy/<service>/<rest>".
struct ProxyTarget {
  std::string service;
  std::string rest;    ///< as the service sees it: "/..." with the parameters, but for the ticket;
                       ///< empty: no slash follows the service
  std::string ticket;  ///< of the parameter; empty: none
};
/// Reads a target. Nullopt: it lies elsewhere.
std::optional<ProxyTarget> parse_proxy_target(std::string_view target);
/// Returns "/proxy/<service>".
std::string proxy_path(std::string_view service);

/// Returns the path of a service to which Determined's clients send a browser,
/// "/det/interactive/<service>/..."; empty: it is another target.
std::string interactive_path(std::string_view target);

/// The name of the cookie and of the parameter that hold a ticket.
inline constexpr std::string_view kTicketName = "muster_ticket";
/// The header in which a service finds the secret that it gave the controller.
inline constexpr std::string_view kSecretHeader = "Muster-Service-Secret";

}  // namespace muster
