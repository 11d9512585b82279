// Job steps: what one `srun` (or the batch script) asked to run inside an allocation, and how it
// went.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/allocation.h"
#include "model/ids.h"
#include "model/job_spec.h"
#include "model/text_pack.h"

namespace muster {

/// The texts of a step. Numbers are part of journal and wire: append before kCount, never reuse.
enum class StepText : std::uint8_t {
  kName = 0,
  kCommand = 1,  ///< the words, joined by NUL
  kWorkDir = 2,
  kStdOut = 3,  ///< pattern; empty: to srun. Without %t, %n and %N it is srun that writes the file
  kStdErr = 4,  ///< pattern; empty: with standard output
  kStdIn = 5,   ///< path; "none"; empty: from srun
  kNodeList = 6,     ///< -w
  kExcludeList = 7,  ///< -x
  kGresPerNode = 8,
  kGresPerTask = 9,
  kGresPerStep = 10,
  kDistribution =
      11,  ///< canonical; empty: block, or cyclic when there are no more tasks than nodes
  kCpuBind = 12,
  kGpuBind = 13,
  kMpi = 14,
  kIoAddress = 15,  ///< where srun listens: "unix:PATH" or "HOST:PORT"; empty: nobody
  kIoKey = 16,      ///< one-time key that stepd shows there
  kSubmitHost = 17,
  kInputTask = 18,  ///< task number that gets standard input; empty: all
  kTaskProlog = 19,
  kTaskEpilog = 20,
  kComment = 21,
  kMultiProg = 22,  ///< the contents of a --multi-prog file; empty: no
  kSubmitLine = 23,
  kOutputTask = 24,  ///< task number whose standard output alone srun shows; empty: all
  kErrorTask = 25,   ///< the same of standard error; "all": though standard output has a file or a
                     ///< task, all to srun
  kCount = 26,
};

/// A step as asked for. Memory in MiB; zero means "not given".
struct StepSpec {
  TextPack<StepText> text;
  std::string_view get(StepText key) const { return text.get(key); }

  std::uint32_t task_count = 1;
  std::uint32_t min_nodes = 0;  ///< 0: all that the job has, or as few as are needed
  std::uint32_t max_nodes = 0;
  std::uint32_t relative_node = UINT32_MAX;  ///< -r; UINT32_MAX: not given
  std::uint32_t tasks_per_node = 0;
  std::uint32_t cpus_per_task = 0;
  MemoryScope memory_scope = MemoryScope::kDefault;
  std::uint64_t memory_mib = 0;
  bool is_exact = false;    ///< only the CPUs asked for, not all of the job's on those nodes
  bool is_overlap = false;  ///< shares CPUs and devices with other steps
  bool is_overcommit = false;
  bool is_label = false;  ///< srun prefixes lines with the rank
  bool is_unbuffered = false;
  bool is_interactive = false;  ///< the step of an interactive allocation
  bool is_pty = false;
  std::int8_t kill_on_bad_exit = -1;  ///< -1: the cluster's
  bool is_immediate = false;
  std::uint32_t wait_seconds = 0;  ///< -W: after the first task ends; 0: the cluster's
  Duration time_limit;             ///< zero: the job's
  std::uint32_t umask = 022;
  std::uint8_t open_mode = 0;
  std::uint16_t signal_number = 0;
  std::uint32_t signal_seconds = 0;
  bool is_task_count_given = false;
  bool is_cpus_per_task_given = false;
  bool is_gpus_given = false;
  BlobId environment;

  friend bool operator==(const StepSpec&, const StepSpec&) = default;
};

using StepSpecRef = std::shared_ptr<const StepSpec>;

/// On which nodes a step's tasks run: for each node of the step its grant and the number of tasks.
struct StepLayout {
  std::vector<NodeGrant> nodes;  ///< `task_count` is exact; CPUs and devices are those of the step
  friend bool operator==(const StepLayout&, const StepLayout&) = default;
};

using StepLayoutRef = std::shared_ptr<const StepLayout>;

/// Resources used, measured by the step supervisor. CPU in microseconds, memory in KiB.
struct Usage {
  std::int64_t user_cpu_us = 0;
  std::int64_t system_cpu_us = 0;
  std::uint64_t max_rss_kib = 0;
  Usage& operator+=(const Usage& other) {
    user_cpu_us += other.user_cpu_us;
    system_cpu_us += other.system_cpu_us;
    if (other.max_rss_kib > max_rss_kib) max_rss_kib = other.max_rss_kib;
    return *this;
  }
  friend bool operator==(const Usage&, const Usage&) = default;
};

/// A process's end as wait(2) encodes it: exit code * 256, or the signal's number.
struct ExitStatus {
  std::int32_t raw = 0;
  static constexpr ExitStatus exited(int code) { return ExitStatus{(code & 0xff) << 8}; }
  static constexpr ExitStatus signalled(int signal) { return ExitStatus{signal & 0x7f}; }
  constexpr int code() const { return (raw >> 8) & 0xff; }
  constexpr int signal() const { return raw & 0x7f; }
  constexpr bool is_success() const { return raw == 0; }
  friend constexpr auto operator<=>(const ExitStatus&, const ExitStatus&) = default;
};

/// Returns the worse of two ends: a signal is worse than an exit code, and the higher number worse
/// than the lower.
constexpr ExitStatus worse(ExitStatus a, ExitStatus b) {
  if ((a.signal() != 0) != (b.signal() != 0)) return a.signal() != 0 ? a : b;
  return a.raw > b.raw ? a : b;
}

/// How the tasks of one node ended while the step goes on elsewhere.
struct StepPart {
  std::uint32_t step = 0;
  ExitStatus exit;  ///< the worst
  Usage usage;
  std::string detail;  ///< what kept it from running, or lost it; empty: it ran
};

/// The signal number that stands for "killed because memory ran out" in an ExitStatus (sacct shows
/// 0:125).
inline constexpr int kOutOfMemorySignal = 125;

}  // namespace muster
