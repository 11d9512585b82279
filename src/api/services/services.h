// Finds jobs that serve: which job a service's name means, who may use it, and where it serves now.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/api_port.h"
#include "trials/service_text.h"

namespace muster::api {

/// How long a ticket opens a service.
inline constexpr Duration kTicketLife = Duration::hours(24);

/// A job as a service, as the state has it.
struct ServiceJob {
  JobId job;
  std::uint32_t run = 0;  ///< its present one
  std::string name;       ///< of the service
  std::string host;  ///< of the node that it runs on, the first of several; empty: it runs on none
  JobState state = JobState::kPending;
  std::string shown_state;  ///< as squeue has it: "PENDING", "COMPLETING"
  bool is_over = false;
  ExitStatus exit;
  TimePoint submit_time;
  TimePoint start_time;  ///< unset: it has not started
  TimePoint end_time;
  JobSpecRef spec;
  std::string partition;
};
ServiceJob service_of(const ClusterState& state, std::string_view cluster, const Job& job);

/// Returns the job that a service's name, a trial's task or an allocation of either means. Errors:
/// kNotFound; kPermissionDenied: it is another user's, and the caller no operator.
Result<ServiceJob> find_service(const ClusterState& state, std::string_view cluster,
                                std::string_view name, const Caller& caller);
/// Returns what squeue calls it.
std::string described(const ServiceJob& service);

/// Where a request for a service goes.
struct ServiceAddress {
  JobId job;
  std::string host;
  std::uint16_t port = 0;
  std::string secret;
};
/// Returns the address of a service. Errors: kUnavailable: it does not serve yet; kNotFound: it
/// does not any more. Both say why as far as that is known.
Result<ServiceAddress> address_of(const ServiceJob& service, const ServiceBook& book);
bool is_ready(const ServiceJob& service, const ServiceBook& book);

}  // namespace muster::api
