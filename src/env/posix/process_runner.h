// Starts processes: this is the one file that forks and executes for the daemons' tasks. A task
// inherits nothing of ours: not our signals, mask, limits, umask, groups, descriptors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bitmap.h"
#include "base/result.h"
#include "env/posix/mount_view.h"

namespace muster {

/// The user that a process will have.
struct ProcessUser {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string name;  ///< for supplementary groups; empty: none
};

struct ProcessSpec {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  ///< NAME=VALUE
  /// Called in the child with its pid before the environment is used, for variables that hold the
  /// pid.
  std::function<void(std::vector<std::string>&, pid_t)> finish_environment;
  std::string work_dir;  ///< entered as the user; /tmp with a message when that fails
  std::uint32_t umask = 022;
  std::string limits;  ///< "NOFILE=1024,CORE=0": soft limits, as JobText::kRlimits; never above our
                       ///< own hard ones
  ProcessUser user;
  int standard_in = -1;  ///< -1: /dev/null
  int standard_out = -1;
  int standard_error = -1;
  std::string enter_file;      ///< cgroup.procs of its cgroup; empty: none
  Bitmap cpus;                 ///< real CPUs it may run on; empty: as we may
  MountView view;              ///< empty: the host's
  bool is_own_session = true;  ///< setsid
};

/// Starts a process and returns its pid. `exec_error`, where given: errno when it was the program
/// that could not be executed, else 0. Errors: kNotFound or kInvalidArgument when the program
/// cannot be executed (the message names it and the reason); as enter_mount_view; kUnavailable when
/// the host refuses a process.
Result<pid_t> start_process(const ProcessSpec& spec, int* exec_error = nullptr);

/// Replaces this process by a fresh run of its own program with the same arguments. Returns only
/// when that fails.
Error restart_self(char** arguments);

/// Does `work` with the user's rights, where this process is root; `work` returns whether it was
/// done, and errno says why not. Returns that errno, or 0. Errors: kUnavailable when the rights
/// cannot be had. Requires: no other thread runs.
Result<int> act_as(const ProcessUser& user, const std::function<bool()>& work);

/// Opens a file with the user's rights; a new one gets `mode` as it is. It never waits for a
/// partner and accepts no terminal. Errors: kPermissionDenied, kNotFound, kUnavailable with the
/// path and the reason; kFailedPrecondition: a FIFO that nobody has open at its other end.
Result<int> open_as(const ProcessUser& user, const std::string& path, int flags, unsigned mode);

/// Makes a folder and all missing ones above it, with the user's rights and `mode` as it is.
/// Errors: as open_as.
Status make_folders_as(const ProcessUser& user, const std::string& path, unsigned mode = 0755);

/// Returns the soft limits of this process as text for ProcessSpec::limits.
std::string current_limits();

}  // namespace muster
