// Lets a command wait for signals, as promises.
#pragma once

#include <kj/async-unix.h>

#include <vector>

namespace muster::cli {

/// Fulfilled with the first of these signals; each must have been captured.
kj::Promise<int> any_signal(kj::UnixEventPort& port, std::vector<int> signals);
/// Returns the signals by which people cancel what they wait for.
const std::vector<int>& cancelling_signals();
/// Sets which signals the event loop may wait for: called before it is made.
void capture_signals(const std::vector<int>& signals);

}  // namespace muster::cli
