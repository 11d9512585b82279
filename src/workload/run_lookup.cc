#include "workload/run_lookup.h"

namespace muster {

const Job* running_job(const ClusterState& state, JobId id, std::uint32_t attempt) {
  const Job* job = state.jobs().find(id);
  return job == nullptr || job->run == nullptr || job->attempt != attempt ? nullptr : job;
}

const StepState* own_step(const Job* job, const StepId& id, std::uint64_t launch_key) {
  const StepState* step = job == nullptr ? nullptr : job->run->find_step(id.step);
  return step != nullptr && job->run->launch_key_of(*step) == launch_key ? step : nullptr;
}

}  // namespace muster
