// Reads what the kernel says of processes, as small text files. Source: proc(5).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace muster {

/// Returns the whole of a file of the kernel's; empty where it cannot be read.
std::string read_small(const std::string& path);

/// The fields of /proc/PID/stat that are used.
struct ProcessStat {
  pid_t parent = 0;
  pid_t session = 0;
};
/// Returns the process's fields. Nullopt: there is no such process, or it has ended and waits to be
/// reaped: nothing runs in it.
std::optional<ProcessStat> stat_of(pid_t pid);
/// Returns the process's real user, whatever rights it has. Nullopt: there is no such process.
std::optional<uid_t> user_of(pid_t pid);

}  // namespace muster
