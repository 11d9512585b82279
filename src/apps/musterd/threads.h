// One function per thread of the controller: wires a role to its channels and runs it until the process ends.
#pragma once

#include <string>

#include "apps/musterd/core_port.h"
#include "apps/musterd/messages.h"
#include "codec/slurm_conf.h"
#include "controller/logs/log_book.h"
#include "journal/sqlite_journal.h"
#include "store/history_store.h"
#include "store/log_store.h"

namespace muster::daemon {

struct DaemonOptions {
  std::string state_folder;
  std::string client_socket;
  std::string agent_socket;
  std::string host;
  std::string version;
  std::uint32_t operator_uid = 0;
  std::string http_listen;      ///< host:port, port 0: one that is free; empty: HTTP is not served
  std::string http_open_user;   ///< logs the operator in without a password, from his own processes here; empty: nobody
  std::string cluster_name;
};

/// HTTP as it is served: what the other threads must know of it.
struct HttpPlace {
  int listen_fd = -1;       ///< -1: not served
  std::string address;      ///< host:port
  std::string token_key;    ///< signs tokens; empty: not served
  std::string cluster_id;   ///< a uuid, the same for good
};
/// Opens the port that is configured, the one of the last time when any will do, and reads the key or makes it.
Result<HttpPlace> open_http(const DaemonOptions& options);

/// The parts that are recovered before the threads start.
struct Recovered {
  std::unique_ptr<SqliteJournal> journal;
  std::unique_ptr<HistoryStore> history;
  std::unique_ptr<LogStore> logs;
  Epoch epoch;
  std::shared_ptr<const ClusterConfig> config;
  std::vector<HistoryRecord> unprojected;  ///< ends that the journal has and history has not
};

/// Ends of attempts and steps seen while replaying, for history.
class ReplayRecorder final : public ApplyObserver {
 public:
  ReplayRecorder(const ClusterState& state, Seq watermark) : state_(state), watermark_(watermark) {}
  void attempt_ended(const Job& job, TimePoint now) override;
  void step_ended(const Job& job, const StepState& step, TimePoint now) override;
  std::vector<HistoryRecord> take() { return std::move(records_); }

 private:
  const ClusterState& state_;
  Seq watermark_;
  std::vector<HistoryRecord> records_;
};

void run_core(Channels& channels, Core& core, ChannelCorePort& port, const DaemonOptions& options, int listen_fd, Epoch epoch,
              std::shared_ptr<const ClusterConfig> config);
void run_gateway(Channels& channels, QueryReplica& replica, const DaemonOptions& options, int listen_fd, const std::string& token_key);
void run_metrics(Channels& channels, MetricStore& store);
void run_http(Channels& channels, const DaemonOptions& options, const HttpPlace& place);
void run_labour(Channel<Labour>& labour);
void run_planner(Channels& channels, PlannerRole& planner);
void run_journal(Channels& channels, SqliteJournal& journal, const DaemonOptions& options);
void run_history(Channels& channels, HistoryStore& store);
void run_search(Channels& channels, SearchRole& role);
void run_logs(Channels& channels, LogStore& store, LogBook& book);
void run_lookup(Channels& channels);
void run_mail(Channels& channels);

/// The wall clock. Time points that reach the state come from here alone.
TimePoint wall_clock();

/// Waits until the channel has something, at most `timeout_ms`.
void wait_for(int fd, int timeout_ms);

/// Starts the process anew from what is stored: after the disk refused a batch, nothing in memory may be trusted.
[[noreturn]] void restart_process(const std::string& why);

/// Lets a thread give way to the core and the gateway.
void lower_priority();

}  // namespace muster::daemon
