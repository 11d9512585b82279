// What a believed jump of the wall clock does: every time that a limit, a wait or an age is counted
// from moves along. Times that people gave stay as they are: --begin, --deadline.
#include "base/check.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {
namespace {

struct Mover {
  Duration by;
  void operator()(TimePoint& time) const {
    // Unset and never are words, not times.
    if (time.is_set() && !time.is_never()) time = time + by;
  }
};

void move(JobRun& run, const Mover& mover) {
  if (run.stop) mover(run.stop->deadline);
  mover(run.suspend_time);
  // Steps changed under it: the sum of their hashes is made anew.
  run.steps_hash = 0;
  for (StepState& step : run.steps) {
    mover(step.start_time);
    mover(step.end_time);
    run.steps_hash += hash_of(step);
  }
}

void move(Job& job, const Mover& mover) {
  mover(job.submit_time);
  // A time that somebody gave with --begin stays.
  if (job.eligible_time != job.spec->begin_time) mover(job.eligible_time);
  for (TimePoint* time : {&job.start_time, &job.end_time}) mover(*time);
  if (job.dependencies != nullptr) {
    // Delays of after:+minutes are counted from starts, which move.
    for (DependencyTerm& term : job.dependencies->terms) mover(term.not_before);
  }
  if (job.run != nullptr) move(*job.run, mover);
}

}  // namespace

void EventApplier::operator()(const ClockStepped& event) {
  const Mover mover{event.by};
  mover(state.time_);
  // Ids first: rehashing must not meet the walk over the table.
  std::vector<JobId> jobs;
  state.jobs_.for_each([&](const Job& job) { jobs.push_back(job.id); });
  for (const JobId id : jobs) {
    Job& job = job_at(id);
    move(job, mover);
    state.jobs_.rehash(job);
  }
  state.experiments_.for_each_mutable([&](auto& object) {
    mover(object.submit_time);
    mover(object.end_time);
    // Only one of the two kinds has it.
    if constexpr (requires { object.resize_time; }) mover(object.resize_time);
  });
  state.answers_.move(event.by);
}

}  // namespace muster
