// What the launch of a trial or a service carries beyond that of any job: variables for all nodes
// alike (add_to_launch), and what is of one node alone, such as its rank and slots (add_to_part).
// Without HTTP trials report by files or by `muster report`, and get no tokens.
#include "platform/platform.h"

#include <fmt/format.h>

#include "platform/rules/trial_rules.h"
#include "slurm/rank_layout.h"
#include "state/views.h"
#include "text/token_text.h"
#include "trials/determined_text.h"
#include "trials/service_text.h"
#include "trials/trial_text.h"

namespace muster {
namespace {

// Where Determined's containers have these: scripts and its client library look there.
constexpr const char* kRunFolder = "/run/determined";
constexpr const char* kCodeFolder = "/run/determined/train/model";
constexpr const char* kStorageFolder = "/determined_shared_fs";

TokenClaims claims_of(const Job& job, TokenScope scope) {
  TokenClaims claims;
  claims.scope = scope;
  claims.user = job.spec->user;
  claims.group = job.spec->group;
  claims.user_name = std::string(job.spec->get(JobText::kUserName));
  claims.job = job.id;
  // A token speaks for one run: with the next run of the trial it is void.
  claims.run = run_number(job);
  claims.trial = job.spec->trial;
  return claims;
}

/// Numbers of the slots that a grant holds: its GPUs, else as many as it has tasks.
std::vector<std::uint32_t> slots_of(const JobSpec& spec, const NodeGrant& grant) {
  std::vector<std::uint32_t> slots;
  for (const GresGrant& gres : grant.gres) {
    if (gres.name != "gpu") continue;
    gres.devices.for_each(
        [&](std::size_t device) { slots.push_back(static_cast<std::uint32_t>(device)); });
  }
  if (!slots.empty()) return slots;
  for (std::uint32_t i = 0; i < job_tasks_on(spec, grant); ++i) slots.push_back(i);
  return slots;
}

}  // namespace

/// Read once for the trials of an experiment that begin one after the other.
const TrialSettings& Platform::settings_of(const Experiment& experiment) {
  // More experiments than this seldom start trials at one time; reading a configuration again is
  // cheap enough to drop all.
  constexpr std::size_t kMost = 64;
  auto known = trial_settings_.find(experiment.id);
  // A continued experiment has another specification object: what was read of the old one is stale.
  if (known == trial_settings_.end() || known->second.first != experiment.spec) {
    if (trial_settings_.size() > kMost) trial_settings_.clear();
    const std::pair fresh(experiment.spec, trial_settings(*experiment.spec));
    known = trial_settings_.insert_or_assign(experiment.id, fresh).first;
  }
  return known->second.second;
}

std::size_t Platform::launch_bytes(const Job& job) const {
  const Trial* trial = trial_of(state_, job);
  if (trial == nullptr) return 0;
  return trial_variable_bytes(*state_.experiments().find(trial->experiment)->spec, *trial);
}

Status Platform::add_to_launch(const Job& job, LaunchStep& launch) {
  if (const Trial* trial = trial_of(state_, job)) {
    const Experiment& experiment = *state_.experiments().find(trial->experiment);
    launch.variables =
        TRY(trial_variables(experiment, *trial, run_number(job), settings_of(experiment)));
  }
  // Without HTTP nobody could reach the service, or be told where it is.
  if (service_kind(*job.spec) && !http_.master.empty()) connect_service(launch, job);
  return {};
}

bool Platform::has_own_parts(const Job& job) const {
  return !http_.master.empty() && trial_of(state_, job) != nullptr;
}

/// How the run of a trial reaches the controller by HTTP, in the names of Determined's clients.
void Platform::add_to_part(const Job& job, LaunchStep& message) const {
  const Trial& trial = *trial_of(state_, job);
  const Experiment& experiment = *state_.experiments().find(trial.experiment);
  TrialLocation place;
  place.cluster = http_.cluster;
  place.master = http_.master;
  // Two tokens: what trains may report for its trial; what acts as the user may do what the user
  // may.
  place.session_token = token_text(claims_of(job, TokenScope::kTask), http_.token_key);
  place.user_token = token_text(claims_of(job, TokenScope::kOwner), http_.token_key);
  // Of this trial if it has saved, else what it was told to begin with.
  if (const CheckpointRef latest = state_.checkpoints().latest(trial.id)) {
    place.latest_checkpoint = latest->uuid;
    place.steps_completed = latest->steps_completed;
  } else {
    place.latest_checkpoint = trial.source;  // it counts its own steps from none
  }
  place.node_name = message.node_name;
  place.node_rank = message.job_node_rank;
  for (const NodeGrant& grant : job.run->allocation->nodes) {
    const NodeConfig& node = state_.nodes().at(grant.node).config;
    place.addresses.push_back(node.address.empty() ? node.name : node.address);
    place.slot_counts.push_back(static_cast<std::uint32_t>(slots_of(*job.spec, grant).size()));
  }
  place.slots = slots_of(*job.spec, message.job_grant);
  const std::uint32_t run = run_number(job);
  for (std::string& variable : determined_variables(experiment, trial, run, place))
    message.variables.push_back(std::move(variable));
  message.private_folders = {kRunFolder};
  for (NamedText& file : determined_files(experiment, trial, run, place))
    message.files.push_back({std::move(file.name), std::move(file.text)});
  // Bound into the run's view (stepd/task_view.cc), so that paths in a script hold on every node.
  message.binds = {{trial_folder(*experiment.spec, trial.id) + "/code", kCodeFolder, false},
                   {storage_folder(*experiment.spec), kStorageFolder, false}};
}

/// Its token speaks for this run of the job alone, unless it has to report of its owner's
/// checkpoints.
void Platform::connect_service(LaunchStep& message, const Job& job) const {
  const auto scope = service_kind(*job.spec) == ServiceKind::kCheckpointFiles ? TokenScope::kOwner
                                                                              : TokenScope::kTask;
  const ServiceContext place{http_.cluster, http_.master,
                             token_text(claims_of(job, scope), http_.token_key)};
  for (std::string& variable : service_variables(place, job.id, run_number(job)))
    message.variables.push_back(std::move(variable));
}

}  // namespace muster
