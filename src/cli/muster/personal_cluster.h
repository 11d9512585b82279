// A whole cluster on one machine, in one folder: its configuration, its daemons and how to end
// them.
//
// DIR/slurm.conf  DIR/hosts  DIR/controller.sock  DIR/agents.sock  DIR/state/  DIR/spool/NODE/
// DIR/log/NAME.log DIR/controller.pid  DIR/agent-NODE.pid
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::cli {

struct PersonalClusterOptions {
  std::string folder;
  std::uint32_t nodes = 1;
  std::uint32_t gpus = 0;        ///< pretended, per node
  std::string gpu_type;          ///< "h100"; empty: none
  std::uint32_t cpus = 0;        ///< per node; 0: as many as this machine has
  std::uint64_t memory_mib = 0;  ///< per node; 0: an equal share of this machine's
};

class PersonalCluster {
 public:
  /// Names the cluster's folder. Requires: `folder` is absolute, without links and without a slash
  /// at its end.
  explicit PersonalCluster(std::string folder) : folder_(std::move(folder)) {}

  /// Writes slurm.conf and hosts unless they are there. Errors: kUnavailable.
  Status configure(const PersonalClusterOptions& options);
  /// Starts whatever is not running and waits until every node has registered. `say` gets lines of
  /// progress.
  Status start(const std::function<void(const std::string&)>& say);
  /// Ends the jobs, unless `keeps_jobs`, then the daemons. Nothing of the cluster runs afterwards
  /// but kept jobs that had begun; the next start continues them, and those that waited. Errors:
  /// kPermissionDenied, kFailedPrecondition: its daemons are another user's, or were not started
  /// from here; nothing was ended then. kUnavailable: steps run on, because the controller or a
  /// node's agent stood still.
  Status stop(const std::function<void(const std::string&)>& say, bool keeps_jobs = false);
  /// Returns node names, from the configuration.
  Result<std::vector<std::string>> nodes() const;
  bool is_configured() const;
  /// True when its nodes are those that these options would make.
  bool has_nodes_of(const PersonalClusterOptions& options) const;
  const std::string& folder() const { return folder_; }
  std::string conf() const { return folder_ + "/slurm.conf"; }

 private:
  struct Daemon {
    std::string name;  ///< "controller" or "agent-NODE"
    std::vector<std::string> arguments;
  };
  Result<std::vector<Daemon>> daemons() const;
  std::vector<Daemon> started_daemons() const;
  /// Returns the daemon's pid; zero: it does not run.
  pid_t running(const Daemon& daemon) const;
  Status start_daemon(const Daemon& daemon) const;
  bool stand(const std::vector<Daemon>& all) const;
  /// Returns why a start is given up, with the last line that the daemon wrote.
  Status ended_again(const Daemon& daemon) const;
  bool answers() const;
  std::vector<pid_t> supervisors() const;
  Status check_ours(const std::vector<Daemon>& all) const;
  void end_jobs(const std::function<void(const std::string&)>& say) const;

  std::string folder_;
};

/// Runs `muster up`, `down`, `env`, `check`: words after the subcommand. Returns the exit code.
int run_up(const std::vector<std::string>& words);
int run_down(const std::vector<std::string>& words);
int run_env(const std::vector<std::string>& words);
int run_check(const std::vector<std::string>& words);

}  // namespace muster::cli
