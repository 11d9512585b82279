// A client may send any number: those that no job has are refused here, before anything is computed
// from them.
#include "admission/job_numbers.h"

#include <fmt/format.h>

#include <span>

namespace muster::admission {
namespace {

constexpr std::int32_t kNiceMax = 2'147'483'645;  // Slurm's NICE_OFFSET - 3
// Linux's signals, real-time ones included.
constexpr std::uint32_t kSignalMax = 64;
// Source: sbatch(1), --signal.
constexpr std::uint32_t kSignalSecondsMax = UINT16_MAX;
// Permissions with the three special bits.
constexpr std::uint32_t kModeMax = 07777;

struct Number {
  const char* name;
  std::uint64_t value;
  std::uint64_t most;
};

Status check(std::span<const Number> numbers) {
  for (const Number& number : numbers) {
    if (number.value <= number.most) continue;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} is too large", number.name, number.value),
                fmt::format("give at most {}", number.most));
  }
  return {};
}

Status check_limit(const char* name, Duration limit) {
  // Infinite says that there is no limit.
  if (limit.is_infinite() || (limit >= Duration() && limit <= kLimitMax)) return {};
  return fail(ErrorCode::kInvalidArgument,
              "Requested time limit is invalid (missing or exceeds some limit)",
              fmt::format("{}: {} seconds; give 0 to {} minutes, or UNLIMITED", name,
                          limit.seconds(), kLimitMax.seconds() / 60));
}

Status check_time(const char* name, TimePoint time) {
  if (time >= TimePoint() && time <= kTimeMax) return {};
  return fail(ErrorCode::kInvalidArgument, "Invalid time specification",
              fmt::format("{} is not between 1970 and the year 9999", name));
}

/// Numbers that jobs and steps have alike. `size`: the job's request, the step itself.
template <class Spec, class Size>
Status check_shared(const Spec& spec, const Size& size) {
  const Number numbers[] = {
      {"min_nodes", size.min_nodes, kCountMax},
      {"max_nodes", size.max_nodes, kCountMax},
      {"ntasks", size.task_count, kCountMax},
      {"ntasks-per-node", size.tasks_per_node, kCountMax},
      {"cpus-per-task", size.cpus_per_task, kCountMax},
      {"mem", size.memory_mib, kMemoryMibMax},
      {"signal", spec.signal_number, kSignalMax},
      {"signal", spec.signal_seconds, kSignalSecondsMax},
      {"umask", spec.umask, kModeMax},
      // 0: the cluster's default, 1: truncate, 2: append.
      {"open-mode", spec.open_mode, 2},
  };
  TRY(check(numbers));
  return check_limit("time", spec.time_limit);
}

}  // namespace

Status check_numbers(const JobSpec& spec) {
  TRY(check_shared(spec, *spec.request));
  const Number numbers[] = {
      {"ntasks-per-socket", spec.tasks_per_socket, kCountMax},
      {"ntasks-per-core", spec.tasks_per_core, kCountMax},
      {"ntasks-per-gpu", spec.request->tasks_per_gpu, kCountMax},
      {"mincpus", spec.request->min_cpus_per_node, kCountMax},
      {"cpus-per-gpu", spec.request->cpus_per_gpu, kCountMax},
      {"sockets-per-node", spec.request->sockets_per_node, kCountMax},
      {"cores-per-socket", spec.request->cores_per_socket, kCountMax},
      {"threads-per-core", spec.request->threads_per_core, kCountMax},
  };
  TRY(check(numbers));
  TRY(check_limit("time-min", spec.time_min));
  TRY(check_time("begin", spec.begin_time));
  TRY(check_time("deadline", spec.deadline));
  if (spec.nice >= -kNiceMax && spec.nice <= kNiceMax) return {};
  return fail(ErrorCode::kInvalidArgument, "Invalid nice value",
              fmt::format("nice: {}; give -{} to {}", spec.nice, kNiceMax, kNiceMax));
}

Status check_numbers(const StepSpec& spec) {
  TRY(check_shared(spec, spec));
  // UINT32_MAX: --relative was not given.
  const std::uint32_t relative = spec.relative_node == UINT32_MAX ? 0 : spec.relative_node;
  const Number numbers[] = {{"relative", relative, kCountMax}};
  return check(numbers);
}

Status check_numbers(const ResourceRequest& need) {
  for (const auto* amounts : {&need.gres_per_node, &need.gres_per_job, &need.gres_per_task}) {
    for (const GresAmount& amount : *amounts) {
      const Number number[] = {{"gres", amount.count, kCountMax}};
      TRY(check(number));
    }
  }
  return {};
}

}  // namespace muster::admission
