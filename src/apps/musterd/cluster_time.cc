// The core's thread sets the offset and all threads read it: one atomic number, so that nobody
// waits for the time.
#include "apps/musterd/cluster_time.h"

#include <atomic>

#include "env/posix/clocks.h"

namespace muster::daemon {
namespace {

std::atomic<std::int64_t> g_offset_us{0};

}  // namespace

ClockReading read_clocks() { return {steady_time(), wall_time()}; }
TimePoint cluster_now() {
  // Relaxed: nobody infers anything else from a new offset.
  return steady_now() + Duration::microseconds(g_offset_us.load(std::memory_order_relaxed));
}
void set_cluster_offset(Duration offset) {
  g_offset_us.store(offset.microseconds(), std::memory_order_relaxed);
}

}  // namespace muster::daemon
