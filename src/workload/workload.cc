// In which order the roles hear of events, of time and of the end of a turn is decided here and
// nowhere else. Roles with an index (starts, dependencies) hear of every event; what a kind of
// event sets in motion beyond that stands in Follower.
#include "workload/workload.h"

#include <utility>

#include "admission/submit.h"
#include "base/check.h"
#include "workload/mail/mail.h"
#include "workload/requests/job_requests.h"

namespace muster {

Workload::Workload(WorkloadOptions options, Engine& engine, WorkloadPort& port, RunPolicy& policy)
    : options_(std::move(options)),
      engine_(engine),
      state_(engine.state()),
      roles_{engine,  port,   options_, &policy,  &dependencies_, &launches_,
             &nodes_, &runs_, &starts_, &sweeps_, &timers_} {}
Workload::~Workload() = default;

void Workload::load() {
  recovered_ = state_.seq();
  nodes_.load();
  starts_.load();
  dependencies_.load();
}

void Workload::begin(const CoreStart& start) {
  // Nodes first: the other roles ask for their links.
  nodes_.begin();
  timers_.begin(recovered_);
  runs_.begin();
  if (start.suspect.value() != 0) runs_.hold_suspect(start.suspect);
}

// ---- requests ----

bool Workload::accept(Command& command) {
  starts_.compile();
  if (holds_alternative<PreparedStep>(command.requests.front())) {
    runs_.accept_step(command);
    return true;
  }
  return sweeps_.accept(command);
}

/// One overload for each kind of the workload's requests: the compiler names one that is forgotten.
struct Workload::Handler {
  Workload& workload;
  Draft& draft;
  const Identity& identity;

  Reply operator()(const PreparedSubmit& request) {
    auto submitted = admission::submit(draft, request, identity, workload.starts_);
    return submitted.has_value() ? std::move(submitted).value() : refused(submitted.error());
  }
  Reply operator()(const PreparedStep&) {
    CHECK(false, "a step stands alone, and accept() has it");
  }
  Reply operator()(const CancelJobs& request) {
    return requests::cancel(draft, request, identity, draft.signals);
  }
  Reply operator()(const CancelStep& request) {
    return requests::cancel_step(draft, request, identity, draft.signals);
  }
  Reply operator()(const ControlJobs& request) {
    return requests::control(draft, request, identity);
  }
  Reply operator()(const PreparedUpdate& request) {
    const std::size_t before = draft.events.size();
    Reply reply = requests::update(draft, request, identity);
    workload.starts_.check_changes(draft, before, reply);
    return reply;
  }
  Reply operator()(const ReleaseAllocation& request) {
    return requests::release_allocation(draft, request, identity);
  }
  Reply operator()(const RenewLease& request) {
    return workload.runs_.renew_lease(request.job, identity);
  }
  Reply operator()(const Reconfigure&) {
    if (!identity.is_operator) {
      return refused(Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                           "only an operator may reconfigure"});
    }
    const Status read = workload.roles_.port.reconfigure();
    return read.has_value() ? Reply() : refused(read.error());
  }
  template <PlatformRequest Kind>
  Reply operator()(const Kind&) {
    CHECK(false, "a request of the platform comes to the workload");
  }
};

Reply Workload::handle(Draft& draft, const PreparedRequest& request, const Identity& identity) {
  starts_.compile();
  return visit(Handler{*this, draft, identity}, request);
}

void Workload::before_apply(const Draft& draft) {
  // A job that starts at once is launched from memory, not read back from the journal.
  for (const BlobWrite& blob : draft.blobs) launches_.store_blob(blob);
  // Before the events: the signals name steps as the draft found them, and an end in the same draft
  // may take them away.
  runs_.send_signals(draft.signals);
}

// ---- events ----

/// What each kind of event sets in motion. The compiler names a kind that stands nowhere.
struct Workload::Follower {
  Workload& workload;

  template <class Kind>
  requires(kEventEcho<Kind> == EventEcho::kQuiet) void operator()(const Kind&) {}
  void operator()(const ExperimentChanged&) {}

  const Job& job(JobId id) const { return *workload.state_.jobs().find(id); }

  void operator()(const JobSubmitted& event) {
    workload.starts_.queue_candidate(event.job);
    workload.timers_.arm(job(event.job));
    // A batch job needs no client; any other is of no use to anybody once its client is gone.
    if (event.spec->kind != JobKind::kBatch) workload.runs_.begin_lease(event.job);
  }
  void operator()(const ArraySplit& event) { workload.timers_.arm(job(event.element)); }
  void operator()(const JobChanged& event) {
    workload.starts_.queue_candidate(event.job);
    const Job& changed = job(event.job);
    workload.timers_.arm(changed);
    if (event.time_limit && changed.holds_resources() && !is_finished(changed.state))
      workload.runs_.send_to_nodes(changed, workload.runs_.end_of(changed));
  }
  void operator()(const JobRequeued& event) {
    workload.starts_.queue_candidate(event.job);
    workload.engine_.timers().drop(event.job);  // of the attempt that is over
    workload.timers_.arm(job(event.job));
  }
  void operator()(const JobStarted& event) {
    workload.timers_.arm(job(event.job));
    workload.runs_.mark_room(event.job);
  }
  void operator()(const JobEnding& event) {
    workload.runs_.queue_ending(event.job);
    workload.starts_.mark_freed();
  }
  void operator()(const StopRequested& event) {
    workload.timers_.arm(job(event.job));
    workload.runs_.deliver_stop(job(event.job), std::nullopt);
  }
  void operator()(const StepEnded& event) { workload.timers_.on_step_ended(event.step); }
  void operator()(const JobSuspended& event) {
    const Job& suspended = job(event.job);
    workload.runs_.send_to_nodes(suspended, SuspendJob{suspended.id, suspended.attempt, true});
  }
  void operator()(const JobResumed& event) {
    const Job& resumed = job(event.job);
    // The new end first: no task may run again towards the old one.
    workload.timers_.arm(resumed);
    workload.runs_.send_to_nodes(resumed, workload.runs_.end_of(resumed));
    workload.runs_.send_to_nodes(resumed, SuspendJob{resumed.id, resumed.attempt, false});
    workload.runs_.mark_room(resumed.id);
  }
  void operator()(const NodeReleased&) { workload.starts_.mark_freed(); }
  void operator()(const NodeRegistered&) { workload.starts_.mark_freed(); }
  void operator()(const NodeChanged& event) {
    workload.starts_.mark_freed();
    if ((event.set_conditions & node_condition::kDownCauses) != 0)
      workload.nodes_.queue_downed(event.node);
  }
};

void Workload::after_event(const Event& event) {
  starts_.on_event(event);
  // The indexes first: what the follower sets in motion asks them.
  dependencies_.on_event(event);
  for (Mail& mail : mails_about(event, state_)) engine_.mail(std::move(mail));
  visit(Follower{*this}, event.body);
}

// ---- time ----

void Workload::on_timer(const Timer& timer, const Job& job) { timers_.fire(timer, job); }

void Workload::on_tick() {
  // First: what was silent because this process stood still must not be taken for dead.
  nodes_.notice_pause();
  nodes_.watch_nodes();
  launches_.serve_launches();
  launches_.watch_launches();
  runs_.record_begun();
  runs_.send_due_orders();
  timers_.evict();
}

// ---- the turn ----

void Workload::before_end() { starts_.begin_tries(nodes_.links().size()); }

bool Workload::settle() {
  // Ends come before starts: they free the room that starts take, and decide the dependencies that
  // make jobs eligible.
  nodes_.end_jobs_on_downed();
  runs_.finish_endings();
  dependencies_.decide_dependencies();
  const bool is_all_tried = starts_.settle();
  // Last: ends have made room within their jobs, and starts have made jobs that have room.
  runs_.retry_waiting_steps();
  return is_all_tried && !runs_.has_endings();
}

bool Workload::has_open_ends() const { return runs_.has_endings(); }

void Workload::before_flush(Seq seq) { starts_.before_flush(seq); }

bool Workload::has_work() const {
  return sweeps_.has_work() || nodes_.has_downed() || nodes_.is_watch_cut() ||
         dependencies_.has_affected() || launches_.has_turns_left() || starts_.has_starts_left();
}

void Workload::on_work() {
  nodes_.resume_watch();
  launches_.serve_turns_left();
  sweeps_.on_work();
}

// ---- what leaves ----

void Workload::deliver(NodeIndex node, const ToAgent& message) {
  nodes_.send_or_store(node, message);
}

void Workload::launch(const StepId& step) { launches_.launch(step); }

}  // namespace muster
