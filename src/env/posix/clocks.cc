// CLOCK_BOOTTIME counts while the machine is suspended; CLOCK_MONOTONIC would not.
#include "env/posix/clocks.h"

#include <ctime>
#include <fstream>
#include <string>

#include "base/hash.h"

namespace muster {
namespace {

std::int64_t read_clock_us(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

Duration steady_time() { return Duration::microseconds(read_clock_us(CLOCK_BOOTTIME)); }
TimePoint steady_now() { return TimePoint::from_microseconds(read_clock_us(CLOCK_BOOTTIME)); }
TimePoint wall_time() { return TimePoint::from_microseconds(read_clock_us(CLOCK_REALTIME)); }

std::uint64_t boot_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot_id;
  std::getline(file, boot_id);
  // Never 0, which stands for no boot.
  return Hasher().add(boot_id).digest() | 1;
}

}  // namespace muster
