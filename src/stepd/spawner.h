// A small process that stays alive and forks one supervisor per step, so that a start loads no
// program and copies no memory of the agent's.
#pragma once

#include <functional>
#include <string>

namespace muster {

/// Reads length-prefixed launch messages from `fd` until it is closed; forks for each, and in the
/// child calls `run_step(bytes)`, whose result is the child's exit status. Single-threaded; must
/// not have an event loop.
int run_spawner(int fd, const std::function<int(std::string)>& run_step);

}  // namespace muster
