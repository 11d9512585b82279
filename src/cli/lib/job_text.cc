// Words and amounts that squeue's columns and scontrol's records have in common, so that the two
// agree on them. What differs between Slurm's commands stands with the command.

#include "cli/lib/job_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "slurm/memory_text.h"
#include "slurm/signal_text.h"
#include "text/words.h"

namespace muster::cli {

// Slurm prints a null pointer in this way; scripts compare with it.
std::string or_null(std::string_view text) { return text.empty() ? "(null)" : std::string(text); }

std::string tres_per_text(std::string_view gres) {
  std::string text;
  for (const std::string_view part : split_words(gres, ','))
    text += fmt::format("{}gres/{}", text.empty() ? "" : ",", part);
  return text;
}

namespace {

// A clock that was set back must not show a negative time.
Duration between(TimePoint start, TimePoint end) { return end > start ? end - start : Duration(); }

}  // namespace

Duration run_time(const JobView& job, TimePoint now) {
  if (job.state == JobState::kPending || !job.start_time.is_set()) return {};
  TimePoint end = is_finished(job.state) ? job.end_time : now;
  if (job.state == JobState::kSuspended) end = job.suspend_time;
  const Duration all = between(job.start_time, end);
  // Suspended time is not run time. Source: squeue(1), %M.
  return all > job.suspended_before ? all - job.suspended_before : Duration();
}

Duration run_time(const StepView& step, TimePoint now) {
  if (!step.start_time.is_set()) return {};
  return between(step.start_time, is_finished(step.state) ? step.end_time : now);
}

std::string reason_word(const JobView& job) {
  const std::string_view word = pending_reason_word(job.reasons.word);
  // Slurm says which signal a launch ended by: RaisedSignal:9(Killed).
  if (job.reasons.word != PendingReason::kRaisedSignal) return std::string(word);
  const auto signal = static_cast<std::uint16_t>(job.exit.signal());
  return fmt::format("{}:{}({})", word, signal, signal_description(signal));
}

std::string nodes_or_reason(const JobView& job) {
  const bool is_completing = (job.flags & job_flag::kCompleting) != 0;
  // squeue's column shows a reason for these and nodes for all others; while a job completes its
  // nodes matter more.
  const bool has_reason = job.state == JobState::kPending || job.state == JobState::kTimeout ||
                          job.state == JobState::kOutOfMemory || job.state == JobState::kDeadline ||
                          job.state == JobState::kFailed;
  if (has_reason && !is_completing) return "(" + reason_word(job) + ")";
  return job.node_list;
}

std::string memory_asked(const JobSpec& spec, bool is_converted) {
  return is_converted ? memory_text(spec.request->memory_mib)
                      : fmt::format("{}M", spec.request->memory_mib);
}

std::uint32_t least_cpus_per_node(const JobSpec& spec) {
  // What MinCPUsNode shows: the tasks' CPUs where those need more.
  const std::uint32_t by_tasks =
      std::max(1U, spec.request->cpus_per_task) * std::max(1U, spec.request->tasks_per_node);
  return std::max({1U, spec.request->min_cpus_per_node, by_tasks});
}

std::string or_star(std::uint32_t count) { return count == 0 ? "*" : fmt::format("{}", count); }

std::string date_line(const ShowContext& context) {
  // 1970-01-01 was a Thursday: days_from_date counts from there.
  static constexpr std::array<const char*, 7> kDays = {"Thu", "Fri", "Sat", "Sun",
                                                       "Mon", "Tue", "Wed"};
  static constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const CivilTime t = context.zone->to_civil(context.now);
  const auto day = static_cast<std::size_t>(days_from_date(t.year, t.month, t.day) % 7);
  return fmt::format("{} {} {:02} {:02}:{:02}:{:02} {}", kDays[day],
                     kMonths[static_cast<std::size_t>(t.month - 1)], t.day, t.hour, t.minute,
                     t.second, t.year);
}

TimePoint start_of(const JobView& job) {
  // A pending job shows when the planner expects it to start.
  return job.state == JobState::kPending ? job.reasons.expected_start : job.start_time;
}

TimePoint end_of(const JobView& job) {
  if (job.state != JobState::kPending) return job.end_time;
  if (!start_of(job).is_set() || job.time_limit.is_infinite()) return TimePoint::unset();
  return start_of(job) + job.time_limit;
}

TimePoint eligible_of(const JobView& job) {
  // A held job is not eligible, whatever time it had.
  const bool is_held = job.state == JobState::kPending && (job.flags & job_flag::kAnyHold) != 0;
  return is_held ? TimePoint::unset() : job.eligible_time;
}

bool wants_gpus(const JobSpec& spec) {
  return !spec.get(JobText::kGresPerNode).empty() || !spec.get(JobText::kGresPerJob).empty() ||
         !spec.get(JobText::kGresPerTask).empty();
}

std::string exit_text(ExitStatus status) {
  // CODE:SIGNAL, as sacct's ExitCode.
  return fmt::format("{}:{}", status.code(), status.signal());
}

}  // namespace muster::cli
