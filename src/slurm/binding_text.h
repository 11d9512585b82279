// --cpu-bind and --gpu-bind: which CPUs and GPUs the single tasks of a step may use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bitmap.h"
#include "base/result.h"

namespace muster {

enum class CpuBindKind : std::uint8_t {
  kDefault = 0,  ///< nothing said
  kNone = 1,
  kRank = 2,  ///< one after the other, by local task number
  kList = 3,  ///< map_cpu and mask_cpu
  kThreads = 4,
  kCores = 5,
  kSockets = 6,
};

/// What --cpu-bind asks for.
struct CpuBind {
  CpuBindKind kind = CpuBindKind::kDefault;
  bool is_verbose = false;  ///< each task says on its standard error where it runs
  std::vector<Bitmap> masks =
      {};  ///< kList: by local task number, from the beginning again when there are more tasks
  friend bool operator==(const CpuBind&, const CpuBind&) = default;
};

/// Reads [{quiet|verbose},]TYPE: none or no, rank, threads, cores, sockets, map_cpu:LIST,
/// mask_cpu:LIST. A list has numbers (decimal, or hexadecimal after 0x) or hexadecimal masks with
/// commas between them; "VALUE*TIMES" repeats one. Errors: kUnimplemented for types that srun(1)
/// knows and we do not; kInvalidArgument for what is none. Source: srun(1) --cpu-bind.
Result<CpuBind> parse_cpu_bind(std::string_view text);

enum class GpuBindKind : std::uint8_t {
  kDefault = 0,  ///< nothing said
  kNone = 1,     ///< every task sees all, --gpus-per-task or not
  kClosest = 2,
  kSingle = 3,   ///< one each; `count` tasks share one before the next is taken
  kPerTask = 4,  ///< `count` each, one after the other
  kList = 5,     ///< map and mask
};

/// What --gpu-bind asks for.
struct GpuBind {
  GpuBindKind kind = GpuBindKind::kDefault;
  bool is_verbose = false;
  std::uint32_t count = 0;
  std::vector<Bitmap> masks = {};  ///< kList: as CpuBind's
  friend bool operator==(const GpuBind&, const GpuBind&) = default;
};

/// Reads [verbose,]TYPE: none, closest, single:TASKS, per_task:GPUS, map:LIST, mask:LIST, and the
/// older map_gpu and mask_gpu. Errors: as parse_cpu_bind. Source: srun(1) --gpu-bind.
Result<GpuBind> parse_gpu_bind(std::string_view text);

}  // namespace muster
