// Signals that a command waits for, as promises.
#pragma once

#include <kj/async-unix.h>

#include <vector>

namespace muster::cli {

/// The first of these signals; each must have been captured.
kj::Promise<int> any_signal(kj::UnixEventPort& port, std::vector<int> signals);
/// By which people cancel what they wait for.
const std::vector<int>& cancelling_signals();
/// To be called before the event loop is made: which signals it may wait for.
void capture_signals(const std::vector<int>& signals);

}  // namespace muster::cli
