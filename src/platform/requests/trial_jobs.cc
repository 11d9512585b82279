#include "platform/requests/trial_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "admission/job_check.h"
#include "admission/submit.h"
#include "base/hash.h"
#include "trials/trial_text.h"

namespace muster::requests {
namespace {

constexpr Identity kOperator{UserId(0), GroupId(0), true};

bool has_gpus(const ClusterState& state, PartitionIndex partition) {
  return std::ranges::any_of(state.partition(partition).nodes, [&](NodeIndex node) {
    return std::ranges::any_of(state.nodes().at(node).config.gres,
                               [](const GresPool& pool) { return pool.name == "gpu"; });
  });
}

}  // namespace

std::string own_run_folder(const Draft& draft, std::string_view root, std::string_view name) {
  // From what no other cluster, moment or name shares; 32 bits of it are enough beside a name.
  const std::uint64_t mark =
      Hasher().add(draft.state().cluster_id()).add(draft.now().microseconds()).add(name).digest();
  return fmt::format("{}/{}-{:08x}", root, name, mark & 0xffffffff);
}

void give_slots(const ClusterState& state, JobSpec& job, std::uint32_t slots, bool is_single_node) {
  const auto partitions = admission::choose_partitions(state, job.get(JobText::kPartition));
  const bool is_gpu = partitions.has_value() && has_gpus(state, partitions->front());
  // Of several partitions the first decides what a slot is.
  auto request = job.request.edit();
  request->task_count = std::max(slots, 1U);
  job.given |= given_option::kTaskCount;
  request->min_nodes = 1;
  // 0: as many nodes as the slots need.
  request->max_nodes = is_single_node ? 1 : 0;
  if (is_single_node) job.given |= given_option::kNodes;
  const bool takes_gpus = slots > 0 && is_gpu;
  job.text.set(JobText::kGresPerTask, takes_gpus ? "gpu:1" : "");
  request->gres_per_task.clear();
  if (takes_gpus) request->gres_per_task.push_back({"gpu", "", 1});
}

Result<JobId> submit_for_owner(Draft& draft, std::shared_ptr<JobSpec> job, std::uint16_t hold) {
  PreparedSubmit submission;
  // As an operator: what was allowed when the experiment was created is not asked again.
  submission.spec = std::move(job);
  submission.hold = hold;
  const Reply reply = TRY(admission::submit(draft, submission, kOperator));
  return reply.job;
}

Status submit_trial(Draft& draft, const ExperimentSpec& spec, std::string_view experiment,
                    const TrialJob& trial) {
  auto job = std::make_shared<JobSpec>(*spec.job);
  job->trial = trial.id;
  job->runs_before = trial.runs_before;
  job->text.set(JobText::kName, fmt::format("{}.{}", experiment, trial.index.value()));
  // A file as any job has, beside what the log store gets.
  job->text.set(JobText::kStdOut, trial_folder(spec, trial.id) + "/output.log");
  [[maybe_unused]] const JobId ignored = TRY(submit_for_owner(
      draft, std::move(job), trial.is_held ? job_flag::kTrialHeld : std::uint16_t{0}));
  return {};
}

}  // namespace muster::requests
