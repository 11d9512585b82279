// For a job over which the controller dies at each start: events as the core would emit them,
// without the core. Nodes are not asked; they are told when they register.
#include "platform/maintenance/drop_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "platform/rules/experiment_rules.h"
#include "platform/rules/retention.h"
#include "platform/rules/trial_rules.h"

namespace muster {

Result<EventBatch> drop_job(ClusterState& state, JobId id, Epoch epoch, TimePoint now) {
  const Job* job = state.jobs().find(id);
  if (job == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no job {}", id.value()),
                "see squeue, or the controller's log for the number");
  if (job->is_over())
    return fail(ErrorCode::kFailedPrecondition, fmt::format("job {} has ended", id.value()),
                "there is nothing to drop");
  constexpr const char* kWhy = "dropped by an operator while no controller ran";
  EventBatch batch;
  batch.epoch = epoch;
  // Applied as they are added: each of the following is judged by the state after it.
  const auto append = [&](EventBody body) {
    batch.events.push_back(Event{std::max(now, state.time()), std::move(body)});
    state.apply(batch.events.back(), nullptr);
  };
  // With what follows from it for an experiment, as the core does it.
  const auto add = [&](EventBody body) {
    append(std::move(body));
    const auto asked = search_asked_by(batch.events.back().body, state);
    const auto concerned = experiment_of(batch.events.back().body, state);
    if (asked) append(*asked);
    if (!concerned) return;
    const auto ended = end_state(*state.experiments().find(*concerned));
    if (ended) append(ExperimentEnded{*concerned, *ended});
  };
  add(EpochStarted{epoch, "", kEventRules});
  std::vector<StepId> open;
  // The ids first, because ending a step changes the list.
  for (const StepState& step : job->run != nullptr ? job->run->steps : std::vector<StepState>{}) {
    if (step.is_running()) open.push_back(step.id);
  }
  for (const StepId& step : open)
    add(StepEnded{step, JobState::kCancelled, ExitStatus::signalled(SIGKILL), {}, kWhy});
  JobEnding ending;
  ending.job = id;
  ending.state = JobState::kCancelled;
  ending.exit = ExitStatus::signalled(SIGKILL);
  ending.detail = kWhy;
  // No node can be asked. One that still runs it is told to end it when it registers, and takes no
  // work before.
  ending.is_clean = true;
  // The order of the core: steps, the job, then what it was part of.
  add(std::move(ending));
  job = state.jobs().find(id);
  if (const Trial* trial = trial_of(state, *job)) add(trial_end(state, *job, *trial));
  if (const auto found = state.checkpoints().collections().find(id);
      found != state.checkpoints().collections().end()) {
    const Collection collection = found->second;
    const auto broken = broken_off(state.checkpoints(), collection, *job);
    add(CollectionEnded{id, false});
    for (const CheckpointRef& one : broken) add(CheckpointRecorded{one});
    add(deletion_failed(collection, *job));
  }
  batch.seq = Seq(state.seq().value() + 1);
  batch.dead_blobs = state.seal(batch.seq);
  return batch;
}

}  // namespace muster
