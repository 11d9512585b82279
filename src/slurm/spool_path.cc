// Names of a node's files, and of what marks a step's processes. An agent and its supervisors must
// agree on them, and a supervisor of an older agent must find what it left behind.

#include "slurm/spool_path.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/hash.h"
#include "text/words.h"

namespace muster {

std::string run_folder(std::string_view spool, const StepId& step) {
  // The run is part of it: a job that runs again has a folder of its own.
  return fmt::format("{}/job{:05}.{}", spool, step.job.value(), step.attempt);
}
std::string script_path(std::string_view spool, const StepId& step) {
  return run_folder(spool, step) + "/slurm_script";
}
std::string stop_path(std::string_view spool, const StepId& step) {
  return run_folder(spool, step) + "/stop";
}
std::string view_folder(std::string_view spool, const StepId& step) {
  return fmt::format("{}/view{:05}.{}.{}", spool, step.job.value(), step.attempt, step.step);
}

std::string supervisors_lock_path(std::string_view spool) {
  return std::string(spool) + "/supervisors.lock";
}
std::uint64_t supervisor_key(const StepId& step) {
  return Hasher().add(step.job.value()).add(step.attempt).add(step.step).digest();
}
std::string step_mark(std::string_view spool, const StepId& step) {
  // A variable of every process of the step: what a supervisor left behind is found by it.
  return fmt::format("MUSTER_STEP={:016x}.{}.{}.{}", Hasher().add(spool).digest(), step.job.value(),
                     step.attempt, step.step);
}

std::string output_folder(std::string_view spool) { return std::string(spool) + "/output"; }

// A run number is over all runs of the trial, not of the job.
LogStreamId OutputFileName::id() const {
  return {{LogOwnerKind::kTrial, trial.value()},
          runs_before + step.attempt + 1,
          rank,
          stream,
          log_source(step.step, node_rank)};
}

// Everything that says whose output it is: a file alone is enough to store it.
std::string output_file_text(const OutputFileName& name) {
  return fmt::format("{}.{}.{}.{}.{}.{}.{}.{}", name.step.job.value(), name.step.attempt,
                     name.step.step, name.trial.value(), name.node_rank, name.rank,
                     static_cast<unsigned>(name.stream), name.runs_before);
}

std::optional<OutputFileName> parse_output_file(std::string_view text) {
  // Eight numbers, and nothing else: a file of another name is not ours.
  std::array<std::uint32_t, 8> numbers{};
  const auto words = split(text, '.');
  if (words.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto [end, error] = std::from_chars(words[i].begin(), words[i].end(), numbers[i]);
    if (error != std::errc() || end != words[i].end()) return std::nullopt;
  }
  // Two streams: there is no third.
  if (numbers[6] > 1) return std::nullopt;
  return OutputFileName{
      {JobId(numbers[0]), numbers[1], numbers[2]}, TrialId(numbers[3]), numbers[4], numbers[5],
      static_cast<LogStream>(numbers[6]),          numbers[7]};
}

}  // namespace muster
