// The lists of the fields that the submitter of a job or step sets: they are all of the wire's
// request, and a part of the journal's record. A field that the controller alone sets belongs to
// the journal's list (model_records.cc). fields.h says how such a list is read. Internal to
// records/.
#pragma once

// clang-format off
#define JOB_REQUEST_FIELDS(F, S, L, P, O) \
  F(kind, Kind) F(tasks_per_socket, TasksPerSocket) F(tasks_per_core, TasksPerCore) \
  F(sharing, Sharing) F(given, Given) F(time_limit, TimeLimit) F(time_min, TimeMin) \
  F(begin_time, BeginTime) F(deadline, Deadline) F(nice, Nice) F(priority, Priority) \
  F(is_held, IsHeld) F(is_requeue, IsRequeue) \
  F(kill_on_invalid_dependency, KillOnInvalidDependency) F(is_immediate, IsImmediate) \
  F(is_kill_on_node_fail, IsKillOnNodeFail) F(is_reboot, IsReboot) F(is_spread, IsSpread) \
  F(wait_all_nodes, WaitAllNodes) F(umask, Umask) F(open_mode, OpenMode) \
  F(signal_number, SignalNumber) F(signal_seconds, SignalSeconds) \
  F(signal_batch_only, SignalBatchOnly) F(signal_at_reservation, SignalAtReservation) \
  F(submit_session, SubmitSession) F(core_spec, CoreSpec) F(oom_kill_step, OomKillStep)

// The numbers of its ResourceRequest, which stand in the same record.
#define RESOURCE_NUMBER_FIELDS(F, S, L, P, O) \
  F(min_nodes, MinNodes) F(max_nodes, MaxNodes) F(task_count, TaskCount) \
  F(tasks_per_node, TasksPerNode) F(tasks_per_gpu, TasksPerGpu) F(cpus_per_task, CpusPerTask) \
  F(min_cpus_per_node, MinCpusPerNode) F(cpus_per_gpu, CpusPerGpu) \
  F(sockets_per_node, SocketsPerNode) F(cores_per_socket, CoresPerSocket) \
  F(threads_per_core, ThreadsPerCore) F(tmp_disk_mib, TmpDiskMib) F(memory_scope, MemoryScope) \
  F(memory_mib, MemoryMib) F(is_contiguous, IsContiguous) F(is_overcommit, IsOvercommit) \
  F(is_fewest_nodes, IsFewestNodes)

#define STEP_REQUEST_FIELDS(F, S, L, P, O) \
  F(task_count, TaskCount) F(min_nodes, MinNodes) F(max_nodes, MaxNodes) \
  F(relative_node, RelativeNode) F(tasks_per_node, TasksPerNode) F(cpus_per_task, CpusPerTask) \
  F(memory_scope, MemoryScope) F(memory_mib, MemoryMib) F(is_exact, IsExact) \
  F(is_overlap, IsOverlap) F(is_overcommit, IsOvercommit) F(is_label, IsLabel) \
  F(is_unbuffered, IsUnbuffered) F(is_interactive, IsInteractive) F(is_pty, IsPty) \
  F(kill_on_bad_exit, KillOnBadExit) F(is_immediate, IsImmediate) F(wait_seconds, WaitSeconds) \
  F(time_limit, TimeLimit) F(umask, Umask) F(open_mode, OpenMode) F(signal_number, SignalNumber) \
  F(signal_seconds, SignalSeconds) F(is_task_count_given, IsTaskCountGiven) \
  F(is_cpus_per_task_given, IsCpusPerTaskGiven) F(is_gpus_given, IsGpusGiven)
// clang-format on
