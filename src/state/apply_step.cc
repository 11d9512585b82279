// The sum of the steps' hashes is kept up by taking a step's hash out before a change and adding it
// after. Each function begins with what must be true of the run and the step.
#include <algorithm>

#include "base/check.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {

void EventApplier::operator()(const StepCreated& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}",
        job.id.value());
  CHECK(job.run->find_step(event.step.step) == nullptr, "step {} of job {} is there already",
        event.step.step, job.id.value());
  StepState step;
  step.id = event.step;
  step.spec = event.spec;
  step.layout = event.layout;
  step.launch_key = event.launch_key;
  step.start_time = now;
  // For as long as the step runs (StepEnded releases it).
  if (event.spec != nullptr && event.spec->environment.value() != 0)
    state.blobs_.reference(event.spec->environment);
  // Special steps, the batch script's for one, have the highest numbers: ordinary ones count on
  // below.
  if (event.step.step < kInteractiveStep) job.run->next_step = event.step.step + 1;
  job.run->steps_hash += hash_of(step);
  job.run->steps.push_back(std::move(step));
  state.jobs_.rehash(job);
}

void EventApplier::operator()(const StepBegun& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}",
        job.id.value());
  StepState* step = job.run->find_step(event.step.step);
  CHECK(step != nullptr && step->is_running(), "step {} of job {} begins after its end",
        event.step.step, job.id.value());
  job.run->steps_hash -= hash_of(*step);
  // Parts only begin: what was heard before stays.
  step->begun |= event.parts;
  job.run->steps_hash += hash_of(*step);
  state.jobs_.rehash(job);
}

void EventApplier::operator()(const StepCancelled& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}",
        job.id.value());
  StepState* step = job.run->find_step(event.step.step);
  CHECK(step != nullptr && step->is_running(), "step {} of job {} is cancelled after its end",
        event.step.step, job.id.value());
  job.run->steps_hash -= hash_of(*step);
  step->cancelled_by = event.by;
  job.run->steps_hash += hash_of(*step);
  state.jobs_.rehash(job);
}

void EventApplier::operator()(const StepEnded& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}",
        job.id.value());
  StepState* step = job.run->find_step(event.step.step);
  CHECK(step != nullptr && step->is_running(), "step {} of job {} ends twice", event.step.step,
        job.id.value());
  job.run->steps_hash -= hash_of(*step);
  step->state = event.state;
  step->exit = event.exit;
  step->usage = event.usage;
  step->detail = event.detail;
  step->end_time = now;
  job.run->steps_hash += hash_of(*step);
  if (step->spec != nullptr) release(step->spec->environment);
  state.jobs_.rehash(job);
  // With final values, since this is what history records.
  if (observer != nullptr) observer->step_ended(job, *step, now);
}

void EventApplier::operator()(const StepsForgotten& event) {
  Job& job = job_at(event.job);
  CHECK(job.run != nullptr, "job {} has no steps to forget", event.job.value());
  std::size_t found = 0;
  std::erase_if(job.run->steps, [&](const StepState& step) {
    // `steps` rises, by the event's form.
    if (!std::ranges::binary_search(event.steps, step.id.step)) return false;
    CHECK(!step.is_running(), "step {} of job {} is forgotten while it runs", step.id.step,
          event.job.value());
    ++found;
    job.run->steps_hash -= hash_of(step);
    // What is forgotten still counts for the job's sums.
    job.run->forgotten.usage += step.usage;
    if (step.id.step < kInteractiveStep)
      job.run->forgotten.exit = std::max(job.run->forgotten.exit, step.exit);
    return true;
  });
  CHECK(found == event.steps.size(), "job {} has not all of the steps to be forgotten",
        event.job.value());
  job.run->forgotten.count += static_cast<std::uint32_t>(found);
  state.jobs_.rehash(job);
}

}  // namespace muster
