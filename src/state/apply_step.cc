#include "base/check.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {

void EventApplier::operator()(const StepCreated& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}", job.id.value());
  CHECK(job.run->find_step(event.step.step) == nullptr, "step {} of job {} is there already", event.step.step,
        job.id.value());
  StepState step;
  step.id = event.step;
  step.spec = event.spec;
  step.layout = event.layout;
  step.start_time = now;
  if (event.spec != nullptr && event.spec->environment.value() != 0) state.blobs_.reference(event.spec->environment);
  if (event.step.step < kInteractiveStep) job.run->next_step = event.step.step + 1;
  job.run->steps_hash += hash_of(step);
  job.run->steps.push_back(std::move(step));
  state.jobs_.rehash(job);
}

void EventApplier::operator()(const StepEnded& event) {
  Job& job = job_at(event.step.job);
  CHECK(job.run != nullptr && job.attempt == event.step.attempt, "step of another run of job {}", job.id.value());
  StepState* step = job.run->find_step(event.step.step);
  CHECK(step != nullptr && step->is_running(), "step {} of job {} ends twice", event.step.step, job.id.value());
  job.run->steps_hash -= hash_of(*step);
  step->state = event.state;
  step->exit = event.exit;
  step->usage = event.usage;
  step->detail = event.detail;
  step->end_time = now;
  job.run->steps_hash += hash_of(*step);
  if (step->spec != nullptr) release(step->spec->environment);
  state.jobs_.rehash(job);
  if (observer != nullptr) observer->step_ended(job, *step, now);
}

}  // namespace muster
