// What the node must not forget until the controller has it: which steps were launched and how they
// ended. There is a log per generation; a supervisor writes its step's end to the log under which
// it was launched.
//
// steps.N.log: log records (records/log_record.h), each an encoded message: LaunchStep with its
// id, cluster, epoch, node name and launch key alone (launched), StepDone (ended; written by
// supervisors), AcknowledgeStep (may be forgotten), and RegisterNode (which cluster the node serves
// from here on, and the highest job that it was ordered to start there): first in each log.
// agent.lock is held by the agent that uses the folder.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/agent_message.h"

namespace muster {

/// Life cycle of a step: launched() ──its supervisor writes its end; find_end()──▶ acknowledged()
/// ──▶ its log is deleted once no step in it is open. Lifetime: one agent holds the folder's lock
/// as long as the object lives. Thread: one at a time; writing calls block for the disk. Errors of
/// all calls that write: as disk_error (env/), kResourceExhausted for a full disk among them;
/// kUnavailable when the log was removed.
class Spool {
 public:
  /// A step that was launched and not acknowledged when the spool was opened.
  struct Known {
    StepId id;
    std::string node_name;
    std::uint64_t launch_key = 0;  ///< of its launch
    std::optional<StepDone> done;  ///< its end, if its supervisor wrote it
  };
  /// Which cluster the node served last, as the spool knows it.
  struct Identity {
    ClusterIdentity cluster;
    JobId job_floor;
    /// Launches may be missing from the logs, and nobody has been asked for them since.
    bool has_lost_records = false;
  };
  /// Opens the folder, making it when needed, and reads what earlier agents and supervisors left.
  /// `known`: open steps are added. Errors: kAlreadyExists while another agent uses it;
  /// kFailedPrecondition when it is another user's, or open to others; kUnavailable. A damaged
  /// record is no error: it shows as Identity::has_lost_records.
  static Result<Spool> open(const std::string& folder, std::vector<Known>& known);
  Spool(Spool&& other) noexcept;
  ~Spool();

  /// Records the launches in one write, durable on return: a restarted agent finds the steps and
  /// does not launch them again. To be called before their supervisors start. On an error nothing
  /// may be launched; the steps are open all the same until acknowledged(), and a restart may find
  /// them still. Begins a new log first when this one is longer than 8 MiB.
  Status launched(const std::vector<const LaunchStep*>& steps);
  const Identity& identity() const { return identity_; }
  /// Records that the node serves that cluster from now on; open steps of another one are dropped.
  /// Durable on return. On an error the identity is what it was, but the other cluster's steps are
  /// open no longer.
  Status adopt(const Identity& identity);
  /// Makes a harmless write that shows whether launches can be recorded.
  Status probe();
  /// Records that the controller has the step's end, so the step is not open any more. Durable with
  /// the next call that is; a crash before that makes the step known again, which is harmless. An
  /// unknown step is ignored.
  void acknowledged(const StepId& step);
  /// True when any step of the same job and attempt is open.
  bool has_steps_of(const StepId& step) const;
  /// Returns the end that the step's supervisor wrote. Nullopt: it has written none yet, or the
  /// step is not open. Cost: reads what was added to the step's log since the last call.
  std::optional<StepDone> find_end(const StepId& step);
  /// Returns the log to which supervisors that are launched now write their ends. It changes with
  /// launched().
  const std::string& log_path() const { return path_; }

 private:
  explicit Spool(std::string folder) : folder_(std::move(folder)) {}
  Status lock();
  void read_log(std::uint64_t generation, std::map<StepId, Known>& steps);
  std::string identity_record() const;
  Status sync();
  Status open_log(std::uint64_t generation);
  Status append(const std::string& bytes);
  void read_new(const std::string& path, std::size_t& offset);
  void rotate();
  std::uint64_t all_damage() const;

  std::string folder_;
  std::string path_;
  int fd_ = -1;
  int lock_fd_ = -1;
  Identity identity_;
  std::uint64_t generation_ = 0;
  std::size_t size_ = 0;
  /// How many bytes of each log could not be read when it was opened.
  std::map<std::uint64_t, std::uint64_t> damage_;
  std::uint64_t known_damage_ = 0;  ///< of them, what the controller has been asked about
  struct LaunchRef {
    std::uint64_t generation = 0;  ///< of its log
    std::uint64_t launch_key = 0;
  };
  std::map<StepId, LaunchRef> open_;              ///< unacknowledged steps
  std::map<std::uint64_t, std::size_t> offsets_;  ///< how far each log has been read for ends
  std::map<StepId, StepDone> ends_;
};

}  // namespace muster
