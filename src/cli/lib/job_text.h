// The words for jobs and nodes that columns (squeue, sacct) and scontrol share.
#pragma once

#include <string>
#include <string_view>

#include "cli/lib/local_zone.h"
#include "model/view.h"

namespace muster::cli {

/// Returns `text`, or "(null)" when it is empty.
std::string or_null(std::string_view text);
/// Returns "gres/gpu:h100:2,gres/nic:1" for "gpu:h100:2,nic:1".
std::string tres_per_text(std::string_view gres);
/// Returns the run time without time spent suspended. Zero before the start.
Duration run_time(const JobView& job, TimePoint now);
Duration run_time(const StepView& step, TimePoint now);
/// Returns the word for why it waits or how it ended: "None", "Priority", "NonZeroExitCode",
/// "RaisedSignal:9(Killed)".
std::string reason_word(const JobView& job);
/// Returns "(Reason)" for a job that has no nodes to show, else its nodes.
std::string nodes_or_reason(const JobView& job);
/// Returns the least memory that was asked for, per node or per CPU: "4G", "0".
std::string memory_asked(const JobSpec& spec, bool is_converted = true);
/// Returns the least CPUs on each node.
std::uint32_t least_cpus_per_node(const JobSpec& spec);
/// Returns the number, or "*" where nothing was asked for.
std::string or_star(std::uint32_t count);
/// Returns "Sat Nov 21 12:00:00 2026".
std::string date_line(const ShowContext& context);
/// Returns when a pending job is expected to start, or a started one did.
TimePoint start_of(const JobView& job);
/// Returns when it ended, or of a pending job the end that its time limit allows, as start_of.
/// Unset: unknown.
TimePoint end_of(const JobView& job);
/// Returns when it was or will be eligible. Unset: unknown, also of a job that is held.
TimePoint eligible_of(const JobView& job);
bool wants_gpus(const JobSpec& spec);
/// Returns "0:0": exit code and signal.
std::string exit_text(ExitStatus status);

}  // namespace muster::cli
