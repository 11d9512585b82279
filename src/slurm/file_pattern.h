// Expands the names of output files: slurm-%j.out into slurm-12.out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/job_spec.h"

namespace muster {

/// The values of a pattern's symbols.
struct FilePatternValues {
  JobId job = {};        ///< %j, and %J: of a step with a dot and its number
  JobId array_job = {};  ///< %A; zero (no array) gives the job
  std::optional<std::uint32_t> array_index =
      {};                           ///< %a, and modulo ten %b; absent gives Slurm's 4294967294
  std::uint32_t step = kBatchStep;  ///< %s, and after %J's dot
  std::string host = {};            ///< %N, up to its first dot
  std::uint32_t node_index = 0;     ///< %n, within the step
  std::uint32_t task = 0;           ///< %t
  std::string user = {};            ///< %u
  std::string job_name = {};        ///< %x
  std::uint32_t restart_count = 0;  ///< %r
  std::string sluid = {};           ///< %S
};

/// Returns the values of a pattern's symbols in the job itself; those of a step and a node are the
/// caller's to add. `job` has `id`, `array_job`, `array_index`, `spec` and `attempt`: a Job or a
/// JobView.
template <class AnyJob>
FilePatternValues pattern_values_of(const AnyJob& job) {
  FilePatternValues values;
  values.job = job.id;
  values.array_job = job.array_job;
  values.array_index = job.array_index;
  values.user = std::string(job.spec->get(JobText::kUserName));
  values.job_name = std::string(job.spec->name());
  values.restart_count = job.attempt;
  return values;
}

/// Returns the pattern with its symbols replaced. `%%` is a percent sign; a number after the
/// percent pads numbers with zeros ("%4j", at most 10 wide); an unknown symbol stays as it is. A
/// backslash anywhere turns all replacement off and is itself removed. Source: sbatch(1) and
/// srun(1), filename pattern.
std::string expand_file_pattern(std::string_view pattern, const FilePatternValues& values);

/// How many files a pattern stands for; the last one wins.
enum class FileScope { kOne, kPerNode, kPerTask };
/// Returns kPerTask when %t occurs, else kPerNode when %n or %N does. Such files are opened on the
/// compute node.
FileScope file_scope(std::string_view pattern);

/// True when srun itself writes such a file of a step, all tasks' output into one: what has one
/// name for all, but /dev/null.
bool is_gathered(std::string_view pattern);

/// Returns "0", "batch", "extern", "interactive": a step's name in ids such as 12.batch.
std::string step_text(std::uint32_t step);

}  // namespace muster
