// Submits the jobs of trials: one for a trial's whole life, but for an experiment that is
// continued, which gives it another.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engine/draft.h"

namespace muster::requests {

struct TrialJob {
  TrialId id;
  TrialIndex index;
  std::uint32_t runs_before = 0;
  bool is_held = false;
};

/// Returns a folder below `root` for the runs of one experiment of this cluster alone. Its name
/// ends in a mark, because others may submit from the same folder, or store checkpoints there, and
/// count their experiments from 1, too; so does this cluster after its state was lost.
std::string own_run_folder(const Draft& draft, std::string_view root, std::string_view name);

/// Submits a trial's job. `experiment`: its name. Errors: as submit.
Status submit_trial(Draft& draft, const ExperimentSpec& spec, std::string_view experiment,
                    const TrialJob& trial);

/// Submits, as the controller and under the owner's name, what was checked when the experiment was
/// created.
Result<JobId> submit_for_owner(Draft& draft, std::shared_ptr<JobSpec> job, std::uint16_t hold);

/// Sets a job's slots. A slot is one GPU, or one CPU where the partition has none; each is a task
/// of its own, so that slots may spread over nodes.
void give_slots(const ClusterState& state, JobSpec& job, std::uint32_t slots, bool is_single_node);

}  // namespace muster::requests
