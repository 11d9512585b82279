#include "codec/spool_path.h"

#include <fmt/format.h>

namespace muster {

std::string run_folder(std::string_view spool, const StepId& step) {
  return fmt::format("{}/job{:05}.{}", spool, step.job.value(), step.attempt);
}
std::string script_path(std::string_view spool, const StepId& step) { return run_folder(spool, step) + "/slurm_script"; }
std::string stop_path(std::string_view spool, const StepId& step) { return run_folder(spool, step) + "/stop"; }
std::string view_folder(std::string_view spool, const StepId& step) {
  return fmt::format("{}/view{:05}.{}.{}", spool, step.job.value(), step.attempt, step.step);
}

}  // namespace muster
