// What training scripts print, for benchmarks.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "base/rng.h"

namespace muster::bench {

/// A line with its end: progress with numbers, now and then a warning, names of files and layers.
inline std::string line_of(Rng& rng, std::uint64_t rank, std::uint64_t step) {
  switch (rng.below(20)) {
    case 0:
      return fmt::format("WARNING: gradient norm {:.4f} clipped at layer{}.attention.{}\n",
                         rng.unit() * 90, rng.below(96), rng.below(4));
    case 1:
      return fmt::format("INFO: saved /checkpoints/run-{:08x}/step_{:08d}.pt\n",
                         rng.below(1ULL << 32), step);
    case 2:
      return fmt::format("[{:016x}] NCCL INFO Channel {:02d} : {} -> {} via NET/IB\n", rng.next(),
                         rng.below(32), rank, rng.below(64));
    default:
      return fmt::format(
          "2024-05-06 07:{:02d}:{:02d},{:03d} - trainer - INFO - rank {} step {} loss={:.6f} "
          "lr={:.3e} tokens/s={}\n",
          rng.below(60), rng.below(60), rng.below(1000), rank, step, rng.unit() * 4,
          rng.unit() * 1e-3, rng.below(90'000));
  }
}

}  // namespace muster::bench
