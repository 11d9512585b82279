// Finds the processes that have a mark in their environment, and what they started. So a step is
// found that no cgroup holds and whose supervisor is gone.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// Returns every living process that was started with `mark` ("NAME=VALUE") in its environment,
/// with its descendants and the others of their sessions; never this process nor its own session. A
/// process that has cleared its environment and left both its session and its parent is not found.
/// Cost: reads /proc once.
std::vector<pid_t> marked_processes(const std::string& mark);

/// Returns what follows `prefix` ("NAME=…") in the environments of living processes, and their
/// users: anybody may write a mark into the environment of his own. Cost: reads /proc once.
std::map<std::string, std::set<uid_t>> marks_with(const std::string& prefix);

/// Sends SIGKILL to all of them, stopped first so that none can fork away. False: some are still
/// there, to be tried again.
bool kill_marked(const std::string& mark);

}  // namespace muster
