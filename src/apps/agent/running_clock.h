// Measures how long a piece of work takes, and how long of that this process ran: a process that is
// stopped (SIGSTOP, a frozen cgroup, a suspended machine) does not see its own pause otherwise.
#pragma once

#include <functional>

#include "agent/write_time.h"

namespace muster {

/// Does `work` on this thread. Another one counts meanwhile: a disk that is waited for stops only
/// this thread, a pause of the process both.
ElapsedTime measure_time(const std::function<void()>& work);

}  // namespace muster
