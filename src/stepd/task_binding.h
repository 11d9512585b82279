// Decides which of the step's CPUs and GPUs on this node each of its tasks may use. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/agent_message.h"
#include "slurm/binding_text.h"

namespace muster {

/// The node's CPUs as the configuration numbers them: the threads of a core side by side, then the
/// cores of a socket.
struct NodeShape {
  std::uint32_t cores_per_socket = 1;
  std::uint32_t threads_per_core = 1;
};

/// The bindings by local task number, one for each task.
struct TaskBinding {
  CpuBind cpu_bind;
  GpuBind gpu_bind;
  std::vector<Bitmap> cpus;  ///< numbers of the node's CPUs; empty: not bound
  std::vector<Bitmap> gpus;  ///< of the node's GPUs; empty: none
};

/// Returns what --cpu-bind, --gpu-bind and --gpus-per-task mean for `task_count` tasks. Without
/// --cpu-bind the tasks of an exact step have CPUs of their own, and others share all; with too few
/// CPUs for all, later tasks begin again at the first. A GPU list that names no GPU of the step
/// gives its first one. Requires: task_count > 0. Errors: kInvalidArgument for a list with CPUs
/// that are not the step's. Source: srun(1).
Result<TaskBinding> bind_tasks(const LaunchStep& launch, std::uint32_t task_count,
                               const NodeShape& shape);

/// Returns the node's GPUs in a grant.
Bitmap gpus_of(const NodeGrant& grant);
/// Returns "0x2F"; "0x0" for none.
std::string mask_text(const Bitmap& mask);
/// Returns "0,1"; empty for none.
std::string index_text(const Bitmap& indices);

/// Returns what `verbose` asks each task to say on its standard error, lines with their ends.
/// Empty: nothing.
std::string binding_notice(const TaskBinding& binding, const LaunchStep& launch,
                           std::uint32_t local_id, std::uint32_t rank, std::int64_t process_id);

}  // namespace muster
