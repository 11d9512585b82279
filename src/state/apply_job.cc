// What happens to jobs. The diagram of their states stands in model/job_state.h.
#include <algorithm>

#include "base/check.h"
#include "state/event_applier.h"
#include "state/state_hash.h"

namespace muster {
namespace {

// Bitmaps shrink as elements leave; the range keeps what the array was.
ArrayRange range_of(const ArraySpec& array) {
  const std::vector<std::size_t> indices = array.indices.indices();
  CHECK(!indices.empty(), "an array without elements");
  ArrayRange range;
  range.task_count = static_cast<std::uint32_t>(indices.size());
  range.index_min = static_cast<std::uint32_t>(indices.front());
  range.index_max = static_cast<std::uint32_t>(indices.back());
  range.index_step = indices.size() > 1 ? static_cast<std::uint32_t>(indices[1] - indices[0]) : 1;
  return range;
}

/// A job like the array's record, for one of its elements.
Job element_like(const Job& record, JobId id, std::uint32_t index) {
  Job job;
  job.id = id;
  job.state = record.state;
  job.reason = record.reason;
  job.flags = record.flags;
  job.spec = record.spec;
  job.spec_hash = record.spec_hash;
  job.priority = record.priority;
  job.time_limit = record.time_limit;
  job.submit_time = record.submit_time;
  job.eligible_time = record.eligible_time;
  job.array_job = record.id;
  job.array_index = index;
  job.partition = record.partition;
  job.partitions = record.partitions;
  job.array_range = std::make_unique<ArrayRange>(record.array->range);
  // Own copies: an element's dependencies are decided apart from the record's.
  if (record.dependencies != nullptr)
    job.dependencies = std::make_unique<DependencySet>(*record.dependencies);
  return job;
}

}  // namespace

Job& EventApplier::job_at(JobId id) {
  Job* job = state.jobs_.find_mutable(id);
  CHECK(job != nullptr, "no job {}", id.value());
  return *job;
}

void EventApplier::reference(BlobId id) {
  if (id.value() != 0) state.blobs_.reference(id);
}
void EventApplier::release(BlobId id) {
  if (id.value() != 0 && state.blobs_.release(id)) state.dead_blobs_.push_back(id);
}

void EventApplier::count_element(const Job& job, int step) {
  // A job that belongs to no array.
  if (job.array_job.value() == 0) return;
  Job* record = state.jobs_.find_mutable(job.array_job);
  // The record has been evicted: nothing counts its elements.
  if (record == nullptr || record->array == nullptr) return;
  CHECK(step > 0 || record->array->active_elements > 0);
  record->array->active_elements =
      static_cast<std::uint32_t>(static_cast<int>(record->array->active_elements) + step);
  // The job's own hash is brought up to date by change(), whose part this is.
  if (record != &job) state.jobs_.rehash(*record);
}

void EventApplier::operator()(const JobSubmitted& event) {
  Job job;
  job.id = event.job;
  job.spec = event.spec;
  job.spec_hash = hash_of(*event.spec);
  job.priority = event.priority;
  job.flags = event.flags;
  job.reason = event.reason;
  job.partitions = event.partitions;
  CHECK(!job.partitions.empty(), "job {} without a partition", event.job.value());
  // Shown while it waits; JobStarted says which it is.
  job.partition = job.partitions.front();
  job.time_limit = event.time_limit;
  job.submit_time = now;
  job.first_step = event.first_step;
  if (!event.dependencies.terms.empty()) {
    job.dependencies = std::make_unique<DependencySet>(event.dependencies);
  } else {
    // Without dependencies it is eligible from its begin time on. With them it becomes so by an
    // event.
    job.eligible_time = std::max(now, event.spec->begin_time);
  }
  if (event.array) {
    job.array_job = event.job;
    job.array = std::make_unique<ArrayRecord>();
    job.array->remaining = *event.array;
    job.array->range = range_of(*event.array);
  }
  reference(event.spec->script);
  reference(event.spec->environment);
  CHECK(event.job >= state.next_job_, "job id {} was given before", event.job.value());
  state.next_job_ = JobId(event.job.value() + 1);
  ++state.active_jobs_;
  record_job(state.jobs_.insert(std::move(job)));
}

void EventApplier::operator()(const ArraySplit& event) {
  Job& record = job_at(event.array);
  CHECK(record.array != nullptr && record.array->remaining.indices.test(event.index),
        "array {} has no element {} left", event.array.value(), event.index);
  CHECK(record.array->remaining.indices.count() > 1, "the last element keeps the array's id");
  CHECK(event.element >= state.next_job_, "job id {} was given before", event.element.value());
  state.next_job_ = JobId(event.element.value() + 1);
  record.array->remaining.indices.reset(event.index);
  Job element = element_like(record, event.element, event.index);
  state.jobs_.rehash(record);
  // Each element holds the script for itself, because it may outlive its record.
  reference(element.spec->script);
  reference(element.spec->environment);
  ++state.active_jobs_;
  state.jobs_.add_element(event.array, event.index, event.element);
  state.jobs_.insert(std::move(element));
}

/// The last remaining element starts or ends under the array's own id.
void EventApplier::become_element(Job& job) {
  if (job.array == nullptr || job.array_index) return;
  if (job.array->remaining.indices.count() != 1) return;
  job.array_index = static_cast<std::uint32_t>(job.array->remaining.indices.indices().front());
  job.array_range = std::make_unique<ArrayRange>(job.array->range);
  job.array->remaining.indices = Bitmap();
  // It is listed among its own elements, so that a look-up by index finds it.
  state.jobs_.add_element(job.id, *job.array_index, job.id);
}

void EventApplier::operator()(const JobStarted& event) {
  Job& job = job_at(event.job);
  CHECK(job.is_pending() && !job.holds_resources(), "job {} starts twice", event.job.value());
  become_element(job);
  CHECK(!job.is_array_record() || job.array_index, "array {} starts as a whole", event.job.value());
  // Before the job's change: what is given twice stops the process here.
  for (const NodeGrant& grant : event.allocation->nodes) {
    state.nodes_.at(grant.node).status.last_busy_time = now;
    state.nodes_.allocate(job.id, grant);
  }
  change(job, [&] {
    job.state = JobState::kRunning;
    job.reason = PendingReason::kNone;
    job.flags =
        static_cast<std::uint16_t>(job.flags & ~(job_flag::kRequeued | job_flag::kSpecialExit));
    job.partition = event.partition;
    job.time_limit = event.time_limit;
    job.start_time = now;
    if (!job.eligible_time.is_set()) job.eligible_time = now;
    job.end_time = event.time_limit.is_infinite() ? TimePoint::unset() : now + event.time_limit;
    job.exit = ExitStatus{};
    job.run = std::make_unique<JobRun>();
    job.run->allocation = event.allocation;
    job.run->run_key = event.run_key;
  });
}

void EventApplier::operator()(const JobEnding& event) {
  Job& job = job_at(event.job);
  // A job that is completing may get another end, for example a cancel instead of a return to the
  // queue.
  CHECK(!is_finished(job.state) || job.is_completing(), "job {} ends twice", event.job.value());
  become_element(job);
  // Before the change below, which decides what the job holds.
  const bool had_run = job.holds_resources();
  change(job, [&] {
    // Suspended time ends with the run.
    if (job.state == JobState::kSuspended) job.run->suspended_before += now - job.run->suspend_time;
    job.state = event.state;
    job.reason = event.reason;
    job.exit = event.exit;
    job.cancelled_by = event.by;
    job.end_time = now;
    job.detail = event.detail.empty() ? nullptr : std::make_unique<std::string>(event.detail);
    job.hold_after = event.hold_after;
    job.flags = static_cast<std::uint16_t>(job.flags & ~job_flag::kRequeueAfter);
    // Its nodes are not free before they have said that nothing of the run is left.
    if (had_run) job.flags |= job_flag::kCompleting;
    if (event.requeue_after) job.flags |= job_flag::kRequeueAfter;
  });
  if (event.is_restart) record_restart(job);
  if (event.is_early) record_early_end(job);
  // It never ran, so that no node has to be waited for: this is the attempt's end.
  if (!had_run) {
    if (observer != nullptr) observer->attempt_ended(job, now);
    return;
  }
  // Nothing runs any more: all its nodes are free with this event.
  if (event.is_clean) {
    for (std::size_t i = 0; i < job.run->allocation->nodes.size(); ++i) release_node(job, i);
    finish_release(job);
  }
}

void EventApplier::release_node(Job& job, std::size_t position) {
  // A repeat of a release is no news.
  if (job.run->released.test(position)) return;
  job.run->released.set(position);
  const NodeGrant& grant = job.run->allocation->nodes[position];
  state.nodes_.at(grant.node).status.last_busy_time = now;
  state.nodes_.release(job.id, grant);
}

void EventApplier::finish_release(Job& job) {
  // Other nodes are still to be heard.
  if (!job.run->is_clean()) {
    state.jobs_.rehash(job);
    return;
  }
  // With the last node the job is over: usage and history are of the whole run.
  change(job, [&] { job.flags = static_cast<std::uint16_t>(job.flags & ~job_flag::kCompleting); });
  record_usage(job);
  if (observer != nullptr) observer->attempt_ended(job, now);
}

/// A running step's exit and usage are those of the nodes that the job has left already.
void EventApplier::record_part(JobRun& run, const StepPart& part) {
  // The agent of that node may be gone when the step ends; this is all that is known of its part.
  StepState* step = run.find_step(part.step);
  CHECK(step != nullptr && step->is_running(), "part of step {}, which is over", part.step);
  run.steps_hash -= hash_of(*step);
  step->exit = worse(step->exit, part.exit);
  step->usage += part.usage;
  if (step->detail.empty()) step->detail = part.detail;
  run.steps_hash += hash_of(*step);
}

void EventApplier::operator()(const NodeReleased& event) {
  Job& job = job_at(event.job);
  CHECK(job.run != nullptr && job.is_completing(), "job {} releases a node while it runs",
        event.job.value());
  const auto& nodes = job.run->allocation->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].node == event.node) release_node(job, i);
  }
  // Before finish_release, which may end the run and with it the step.
  for (const StepPart& part : event.parts) record_part(*job.run, part);
  finish_release(job);
}

void EventApplier::operator()(const JobRequeued& event) {
  Job& job = job_at(event.job);
  CHECK(is_finished(job.state) && !job.is_completing(), "job {} is requeued while it holds nodes",
        job.id.value());
  // The next attempt has its own steps; a running one would report into it.
  for (const StepState& step : job.run != nullptr ? job.run->steps : std::vector<StepState>{}) {
    CHECK(!step.is_running(), "job {} is requeued with step {} running", job.id.value(),
          step.id.step);
  }
  change(job, [&] {
    job.state = JobState::kPending;
    job.reason = PendingReason::kNone;
    job.flags = static_cast<std::uint16_t>(job_flag::kRequeued | event.flags);
    job.eligible_time = event.eligible_time;
    job.start_time = job.end_time = TimePoint::unset();
    job.exit = ExitStatus{};
    job.cancelled_by = UserId();
    job.hold_after = 0;
    // Attempt numbers tell runs apart in messages, spools and history.
    job.run.reset();
    job.detail.reset();
    ++job.attempt;
  });
}

void EventApplier::operator()(const JobChanged& event) {
  Job& job = job_at(event.job);
  change(job, [&] {
    if (event.spec != nullptr) {
      job.spec = event.spec;
      job.spec_hash = hash_of(*event.spec);
    }
    if (event.priority) job.priority = *event.priority;
    if (event.time_limit) {
      job.time_limit = *event.time_limit;
      if (job.holds_resources() && !is_finished(job.state)) {
        // Time in suspension is not counted against the limit.
        job.end_time = job.time_limit.is_infinite()
                           ? TimePoint::unset()
                           : job.start_time + job.time_limit + job.run->suspended_before;
      }
    }
    if (event.eligible_time) job.eligible_time = *event.eligible_time;
    if (event.flags) {
      job.flags = static_cast<std::uint16_t>(
          // The event says all holds that stand afterwards, not a change of them.
          (job.flags & ~(job_flag::kAnyHold | job_flag::kSpecialExit)) | *event.flags);
    }
    if (event.dependencies) {
      job.dependencies = event.dependencies->terms.empty()
                             ? nullptr
                             : std::make_unique<DependencySet>(*event.dependencies);
    }
    if (event.partitions) {
      job.partitions = *event.partitions;
      // The first of them is what is shown until it starts.
      job.partition = job.partitions.front();
    }
    if (event.is_warned) job.flags |= job_flag::kWarned;
    if (event.reason) job.reason = *event.reason;
    if (event.array_throttle && job.array != nullptr)
      job.array->remaining.throttle = *event.array_throttle;
    if (event.array && job.array != nullptr) job.array->remaining = *event.array;
  });
}

void EventApplier::operator()(const JobSuspended& event) {
  Job& job = job_at(event.job);
  CHECK(job.state == JobState::kRunning, "job {} is suspended while not running",
        event.job.value());
  change(job, [&] {
    job.state = JobState::kSuspended;
    // The resume moves the end by the time that passed since.
    job.run->suspend_time = now;
  });
}

void EventApplier::operator()(const JobResumed& event) {
  Job& job = job_at(event.job);
  CHECK(job.state == JobState::kSuspended, "job {} is resumed while not suspended",
        event.job.value());
  change(job, [&] {
    const Duration paused = now - job.run->suspend_time;
    job.state = JobState::kRunning;
    job.run->suspended_before += paused;
    if (job.end_time.is_set()) job.end_time = job.end_time + paused;
    job.run->suspend_time = now;
  });
}

void EventApplier::operator()(const JobsEvicted& event) {
  for (const JobId id : event.jobs) {
    Job& job = job_at(id);
    CHECK(job.is_over(), "job {} is evicted before its end", id.value());
    release(job.spec->script);
    release(job.spec->environment);
    // Before it is gone: jobs that depend on the array may still ask how this element ended.
    remember_end(job);
    state.jobs_.erase(id);
  }
}

/// The array's record, which stays as long as one of its elements, knows how they ended.
void EventApplier::remember_end(const Job& job) {
  constexpr std::uint32_t kRemembered = 2;
  // A journal of earlier rules is replayed by those: else its state would not have the hash that
  // was recorded with it.
  if (state.rules_ < kRemembered) return;
  if (job.array_job.value() == 0 || job.array_job == job.id || !job.array_index) return;
  Job* record = state.jobs_.find_mutable(job.array_job);
  if (record == nullptr || record->array == nullptr) return;
  ArrayRecord& array = *record->array;
  const bool is_completed = job.state == JobState::kCompleted;
  (is_completed ? array.evicted_completed : array.evicted_failed).set(*job.array_index);
  state.jobs_.rehash(*record);
}

}  // namespace muster
