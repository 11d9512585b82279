// Signals by KJ's event port, so that a command waits for them beside its connections.

#include "cli/lib/signals.h"

#include <csignal>

namespace muster::cli {

kj::Promise<int> any_signal(kj::UnixEventPort& port, std::vector<int> signals) {
  kj::Promise<int> first = kj::NEVER_DONE;
  for (const int number : signals) {
    first =
        first.exclusiveJoin(port.onSignal(number).then([number](siginfo_t&&) { return number; }));
  }
  return first;
}

const std::vector<int>& cancelling_signals() {
  // What a terminal, a shell that ends and kill(1) send to end a command.
  static const std::vector<int> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  return kSignals;
}

void capture_signals(const std::vector<int>& signals) {
  kj::UnixEventPort::setReservedSignal(SIGURG);  // else SIGUSR1, which is the tasks'
  for (const int number : signals) kj::UnixEventPort::captureSignal(number);
}

}  // namespace muster::cli
