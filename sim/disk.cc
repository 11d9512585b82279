#include "sim/disk.h"

#include "journal/sqlite_journal.h"
#include "store/history/sqlite_history.h"

namespace muster::sim {

using testing::Fault;

void Disk::strike_soon() {
  constexpr Fault kFaults[] = {Fault::kWriteError, Fault::kFull, Fault::kSyncError,
                               Fault::kAnyError, Fault::kPowerLoss};
  disk_.arm(kFaults[rng_.below(std::size(kFaults))], rng_.below(60) + 1);
}

void Disk::close() {
  disk_.kill_process();  // whoever closes properly tidies up
  history_.reset();
  journal_.reset();
}

void Disk::restart() {
  const bool is_powerless = disk_.is_gone() || rng_.chance(0.5);
  close();
  is_powerless ? disk_.lose_power() : disk_.start_process();
  if (rng_.chance(0.1)) strike_soon();
  open();
}

void Disk::put_back(const Image& image) {
  close();
  disk_.start_process();
  disk_.put_back(image);
  open();
}

Status Disk::open_once() {
  journal_ = TRY(open_sqlite_journal({"journal.db"}));
  history_ = TRY(open_sqlite_history("history.db"));
  return {};
}

/// As wait_for_room of apps/musterd/main.cc.
void Disk::open() {
  for (int attempt = 0;; ++attempt) {
    CHECK(attempt < 10, "the stores do not open on a disk that works");
    const Status opened = open_once();
    if (opened.has_value()) return;
    CHECK(opened.error().code == ErrorCode::kUnavailable && disk_.has_struck(), "{}",
          opened.error().text());
    history_.reset();
    journal_.reset();
    if (disk_.is_gone()) disk_.lose_power();
  }
}

}  // namespace muster::sim
