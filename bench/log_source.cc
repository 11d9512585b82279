// The output of a trial of many ranks, on standard output as a launcher gathers it: "[rank=N] "
// before each line.
//   log_source [--mb N] [--ranks N] [--mb-per-minute N]
// A rate of 0: as fast as it is taken. With a rate every line ends with the time at which it was
// written ("at=SECONDS"). Two lines, at a third of the way and near the end, hold a rare word.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/check.h"
#include "bench/log_lines.h"
#include "bench/stopwatch.h"

namespace muster::bench {
namespace {

constexpr std::size_t kBurstBytes = 32 << 10;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    CHECK(size > 0, "nobody takes the output");
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
}

void run(std::uint64_t mb, std::uint64_t ranks, std::uint64_t mb_per_minute) {
  Rng rng(1);
  const std::uint64_t wanted = mb * 1'000'000;
  const std::uint64_t rare[] = {wanted / 3, wanted - wanted / 20};
  std::size_t next_rare = 0;
  std::uint64_t written = 0;
  const Stopwatch watch;
  std::string burst;
  for (std::uint64_t step = 0; written < wanted; ++step) {
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      std::string line = line_of(rng, rank, step);
      if (mb_per_minute > 0) line.insert(line.size() - 1, fmt::format(" at={:.4f}", seconds_now()));
      burst += fmt::format("[rank={}] {}", rank, line);
      written += line.size();
      if (next_rare < 2 && written >= rare[next_rare]) {
        burst += fmt::format("[rank={}] RuntimeError: quetzalcoatlus not found\n", rank);
        ++next_rare;
      }
      if (burst.size() < kBurstBytes) continue;
      write_all(burst);
      burst.clear();
      if (mb_per_minute == 0) continue;
      const double due_ms =
          static_cast<double>(written) * 60 / (static_cast<double>(mb_per_minute) * 1000);
      if (due_ms > watch.ms()) ::usleep(static_cast<useconds_t>((due_ms - watch.ms()) * 1000));
    }
  }
  write_all(burst);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  using muster::bench::option;
  const auto number = [&](const char* name, std::uint64_t otherwise) {
    return option(argc, argv, name, otherwise);
  };
  muster::bench::run(number("--mb", 100), number("--ranks", 64), number("--mb-per-minute", 0));
  return 0;
}
