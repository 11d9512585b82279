// A job finds its trial only while that lives: what ended has nothing to say about the job any
// more.
#include "state/trial_of_job.h"

#include "base/check.h"

namespace muster {

const Trial* trial_of(const ClusterState& state, const Job& job) {
  if (job.spec->trial.value() == 0) return nullptr;
  const Trial* trial = state.experiments().find(job.spec->trial);
  return trial == nullptr || trial->is_over() ? nullptr : trial;
}

std::uint16_t trial_hold(const ClusterState& state, const Trial& trial) {
  const Experiment* experiment = state.experiments().find(trial.experiment);
  CHECK(experiment != nullptr);
  // All three keep its job back: its search, the trial that it copies, its experiment.
  return trial.is_waiting || trial.awaits_source || experiment->state == ExperimentState::kPaused
             ? job_flag::kTrialHeld
             : std::uint16_t{0};
}

JobSpec with_slots(const JobSpec& spec, std::uint32_t slots) {
  JobSpec changed = spec;
  changed.request.edit()->task_count = slots;
  return changed;
}

}  // namespace muster
