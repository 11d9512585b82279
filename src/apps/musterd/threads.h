// One function per thread of the controller: each connects a role to its channels and runs it until
// the process ends.
#pragma once

#include <cstdint>
#include <string>

#include "apps/musterd/cluster_time.h"
#include "apps/musterd/core_port.h"
#include "apps/musterd/handover.h"
#include "apps/musterd/log_line.h"
#include "apps/musterd/messages.h"
#include "engine/recovery.h"
#include "env/posix/crash_record.h"
#include "journal/journal.h"
#include "platform/logs/log_book.h"
#include "slurm/conf/slurm_conf.h"
#include "store/history/history_store.h"
#include "store/logs/log_store.h"
#include "trials/site_defaults.h"

namespace muster {
class PlannerRole;
class SearchRole;
}  // namespace muster

namespace muster::daemon {

struct DaemonOptions {
  std::string state_folder;
  std::string client_socket;
  std::string agent_socket;
  std::string host;
  std::string version;
  std::uint32_t operator_uid = 0;  ///< that the controller runs as
  std::vector<std::uint32_t> operators =
      {};  ///< uids beside root's: that, SlurmUser and MusterOperators
  HttpSettings http;
  SiteDefaults site_defaults;
  std::vector<std::string> own_hosts;  ///< names of the controller's: those of slurm.conf
  std::string cluster_name;
};

/// Returns how many files, and connections, this process may have open.
std::uint64_t open_files_max();

/// What the other threads must know of HTTP as it is served.
struct ServedHttp {
  int listen_fd = -1;      ///< -1: not served
  std::string address;     ///< host:port
  std::string token_key;   ///< signs tokens; empty: not served
  std::string cluster_id;  ///< a uuid, the same for good
  int services_fd = -1;    ///< where what jobs serve is shown
  std::uint16_t services_port = 0;
  std::string warning;  ///< it is served elsewhere than configured; empty: it is not
};
/// Opens the port that is configured, the one of the last time when any will do, and reads the key
/// or makes it. A run that continues another uses the sockets of that one, and where it cannot
/// listen as configured it does so as that one did, else not at all; `warning` says so.
Result<ServedHttp> open_http(const DaemonOptions& options, const Handover& before);
/// Checks that the next run could serve HTTP as `options` say, while this one listens where it
/// does, and could read the key. Changes nothing. Errors: the option, its address and why not; the
/// key's file.
Status check_http(const DaemonOptions& options, const ServedHttp& running);

/// The parts that are recovered before the threads start.
struct Recovered {
  std::unique_ptr<Journal> journal;
  std::unique_ptr<HistoryStore> history;
  std::unique_ptr<LogStore> logs;
  Epoch epoch;
  StartRecovery start;
  std::optional<JournalClock> clock;  ///< of the last batch
  std::shared_ptr<const ClusterConfig> config;
};

/// What the core's thread begins with.
struct CoreBeginning {
  Epoch epoch;
  std::shared_ptr<const ClusterConfig> config;
  CoreStart core;
  ClusterClock clock;
};
void run_core(Channels& channels, Core& core, ChannelCorePort& port, const DaemonOptions& options,
              int listen_fd, CoreBeginning beginning);
void run_gateway(Channels& channels, QueryReplica& replica, const DaemonOptions& options,
                 int listen_fd);
void run_tokens(Channels& channels, TokenStore& store);
void run_metrics(Channels& channels, MetricStore& store);
/// Runs HTTP; `replica` is its own.
void run_http(Channels& channels, QueryReplica& replica, const DaemonOptions& options,
              const ServedHttp& served);
/// Runs one worker of Channels::background.
void run_background(Channels& channels, std::size_t worker);
void run_planner(Channels& channels, PlannerRole& planner, const RecoveryReport& recovered,
                 CrashRecord* crash_record);
void run_forecasts(Channels& channels);
void run_journal(Channels& channels, Journal& journal, const DaemonOptions& options);
/// Does what the journal's writer leaves to another thread: Journal::tidy_beside.
void run_tidier(Channels& channels, const std::function<Status()>& tidy);
/// Returns what stops or restarts the process when history refuses; of a damaged file with the way
/// out.
std::string history_refusal(const Error& error);
void run_history(Channels& channels, HistoryStore& store);
void run_search(Channels& channels, SearchRole& role);
void run_logs(Channels& channels, LogStore& store, LogBook& book);
void run_lookup(Channels& channels);
void run_mail(Channels& channels);

/// Waits until the channel has something, at most `timeout_ms`.
void wait_for(int fd, int timeout_ms);

/// Lets a thread give way to the core and the gateway.
void lower_priority();

}  // namespace muster::daemon
