// A command's connection to the controller: where it listens, and how long to wait while it
// restarts.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/lib/console.h"
#include "slurm/conf/conf_lines.h"
#include "wire/controller_client.h"

namespace muster::cli {

/// What a client needs from slurm.conf, and nothing more: parsing the whole file would cost every
/// call.
struct ClusterAddress {
  std::string conf;        ///< the file that was read; empty: none was found
  std::string missing;     ///< which file was looked for and why it is none; empty: one was read
  std::string controller;  ///< "unix:PATH" or "HOST:PORT"
  std::string cluster_name = "muster";
  bool kills_on_bad_exit = false;  ///< KillOnBadExit
  Duration kill_wait =
      Duration::seconds(30);  ///< KillWait: between the end's SIGTERM and its SIGKILL
  friend bool operator==(const ClusterAddress&, const ClusterAddress&) = default;
};

/// Finds the keys that clients act on in the text of a slurm.conf and what it includes. Without
/// MusterController= the controller listens on controller.sock beside the file.
ClusterAddress scan_conf(const std::string& path, std::string_view text,
                         const IncludeReader& read_include = nullptr);
/// Returns the address by SLURM_CONF, else MUSTER_CONF (jobs have it for tools that remove all
/// SLURM_*), else /etc/muster/slurm.conf, else /etc/slurm/slurm.conf.
ClusterAddress find_cluster();

/// One connection, made at the first call and again when it is lost. Single-threaded; owns the
/// process's event loop.
class Session {
 public:
  explicit Session(const Console& console);
  ~Session();
  kj::AsyncIoContext& io() { return *io_; }
  const ClusterAddress& cluster() const { return cluster_; }

  /// Submits requests. The same request id goes with every retry, so that a repeat is answered and
  /// not done twice. It waits up to a minute for a controller that restarts. Errors: kUnavailable
  /// "Unable to contact slurm controller (connect failure)".
  Result<std::vector<Reply>> submit(const std::vector<Request>& requests);
  Result<Reply> submit_one(const Request& request);
  /// Sends a query. It waits up to five seconds for a controller that restarts. Pages that came
  /// before a connection was lost come once: they are held back until the answer is whole.
  /// `damage`, where given: set when the controller has sent all that it could read, and some it
  /// could not.
  Result<Page> query(const Query& query, std::optional<Error>* damage = nullptr);
  /// Does the same for jobs, one by one. When a connection is lost midway all of them come again,
  /// after another `begin`.
  Status query_jobs(const Query& query, const std::function<void()>& begin,
                    const std::function<void(JobView&)>& visit);
  /// Returns an experiment's trials. Errors: kNotFound.
  Result<std::vector<TrialView>> trials(ExperimentId experiment);
  /// Returns once a controller of a later epoch than `before` answers, which has read its
  /// configuration anew; until then it may be gone. Errors: kDeadlineExceeded after `limit`,
  /// however the controller keeps silent.
  Status await_epoch_after(Epoch before, Duration limit);
  /// Calls ClientCalls::read_logs. One who waits for lines waits up to a minute for a controller
  /// that restarts.
  Result<LogAnswer> read_logs(const LogQuery& query, Duration wait);
  /// Asks again for as long as the controller answers "still not", also across restarts of it.
  Result<WaitAnswer> wait_for(const WaitFor& wanted);
  /// Returns the connection, for callers with promises of their own. Null: not there; `drop` then
  /// `client` connects anew.
  ControllerClient* client();
  void drop() { client_.reset(); }
  /// Sleeps, while other work of the event loop goes on.
  void sleep(Duration duration);
  /// Lets the process end by any of these signals, while nobody answers, as if it had not captured
  /// it. None: as before the first call.
  void end_by(std::vector<int> signals) { ending_signals_ = std::move(signals); }

 private:
  void pause();
  Result<PingView> ping_within(Duration limit);
  kj::Promise<void> ended_by_signal();
  template <class T>
  Result<T> persist(Duration timeout, const std::function<Result<T>(ControllerClient&)>& call);

  const Console& console_;
  ClusterAddress cluster_;
  std::optional<kj::AsyncIoContext> io_;
  std::unique_ptr<ControllerClient> client_;
  std::vector<int> ending_signals_;
  bool is_cause_told_ = false;  ///< that there is no configuration
};

/// Returns the job that this command runs in, as its environment says; 0: none.
JobId own_job();

/// Returns "Unable to contact slurm controller (connect failure)".
Error no_controller();

}  // namespace muster::cli
