// Sets the values of single options of sbatch, srun and salloc: one function each, for the rows of
// the table.
#pragma once

#include <string_view>

#include "cli/slurm/submit_options.h"

namespace muster::cli::setters {

using Value = std::string_view;

/// Reads a whole number. Errors: "Invalid numeric value" for what is none from `low`.
Result<std::uint32_t> read_count(Value value, std::uint32_t low);

template <JobText Key, std::uint32_t Given = 0>
Status text(SubmitOptions& options, Value value) {
  options.job.text.set(Key, value);
  options.job.given |= Given;
  return {};
}
template <StepText Key>
Status step_text(SubmitOptions& options, Value value) {
  options.step.text.set(Key, value);
  return {};
}
/// Reads a whole number into a member of the job or of its request, at least `Low`.
template <auto Member, std::uint32_t Given = 0, std::uint32_t Low = 1>
Status count(SubmitOptions& options, Value value) {
  const auto number = TRY(read_count(value, Low));
  set_field(options.job, Member, number);
  options.job.given |= Given;
  return {};
}
template <auto Member, bool To = true>
Status job_flag(SubmitOptions& options, Value) {
  set_field(options.job, Member, To);
  return {};
}
template <bool StepSpec::*Member>
Status step_flag(SubmitOptions& options, Value) {
  options.step.*Member = true;
  return {};
}
template <bool SubmitOptions::*Member, bool To = true>
Status flag(SubmitOptions& options, Value) {
  options.*Member = To;
  return {};
}
/// Does nothing: the option asks for what happens anyway.
Status as_is(SubmitOptions& options, Value value);

/// Refuses what cannot be done yet; an empty value, as templates leave it, asks for nothing.

Status array(SubmitOptions& options, Value value);
Status debug(SubmitOptions& options, Value value);
Status gres_flags(SubmitOptions& options, Value value);
Status hint(SubmitOptions& options, Value value);
Status host_file(SubmitOptions& options, Value value);
Status mem_bind(SubmitOptions& options, Value value);
Status no_kill(SubmitOptions& options, Value value);
Status tres_bind(SubmitOptions& options, Value value);
Status working_cluster(SubmitOptions& options, Value value);
Status begin(SubmitOptions& options, Value value);
Status clusters(SubmitOptions& options, Value value);
Status constraint(SubmitOptions& options, Value value);
Status prefer(SubmitOptions& options, Value value);
Status cpu_bind(SubmitOptions& options, Value value);
Status cpus_per_task(SubmitOptions& options, Value value);
Status deadline(SubmitOptions& options, Value value);
Status dependency(SubmitOptions& options, Value value);
Status directory(SubmitOptions& options, Value value);
Status distribution(SubmitOptions& options, Value value);
Status exclude(SubmitOptions& options, Value value);
Status exclusive(SubmitOptions& options, Value value);
Status export_list(SubmitOptions& options, Value value);
Status export_file(SubmitOptions& options, Value value);
Status extra_node_info(SubmitOptions& options, Value value);
Status gpu_bind(SubmitOptions& options, Value value);
Status gpus(SubmitOptions& options, Value value);
Status gpus_per_node(SubmitOptions& options, Value value);
Status gpus_per_task(SubmitOptions& options, Value value);
Status gres(SubmitOptions& options, Value value);
Status ignore_signals(SubmitOptions& options, Value value);
Status immediate(SubmitOptions& options, Value value);
Status inside_job(SubmitOptions& options, Value value);
Status kill_command(SubmitOptions& options, Value value);
Status kill_on_bad_exit(SubmitOptions& options, Value value);
Status kill_on_invalid_dependency(SubmitOptions& options, Value value);
Status mail_type(SubmitOptions& options, Value value);
Status memory_per_node(SubmitOptions& options, Value value);
Status memory_per_cpu(SubmitOptions& options, Value value);
Status memory_per_gpu(SubmitOptions& options, Value value);
Status mpi(SubmitOptions& options, Value value);
Status nice(SubmitOptions& options, Value value);
Status no_requeue(SubmitOptions& options, Value value);
Status node_file(SubmitOptions& options, Value value);
Status node_list(SubmitOptions& options, Value value);
Status nodes(SubmitOptions& options, Value value);
Status open_mode(SubmitOptions& options, Value value);
Status overlap(SubmitOptions& options, Value value);
Status priority(SubmitOptions& options, Value value);
Status propagate(SubmitOptions& options, Value value);
Status requeue(SubmitOptions& options, Value value);
Status relative(SubmitOptions& options, Value value);
Status shared(SubmitOptions& options, Value value);
Status signal(SubmitOptions& options, Value value);
Status tasks_per_tres(SubmitOptions& options, Value value);
Status time_limit(SubmitOptions& options, Value value);
Status tmp_disk(SubmitOptions& options, Value value);
Status tres_per_task(SubmitOptions& options, Value value);
Status brief_exit_report(SubmitOptions& options, Value value);
Status umask(SubmitOptions& options, Value value);
Status verbose(SubmitOptions& options, Value value);
Status wait_for_tasks(SubmitOptions& options, Value value);
Status wait_all_nodes(SubmitOptions& options, Value value);
Status wrap(SubmitOptions& options, Value value);

}  // namespace muster::cli::setters
