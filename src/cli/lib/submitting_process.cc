// What a job takes over from the process that submits it, gathered at one moment: folder, host,
// session, masks, limits and environment.

#include "cli/lib/submitting_process.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "env/posix/host_address.h"
#include "env/posix/process_runner.h"

extern char** environ;

namespace muster::cli {
namespace {

/// Variables that configure the commands rather than describe an allocation.
bool is_setting(std::string_view name) {
  static constexpr std::string_view kSettings[] = {
      // What a user sets for commands is wanted in jobs, too.
      "SLURM_CONF",       "SLURM_TIME_FORMAT", "SLURM_CLUSTERS",
      "SLURM_BITSTR_LEN", "SLURM_EXIT_ERROR",  "SLURM_EXIT_IMMEDIATE",
      "SLURM_JWT",        "SLURM_JSON",        "SLURM_YAML"};
  return std::ranges::find(kSettings, name) != std::end(kSettings);
}

bool is_of_job(std::string_view name, bool has_devices) {
  // Within a job sbatch would else pass the outer job's SLURM_ variables on to the inner one.
  if (name.starts_with("SLURM_") || name.starts_with("SLURMD_") || name == "SRUN_DEBUG")
    return !is_setting(name);
  // Devices of the outer job are not those of the inner one; without an outer job the user has set
  // them.
  return has_devices && (name == "CUDA_VISIBLE_DEVICES" || name == "GPU_DEVICE_ORDINAL" ||
                         name == "ROCR_VISIBLE_DEVICES" || name == "ZE_AFFINITY_MASK");
}

Words current_environment() {
  Words variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

}  // namespace

SubmittingProcess submitting_process(Words command_line) {
  SubmittingProcess scene;
  scene.command_line = std::move(command_line);
  std::array<char, 4096> buffer{};
  // A folder that is gone leaves it empty: the request is then refused by name.
  if (::getcwd(buffer.data(), buffer.size()) != nullptr) scene.work_dir = buffer.data();
  if (::gethostname(buffer.data(), buffer.size() - 1) == 0) scene.host = buffer.data();
  scene.address = host_address();
  scene.session = static_cast<std::uint32_t>(::getsid(0));
  // The mask can only be read by setting it.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  scene.umask = mask;
  scene.nice = ::getpriority(PRIO_PROCESS, 0);
  scene.limits = current_limits();
  scene.environment = current_environment();
  return scene;
}

// Both are set where GPUs were given out, of a job or of a step.
Environment without_job_variables(Environment environment) {
  const bool has_devices =
      get_variable(environment, "SLURM_JOB_GPUS") || get_variable(environment, "SLURM_STEP_GPUS");
  std::erase_if(environment, [&](const std::string& variable) {
    return is_of_job(std::string_view(variable).substr(0, variable.find('=')), has_devices);
  });
  return environment;
}

Bytes as_bytes(std::string text) { return std::make_shared<const std::string>(std::move(text)); }

}  // namespace muster::cli
