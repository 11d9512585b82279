// Holds all processes of one step, however they try to get away: in a cgroup where we may make one,
// else as the tree below us.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

class ProcessCgroup {
 public:
  virtual ~ProcessCgroup() = default;
  /// Returns the file into which a child writes its own pid before it becomes a task; empty:
  /// nothing to do.
  virtual std::string enter_file() const = 0;
  /// Returns every process in it now.
  virtual std::vector<pid_t> processes() const = 0;
  /// Sends SIGKILL to all at once, also to those that stop, fork or ignore.
  virtual void kill_all() = 0;
  /// Stops all of it without a signal that a process could see, or lets it continue.
  virtual void freeze(bool is_frozen) = 0;
  /// Removes the cgroup. Requires: no process in it.
  virtual void remove() = 0;
};

/// What this host offers, found out once: the v2 hierarchy, the v1 freezer, or neither.
struct CgroupHost {
  enum class Kind { kCgroupV2, kFreezerV1, kDescendants };
  Kind kind = Kind::kDescendants;
  std::string root;  ///< the folder in which ours stands, e.g. /sys/fs/cgroup/freezer/muster
};
/// Finds the host's cgroups. `spool`: the node's spool folder. It makes the parent cgroup this
/// node's own, so that clusters of one name on one machine never mistake each other's steps for
/// theirs.
CgroupHost find_cgroup_host(const std::string& cluster_name, const std::string& spool);
/// Removes the parent cgroup if nothing is in it.
void release_cgroup_host(const CgroupHost& host);

/// Makes the cgroup `name` ("NODE/JOB.ATTEMPT.STEP"), or uses descendants when the host refuses.
std::unique_ptr<ProcessCgroup> make_cgroup(const CgroupHost& host, const std::string& name);

}  // namespace muster
