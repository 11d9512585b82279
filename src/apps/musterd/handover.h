// Passes what the next run needs from one run to the next, which it becomes by executing itself.
#pragma once

#include <vector>

#include "base/time.h"
#include "env/posix/conf_files.h"
#include "model/ids.h"

namespace muster::daemon {

/// What the run before handed over; after a start by hand nothing.
struct Handover {
  bool goes_on = false;            ///< true: this process executed itself
  bool is_clock_believed = false;  ///< the wall clock has jumped, and is followed
  Epoch lead_beyond;               ///< the lead is acquired beyond this
  ConfTexts conf;                  ///< the configuration; without any its files are read
  std::vector<int> sockets;        ///< HTTP's, which listen: see HandedSockets
};
/// Reads the handover and removes it from the environment. Requires: arguments are those of main();
/// it is called once, before there are threads.
Handover consume_handover(char** arguments);

/// Hands over the configuration of the next run, unless another is given before it begins: what
/// this run has read, or what `scontrol reconfigure` has found good. Called by any thread.
void hand_over_conf(ConfTexts texts);
/// Hands over the sockets of the next run, -1 for none. Requires: they are open as long as this
/// process runs.
void hand_over_sockets(std::vector<int> sockets);

/// Starts the process anew from what is stored, under the configuration handed over: after the disk
/// refused a batch, nothing in memory may be trusted.
[[noreturn]] void restart_process(const std::string& why);
/// Ends the process so that nothing starts it again by itself: another controller leads, or nothing
/// may be done any more.
[[noreturn]] void stop_process(const std::string& why);
/// Restarts as restart_process does, to follow a jump of the wall clock that is believed.
[[noreturn]] void restart_for_clock(Duration jump);
/// Restarts as restart_process does, under an epoch beyond one that a node has met.
[[noreturn]] void restart_beyond(Epoch epoch);

}  // namespace muster::daemon
