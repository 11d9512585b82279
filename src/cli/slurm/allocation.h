// Allocations that a client holds: it asks for one, waits for its start, renews its lease, and
// gives it back. srun and salloc do this alike; what they run in it is their own.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "cli/lib/session.h"
#include "cli/lib/signals.h"
#include "cli/slurm/job_request.h"

namespace muster::cli {

/// Makes a call on a connection of its own, and again on a fresh one for as long as none answers: a
/// restart of the controller is only a delay. Requires: `call` may be repeated.
template <class T>
kj::Promise<T> call_until_answered(kj::AsyncIoContext& io, std::string address,
                                   std::function<kj::Promise<T>(ControllerClient&)> call) {
  auto again = [&io, address, call] {
    return io.provider->getTimer().afterDelay(200 * kj::MILLISECONDS).then([&io, address, call] {
      return call_until_answered<T>(io, address, call);
    });
  };
  auto client = ControllerClient::connect(io, address);
  if (!client.has_value()) return again();
  auto promise = call(**client);
  return promise.attach(std::move(client).value())
      .catch_([again](kj::Exception&&) mutable -> kj::Promise<T> { return again(); });
}

/// Waits as the blocking call does, as a promise; asks again while the controller says "still not".
kj::Promise<WaitAnswer> wait_until(kj::AsyncIoContext& io, std::string address, WaitFor wanted);
/// Renews the lease until destroyed.
kj::Promise<void> renew_lease(kj::AsyncIoContext& io, std::string address, JobId job);
/// Sends one request, repeated with one id until it is answered.
kj::Promise<Reply> submit_until_answered(kj::AsyncIoContext& io, std::string address,
                                         Request request);
/// Does the same for as long as somebody would wait: ten seconds, or until a signal that cancels.
/// False: it was not answered. Requires: the signals are captured.
bool submit_when_room(Session& session, Request request);
/// Waits for the job's start and prints it. Nullopt: it never started; the reason was printed,
/// `exit_code` is what to return. Signals SIGINT, SIGTERM, SIGHUP and SIGQUIT cancel the job.
/// Requires: they are captured.
struct StartWait {
  std::optional<JobView> job = {};
  int exit_code = 0;
};
StartWait wait_for_start(const Console& console, Session& session, const SubmitOptions& options,
                         JobId job);

/// True when a command can be started here: a file that may be run, looked for along PATH where the
/// name has no slash.
bool is_program(const std::string& name, const std::string& work_dir);

/// Adds the variables that describe an allocation to what runs in it. Source: salloc(1), OUTPUT
/// ENVIRONMENT VARIABLES. `nodes`: the cluster's nodes by index, as far as --threads-per-core makes
/// it matter what they are; may be empty. `cluster_id`: as tasks have it in MUSTER_CLUSTER_ID;
/// empty: not known.
void add_allocation_variables(Environment& environment, const JobView& job,
                              std::span<const NodeView> nodes, const SubmittingProcess& scene,
                              const std::string& cluster, const std::string& cluster_id);

}  // namespace muster::cli
