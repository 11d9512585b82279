#include "controller/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "controller/backend/experiment_rules.h"
#include "controller/backend/launch_key.h"
#include "controller/config_alignment.h"
#include "controller/draft_check.h"
#include "controller/event_job.h"
#include "state/views.h"

namespace muster {

/// Turns ends of attempts and steps into history records as they are applied.
struct Core::Recorder final : ApplyObserver {
  explicit Recorder(Core& owner) : core(owner) {}
  void attempt_ended(const Job& job, TimePoint) override {
    core.history_.push_back(
        {Seq(core.state_.seq().value() + 1), view_of(job, core.state_, QueryDetail::kFull)});
  }
  void step_ended(const Job& job, const StepState& step, TimePoint) override {
    core.history_.push_back({Seq(core.state_.seq().value() + 1), view_of(step, job, core.state_)});
  }
  Core& core;
};

Core::Core(Options options, JournalPort& journal, CorePort& port)
    : options_(std::move(options)), journal_(journal), port_(port) {}
Core::~Core() = default;

void Core::start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
                 const CoreStart& beginning) {
  now_ = start_time_ = patience_since_ = last_tick_ = now;
  is_started_ = true;
  const Seq recovered = state_.seq();
  const bool is_new = state_.cluster_id().empty();
  is_new_state_ = state_.next_job() == JobId(1);
  // Nothing is derived from the state yet that these two would have to be told.
  append_event(EpochStarted{epoch, is_new ? beginning.new_cluster_id : "", kEventRules}, now);
  if (beginning.clock_step != Duration()) {
    append_event(ClockStepped{beginning.clock_step}, now);
    now_ = start_time_ = patience_since_ = last_tick_ = now = now + beginning.clock_step;
  }
  feed_.load(state_);
  dependencies_.load(state_);
  const std::size_t known_nodes = state_.nodes().all().size();
  emit(ConfigApplied{aligned_config(state_, config)}, now);
  for (NodeChanged& change :
       changes_of_new_nodes(state_, known_nodes, *config, beginning.first_status))
    emit(std::move(change), now);
  for (NodeChanged& change : changes_of_named_nodes(state_, *config)) emit(std::move(change), now);
  if (beginning.job_floor >= state_.next_job())
    emit(JobIdsReserved{JobId(beginning.job_floor.value() + 1)}, now);
  recover_retentions(now);
  links_.resize(state_.nodes().all().size());
  state_.jobs().for_each([&](const Job& job) {
    // History has what ended before this start; it hears of the start itself only with the next
    // end.
    if (job.is_over()) {
      evictions_.insert({job.end_time + state_.settings().min_job_age, job.id, recovered});
    } else {
      arm(job);
    }
    if (job.spec->kind != JobKind::kBatch && !job.is_over()) leases_[job.id] = now + options_.lease;
    if (job.run == nullptr) return;
    for (const StepState& step : job.run->steps) {
      if (!step.is_running()) ended_steps_.push_back({state_.seq(), step.id});
      if (!step.is_running()) continue;
      if (!step.begun.empty()) progress_[step.id].running = step.begun;
      if (!is_finished(job.state) && step.begun.count() < step.layout->nodes.size())
        watch_launch(step.id);
    }
  });
  for (std::uint32_t i = 0; i < state_.nodes().all().size(); ++i) {
    const Node& node = state_.nodes().at(NodeIndex(i));
    if ((node.status.conditions & node_condition::kDown) != 0 && !node.jobs.empty())
      downed_.push_back(NodeIndex(i));
  }
  // A crash may have come between an experiment's change and that of its trials.
  for (const auto& [id, experiment] : state_.experiments().experiments()) {
    if (!is_final(experiment.state))
      carried_on_[id] = CarriedOn{0, Identity{experiment.spec->user, experiment.spec->job->group}};
  }
  for (const auto& [job, expiry] : leases_) timers_.set(Timer{expiry, job, 0, TimerKind::kLease});
  if (beginning.suspect.value() != 0) hold_suspect(beginning.suspect, now);
  end_turn(now);
}

/// A job over which this process died again and again waits until an operator has looked at it; all
/// others go on.
void Core::hold_suspect(JobId suspect, TimePoint now) {
  const Job* job = state_.jobs().find(suspect);
  const std::string died =
      fmt::format("the controller stopped twice while it worked on job {}", suspect.value());
  if (job == nullptr || job->is_over()) {
    port_.warn(died + ", which is not in its state: see what this log says of the stop");
  } else if (!job->is_pending()) {
    port_.warn(
        fmt::format("{}, which has begun and cannot be held: if it does so again, stop it and run "
                    "`musterd --drop-job {}`",
                    died, suspect.value()));
  } else {
    auto spec = std::make_shared<JobSpec>(*job->spec);
    spec->text.set(JobText::kAdminComment, "held: " + died);
    JobChanged change;
    change.job = suspect;
    change.spec = std::move(spec);
    change.flags =
        static_cast<std::uint16_t>((job->flags & job_flag::kAnyHold) | job_flag::kAdminHeld);
    change.priority = 0;
    change.reason = PendingReason::kJobHeldAdmin;
    emit(std::move(change), now);
    port_.warn(fmt::format("{}: it is held. Release it with `scontrol release {}`, or cancel it",
                           died, suspect.value()));
  }
}

void Core::append_event(EventBody body, TimePoint now) {
  Recorder recorder(*this);
  if (const JobId job = starting_.value() != 0 ? starting_ : job_of(body); job.value() != 0)
    port_.works_on(job);
  events_.push_back(Event{std::max(now, state_.time()), std::move(body)});
  state_.apply(events_.back(), &recorder);
}

void Core::emit(EventBody body, TimePoint now) {
  append_event(std::move(body), now);
  const auto asked = search_asked_by(events_.back().body, state_);
  const auto concerned = experiment_of(events_.back().body, state_);
  after_event(events_.back());
  if (asked) emit(*asked, now);
  if (!concerned) return;
  const Experiment& experiment = *state_.experiments().find(*concerned);
  const auto ended = end_state(experiment);
  if (!ended) return;
  if (std::string doubt = unheard_metric_text(experiment, state_);
      *ended == ExperimentState::kCompleted && !doubt.empty()) {
    ExperimentChanged change;
    change.experiment = *concerned;
    change.detail = std::move(doubt);
    append_event(std::move(change), now);
    after_event(events_.back());
  }
  emit(ExperimentEnded{*concerned, *ended}, now);
}

/// Derived indexes follow each event at once; what the event sets in motion is noted for the end of
/// the turn.
void Core::after_event(const Event& event) {
  feed_.on_event(event, state_);
  dependencies_.on_event(event, state_);
  for (Mail& mail : mails_about(event, state_)) mail_when_durable(std::move(mail));
  if (const auto* experiment = get_if<ExperimentChanged>(&event.body);
      experiment != nullptr && experiment->state) {
    carried_on_[experiment->experiment] = CarriedOn{0, acting_};
  }
  if (const auto* submitted = get_if<JobSubmitted>(&event.body)) {
    candidates_.push_back(submitted->job);
    arm(*state_.jobs().find(submitted->job));
  } else if (const auto* split = get_if<ArraySplit>(&event.body)) {
    arm(*state_.jobs().find(split->element));
  } else if (const auto* changed = get_if<JobChanged>(&event.body)) {
    candidates_.push_back(changed->job);
    const Job& job = *state_.jobs().find(changed->job);
    arm(job);
    if (changed->time_limit && job.holds_resources() && !is_finished(job.state))
      tell_nodes(job, end_of(job));
  } else if (const auto* requeued = get_if<JobRequeued>(&event.body)) {
    candidates_.push_back(requeued->job);
    timers_.drop(requeued->job);  // of the attempt that is over
    arm(*state_.jobs().find(requeued->job));
  } else if (const auto* started = get_if<JobStarted>(&event.body)) {
    arm(*state_.jobs().find(started->job));
    if (!waiting_steps_.empty()) room_for_steps_.push_back(started->job);
  } else if (const auto* ending = get_if<JobEnding>(&event.body)) {
    endings_.push_back(ending->job);
    note_trial(ending->job);
    has_freed_ = true;
  } else if (const auto* stop = get_if<StopRequested>(&event.body)) {
    const Job& job = *state_.jobs().find(stop->job);
    arm(job);
    deliver_stop(job, std::nullopt);
  } else if (const auto* step = get_if<StepEnded>(&event.body)) {
    ended_steps_.push_back({Seq(state_.seq().value() + 1), step->step});
  } else if (const auto* suspended = get_if<JobSuspended>(&event.body)) {
    const Job& job = *state_.jobs().find(suspended->job);
    tell_nodes(job, SuspendJob{job.id, job.attempt, true});
  } else if (const auto* resumed = get_if<JobResumed>(&event.body)) {
    const Job& job = *state_.jobs().find(resumed->job);
    arm(job);
    tell_nodes(job, end_of(job));
    tell_nodes(job, SuspendJob{job.id, job.attempt, false});
    if (!waiting_steps_.empty()) room_for_steps_.push_back(job.id);
  } else if (holds_alternative<NodeReleased>(event.body) ||
             holds_alternative<NodeChanged>(event.body) ||
             holds_alternative<NodeRegistered>(event.body)) {
    has_freed_ = true;
  }
  if (const auto* released = get_if<NodeReleased>(&event.body)) note_trial(released->job);
  if (const auto* node = get_if<NodeChanged>(&event.body);
      node != nullptr && (node->set_conditions & node_condition::kDownCauses) != 0) {
    downed_.push_back(node->node);
  }
}

/// Every node of a run.
void Core::tell_nodes(const Job& job, const ToAgent& message) {
  for (const NodeGrant& grant : job.run->allocation->nodes) send_when_durable(grant.node, message);
}

/// When the nodes themselves may end the job, should nobody reach them.
ChangeEnd Core::end_of(const Job& job) const {
  const TimePoint end =
      job.end_time.is_set() ? job.end_time + over_time_limit(job) : TimePoint::never();
  return ChangeEnd{job.id, job.attempt, end, end - std::max(now_, state_.time())};
}

/// What a frontend has overlooked costs its client the request, and nobody else anything.
Status Core::check_before_apply(const Draft& draft) {
  Status sound = check_draft(draft);
  if (!sound.has_value()) port_.warn("a request is refused: " + sound.error().text());
  return sound;
}

void Core::apply_draft(Draft& draft, TimePoint now) {
  for (BlobWrite& blob : draft.blobs) {
    state_.add_blob(blob);
    blobs_.put(blob.id, blob.bytes);
    new_blobs_.push_back(std::move(blob));
  }
  for (EventBody& event : draft.events) emit(std::move(event), now);
}

void Core::on_command(Command command, TimePoint now) {
  now_ = now;
  feed_.compile(state_);
  // A job between its end and what follows from it is not shown to the frontend.
  if (!endings_.empty()) settle(now);
  take(std::move(command), now);
}

/// A repeat is answered as the first time, once that answer is durable.
void Core::take(Command command, TimePoint now) {
  if (command.request.is_set()) {
    if (const auto earlier = state_.answers().find(command.request)) {
      if (earlier->user == command.identity.user) {
        replies_.emplace_back(command.token, earlier->replies);
        return;
      }
      command.request = RequestId();  // somebody else's number: answered, and not kept
    }
  }
  if (joins_sweep(command)) return;
  acting_ = command.identity;
  answer(command, now);
  acting_ = {};
}

namespace {

bool is_new_work(const PreparedRequest& request) {
  return holds_alternative<PreparedSubmit>(request) || holds_alternative<PreparedStep>(request) ||
         holds_alternative<PreparedExperiment>(request) ||
         holds_alternative<SearchDecision>(request);
}

}  // namespace

Reply Core::handle(Draft& draft, const PreparedRequest& request, const Identity& identity,
                   std::vector<frontend::SignalOrder>& orders, TimePoint now) {
  Reply reply;
  if (refusal_ && is_new_work(request)) {
    reply.error = refusal_;
  } else if (const auto* submit = get_if<PreparedSubmit>(&request)) {
    auto submitted = frontend::submit(draft, *submit, identity);
    if (submitted.has_value()) {
      const auto& event = get<JobSubmitted>(draft.events.back());
      const Status possible = check_satisfiable(*event.spec, event.partitions);
      if (!possible.has_value()) reply.error = possible.error();
      if (possible.has_value()) reply = std::move(submitted).value();
    } else {
      reply.error = submitted.error();
    }
  } else if (const auto* cancel = get_if<CancelJobs>(&request)) {
    reply = frontend::cancel(draft, *cancel, identity, orders);
  } else if (const auto* cancel_step = get_if<CancelStep>(&request)) {
    reply = frontend::cancel_step(draft, *cancel_step, identity, orders);
  } else if (const auto* control = get_if<ControlJobs>(&request)) {
    reply = frontend::control(draft, *control, identity);
  } else if (const auto* update = get_if<PreparedUpdate>(&request)) {
    const std::size_t before = draft.events.size();
    reply = frontend::update(draft, *update, identity);
    check_changes(draft, before, reply);
  } else if (const auto* release = get_if<ReleaseAllocation>(&request)) {
    reply = frontend::release_allocation(draft, *release, identity);
  } else if (const auto* renew = get_if<RenewLease>(&request)) {
    const Job* job = state_.jobs().find(renew->job);
    if (job != nullptr && !frontend::may_control(*job, identity)) {
      reply.error = Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                          "only its owner or an operator may keep an allocation"};
    } else if (const auto lease = leases_.find(renew->job); lease != leases_.end()) {
      lease->second = now + options_.lease;
    }
  } else if (holds_alternative<Reconfigure>(request)) {
    if (!identity.is_operator) {
      reply.error = Error{ErrorCode::kPermissionDenied, "Access/permission denied",
                          "only an operator may reconfigure"};
    } else if (const Status read = port_.reconfigure(); !read.has_value()) {
      reply.error = read.error();
    }
  } else {
    reply = handle_experiment(draft, request, identity);
  }
  return reply;
}

/// Of what was drafted from event `from` on.
void Core::check_changes(const Draft& draft, std::size_t from, Reply& reply) const {
  for (std::size_t i = from; i < draft.events.size() && !reply.error; ++i) {
    const auto* change = get_if<JobChanged>(&draft.events[i]);
    if (change == nullptr) continue;
    if (const Status possible = check_change(*change); !possible.has_value())
      reply.error = possible.error();
  }
}

/// An update that makes a waiting job impossible is refused. One that was impossible before may
/// still be renamed.
Status Core::check_change(const JobChanged& change) const {
  const Job* job = state_.jobs().find(change.job);
  if (job == nullptr || !job->is_pending() || (change.spec == nullptr && !change.partitions))
    return {};
  const auto& partitions = change.partitions ? *change.partitions : job->partitions.to_vector();
  const Status possible =
      check_satisfiable(change.spec != nullptr ? *change.spec : *job->spec, partitions);
  if (possible.has_value() ||
      !check_satisfiable(*job->spec, job->partitions.to_vector()).has_value())
    return {};
  return possible;
}

namespace {

/// Of several requests together; more would make a turn long. What concerns many jobs is asked for
/// by itself, and done part by part. One about an experiment or about nodes is done at once,
/// however much it is: half of a decision of a search is none.
constexpr std::size_t kEventsPerBatch = 4096;

/// Each is drafted against the state as it is, so that two about one experiment might contradict
/// each other; a filter may mean any number of jobs.
bool must_stand_alone(const PreparedRequest& request) {
  if (const auto* cancel = get_if<CancelJobs>(&request);
      cancel != nullptr && cancel->filter.jobs.empty())
    return true;
  return visit(
      [](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        return !(std::is_same_v<Kind, PreparedSubmit> || std::is_same_v<Kind, PreparedStep> ||
                 std::is_same_v<Kind, CancelJobs> || std::is_same_v<Kind, ControlJobs> ||
                 std::is_same_v<Kind, PreparedUpdate> || std::is_same_v<Kind, ReleaseAllocation> ||
                 std::is_same_v<Kind, RenewLease> || std::is_same_v<Kind, CancelStep> ||
                 std::is_same_v<Kind, Reconfigure>);
      },
      request);
}

}  // namespace

JobId asking_job(const PreparedRequest& request) {
  if (const auto* cancel = get_if<CancelJobs>(&request)) return cancel->asked_from;
  if (const auto* control = get_if<ControlJobs>(&request)) return control->asked_from;
  if (const auto* cancel_step = get_if<CancelStep>(&request)) return cancel_step->asked_from;
  return {};
}

void Core::send_signals(const std::vector<frontend::SignalOrder>& orders, TimePoint now) {
  for (const frontend::SignalOrder& order : orders) {
    const Job* job = state_.jobs().find(order.step.job);
    // A script alone is sent its signal, and whoever asks is a child of it.
    const bool is_asker_spared = order.batch_only || !askers_.contains(order.step.job);
    const StepState& step = *job->run->find_step(order.step.step);
    for (const NodeGrant& grant : step.layout->nodes) {
      ToAgent message =
          SignalStep{order.step, order.signal, order.batch_only, job->run->launch_key_of(step)};
      if (is_asker_spared) {
        send_when_durable(grant.node, std::move(message));
      } else {
        later_orders_.emplace(now + options_.signal_grace,
                              std::pair(grant.node, std::move(message)));
      }
    }
  }
}

/// A batch is atomic: when one request is refused, none of it is applied. A request about many jobs
/// that stands alone is not: it is done part by part.
void Core::answer(Command& command, TimePoint now) {
  if (command.requests.size() > 1 && std::ranges::any_of(command.requests, must_stand_alone)) {
    Reply refusal;
    refusal.error =
        Error{ErrorCode::kInvalidArgument,
              "a request about experiments, or about all jobs of a filter, stands alone",
              "make several requests of it"};
    replies_.emplace_back(command.token, std::vector<Reply>(command.requests.size(), refusal));
    return;
  }
  if (command.requests.size() == 1 && holds_alternative<PreparedStep>(command.requests.front())) {
    const PreparedStep request = get<PreparedStep>(command.requests.front());
    const std::uint64_t token = command.token;
    Reply reply = create_step(request, command.identity, now, command);
    if (reply.error && reply.error->code == ErrorCode::kUnavailable)
      return;  // kept until a step ends
    replies_.emplace_back(token, std::vector<Reply>{std::move(reply)});
    return;
  }
  if (begin_sweep(command, now)) return;
  Draft draft(state_, now);
  std::vector<Reply> replies;
  std::vector<frontend::SignalOrder> orders;
  bool is_refused = false;
  for (const PreparedRequest& request : command.requests) {
    if (const JobId asker = asking_job(request); asker.value() != 0) askers_.insert(asker);
    replies.push_back(handle(draft, request, command.identity, orders, now));
    if (command.requests.size() > 1 && draft.events.size() > kEventsPerBatch &&
        !replies.back().error) {
      replies.back().error =
          Error{ErrorCode::kInvalidArgument, "the requests of one batch concern too many jobs",
                "make several requests of it"};
    }
    if (replies.back().error) draft.events.clear();  // nothing of it will be applied
    is_refused = is_refused || replies.back().error.has_value();
  }
  if (const Status sound = is_refused ? Status() : check_before_apply(draft); !sound.has_value()) {
    is_refused = true;
    for (Reply& reply : replies) {
      reply = Reply();
      reply.error = sound.error();
    }
  }
  if (is_refused) {
    for (Reply& reply : replies) {
      if (reply.error) continue;
      reply = Reply();
      reply.error = Error{ErrorCode::kFailedPrecondition, "Not done",
                          "another request of the same batch was refused"};
    }
  } else {
    send_signals(orders, now);
    apply_draft(draft, now);
    for (std::size_t i = 0; i < command.requests.size(); ++i) {
      const auto* submit = get_if<PreparedSubmit>(&command.requests[i]);
      if (submit == nullptr || submit->spec->kind == JobKind::kBatch) continue;
      leases_[replies[i].job] = now + options_.lease;
      timers_.set(Timer{now + options_.lease, replies[i].job, 0, TimerKind::kLease});
    }
    if (command.request.is_set() && !draft.events.empty()) {
      emit(RequestAnswered{command.request, command.identity.user, replies}, now);
    }
  }
  replies_.emplace_back(command.token, std::move(replies));
}

Reply Core::create_step(const PreparedStep& request, const Identity& identity, TimePoint now,
                        Command& command) {
  Reply reply;
  if (refusal_) {
    reply.error = refusal_;
    return reply;
  }
  Draft draft(state_, now);
  auto spec = std::make_shared<StepSpec>(*request.spec);
  spec->environment = draft.blob_for(request.environment);
  const bool is_immediate = spec->is_immediate;
  auto created = frontend::create_step(state_, request.job, std::move(spec), identity);
  if (!created.has_value()) {
    reply.error = created.error();
    if (created.error().code == ErrorCode::kUnavailable && is_immediate) {
      reply.error->code = ErrorCode::kFailedPrecondition;
    } else if (created.error().code == ErrorCode::kUnavailable) {
      waiting_steps_[request.job].push_back(std::move(command));
    }
    return reply;
  }
  const StepId step = created->step;
  created->launch_key = draw_launch_key(state_, step);
  draft.add(std::move(created).value());
  if (const Status sound = check_before_apply(draft); !sound.has_value()) {
    reply.error = sound.error();
    return reply;
  }
  reply.job = request.job;
  reply.step = step;
  reply.is_started = true;
  apply_draft(draft, now);
  order_launch(*reply.step);
  if (command.request.is_set()) emit(RequestAnswered{command.request, identity.user, {reply}}, now);
  return reply;
}

Seq Core::due() const { return events_.empty() ? state_.seq() : Seq(state_.seq().value() + 1); }

void Core::mail_when_durable(Mail mail) { outbox_.push_back(Outgoing{due(), std::move(mail)}); }

void Core::send_when_durable(NodeIndex node, ToAgent message) {
  outbox_.push_back(Outgoing{due(), std::pair(node, std::move(message))});
}

/// `scontrol requeue $SLURM_JOB_ID` must not be ended by the very order it gave.
void Core::send_end(JobId job, NodeIndex node, ToAgent message, TimePoint now) {
  if (!askers_.contains(job)) return send_when_durable(node, std::move(message));
  later_orders_.emplace(now + options_.answer_grace, std::pair(node, std::move(message)));
}

/// Scripts often exit once they have asked for their end.
bool Core::is_to_be_terminated(const TerminateJob& order, NodeIndex node) const {
  const Job* job = state_.jobs().find(order.job);
  return job != nullptr && job->attempt == order.attempt && job->is_completing() &&
         is_running_on(*job, node);
}

void Core::send_due_orders(TimePoint now) {
  while (!later_orders_.empty() && later_orders_.begin()->first <= now) {
    auto [node, message] = std::move(later_orders_.begin()->second);
    later_orders_.erase(later_orders_.begin());
    const auto* terminate = get_if<TerminateJob>(&message);
    if (terminate == nullptr || is_to_be_terminated(*terminate, node))
      send_when_durable(node, std::move(message));
  }
}

void Core::end_turn(TimePoint now) {
  if (!is_started_) return;
  now_ = now;
  tries_left_ = tries_per_turn(links_.size());
  settle(now);
  askers_.clear();
  allowance_ = kJobsPerTurn;
  flush(now);
  port_.works_on(JobId());
}

void Core::settle(TimePoint now) {
  // Each round may set the next in motion: an end frees nodes, a start may satisfy a dependency.
  // Every round consumes what it handles, and starts are bounded by what is free, so this ends.
  for (bool is_quiet = false; !is_quiet;) {
    const std::size_t before = events_.size();
    end_jobs_on_downed(now);
    for (const JobId id : std::exchange(endings_, {})) {
      if (const Job* job = state_.jobs().find(id)) on_ending(*job, now);
    }
    end_trials(now);
    settle_dependencies(now);
    feed_.settle(state_);
    start_candidates(now);
    start_successors(now);
    for (const JobId id : std::exchange(room_for_steps_, {})) retry_waiting_steps(id, now);
    is_quiet =
        events_.size() == before && endings_.empty() && (candidates_.empty() || tries_left_ == 0);
  }
}

void Core::flush(TimePoint now) {
  const Seq seq = due();
  for (auto& [token, replies] : replies_) {
    for (Reply& reply : replies) {
      const Job* job = reply.job.value() == 0 ? nullptr : state_.jobs().find(reply.job);
      reply.is_started = reply.is_started || (job != nullptr && job->holds_resources());
    }
    outbox_.push_back(Outgoing{seq, std::pair(token, std::move(replies))});
  }
  replies_.clear();
  if (events_.empty()) {
    if (undurable_.empty()) on_durable(state_.seq(), now);
    return;
  }
  auto batch = std::make_shared<EventBatch>();
  batch->seq = seq;
  batch->epoch = state_.epoch();
  batch->events = std::exchange(events_, {});
  batch->blobs = std::exchange(new_blobs_, {});
  batch->dead_blobs = state_.seal(seq);
  revisions_.emplace_back(seq, snapshot_.revision());
  while (revisions_.size() > 100'000) revisions_.pop_front();
  undurable_.push_back(DurableUpdate{batch, std::exchange(history_, {})});
  journal_.append(batch);
}

/// What may be lost on the way to a node is given again when that registers, by the state; of a
/// signal the state knows nothing.
void Core::send_or_keep(NodeIndex node, const ToAgent& message) {
  NodeLink& link = links_[node.value()];
  const auto* signal = get_if<SignalStep>(&message);
  // Where launches wait, for others' work to be gone or for their turn, so do signals to what is to
  // be launched. An end is in the state.
  const bool is_end = signal != nullptr && signal->signal == SIGKILL && !signal->batch_only;
  const bool is_waiting = signal != nullptr && !is_end &&
                          (link.is_fenced() || launches_.is_waiting({signal->id, node})) &&
                          !has_begun_on(node, signal->id);
  if (link.is_connected && !is_waiting) return port_.send(node, message);
  if (signal != nullptr) keep_signal(node, *signal);
}

/// Once is enough of each, in the order in which they were last given: SIGSTOP and SIGCONT undo one
/// another.
void Core::keep_signal(NodeIndex node, const SignalStep& signal) {
  auto& missed = links_[node.value()].missed_signals;
  std::erase_if(missed, [&](const SignalStep& one) {
    return one.id == signal.id && one.launch_key == signal.launch_key &&
           one.signal == signal.signal && one.batch_only == signal.batch_only;
  });
  const auto owner_of = [&](const SignalStep& one) {
    const Job* job = state_.jobs().find(one.id.job);
    return job == nullptr ? UserId() : job->spec->user;
  };
  const auto owned = [&] { return std::ranges::count(missed, owner_of(signal), owner_of); };
  if (owned() >= NodeLink::kMissedSignalsMax) {
    std::erase_if(missed,
                  [&](const SignalStep& one) { return find_launchable(one.id) == nullptr; });
  }
  if (owned() < NodeLink::kMissedSignalsMax) return missed.push_back(signal);
  port_.warn(fmt::format("signals that wait for node {} are many: signal {} to step {}.{} is lost",
                         state_.nodes().at(node).config.name, signal.signal, signal.id.job.value(),
                         signal.id.step));
}

void Core::on_durable(Seq seq, TimePoint now) {
  now_ = now;
  while (!undurable_.empty() && undurable_.front().batch->seq <= seq) {
    port_.publish(std::move(undurable_.front()));
    undurable_.pop_front();
  }
  while (!outbox_.empty() && outbox_.front().seq <= seq) {
    Outgoing out = std::move(outbox_.front());
    outbox_.pop_front();
    if (auto* reply = std::get_if<0>(&out.what)) {
      port_.reply(reply->first, std::move(reply->second));
    } else if (auto* message = std::get_if<1>(&out.what)) {
      send_or_keep(message->first, message->second);
    } else if (auto* mail = std::get_if<Mail>(&out.what)) {
      port_.mail(std::move(*mail));
    } else {
      launch(std::get<StepId>(out.what));
    }
  }
}

}  // namespace muster
