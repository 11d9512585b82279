#include "engine/engine.h"

#include <algorithm>
#include <iterator>

#include "engine/config_alignment.h"
#include "engine/draft_check.h"
#include "engine/event_job.h"
#include "state/views.h"

namespace muster {
namespace {

/// Batches on their way to the journal beyond which no further part of anything is taken up: the
/// disk sets the pace.
constexpr std::size_t kUndurableMax = 2;
/// Timers that one turn fires: what is left waits for the next.
constexpr std::size_t kTimersPerTurn = 1000;
/// Events of several requests together; more would make a turn long. What concerns many jobs is
/// asked for by itself, and done part by part. One about an experiment or about nodes is done at
/// once, however much it is: half of a decision of a search is none.
constexpr std::size_t kEventsPerBatch = 4096;

std::vector<Reply> refused_all(const Command& command, const Error& why) {
  Reply refusal;
  refusal.error = why;
  return std::vector<Reply>(command.requests.size(), refusal);
}

}  // namespace

/// Turns ends of attempts and steps into history records as they are applied.
struct Engine::Recorder final : ApplyObserver {
  explicit Recorder(Engine& owner) : engine(owner) {}
  void attempt_ended(const Job& job, TimePoint) override {
    engine.history_.push_back({engine.applying(), view_of(job, engine.state_, QueryDetail::kFull)});
  }
  void step_ended(const Job& job, const StepState& step, TimePoint) override {
    engine.history_.push_back({engine.applying(), view_of(step, job, engine.state_)});
  }
  Engine& engine;
};

Engine::Engine(JournalPort& journal, EnginePort& port) : journal_(journal), port_(port) {}
Engine::~Engine() = default;

void Engine::attach(std::array<Module*, kModuleCount> modules, NodeSender& sender) {
  modules_ = modules;
  sender_ = &sender;
}

void Engine::start(Epoch epoch, std::shared_ptr<const ClusterConfig> config, TimePoint now,
                   const CoreStart& beginning) {
  now_ = now;
  is_started_ = true;
  const bool is_new = state_.cluster_id().empty();
  // By append(): the modules have loaded nothing yet, and find these two in the state when they do.
  append(EpochStarted{epoch, is_new ? beginning.new_cluster_id : "", kEventRules});
  if (beginning.clock_step != Duration()) {
    append(ClockStepped{beginning.clock_step});
    now_ = now_ + beginning.clock_step;
  }
  // Modules derive what they keep from the state that the last run left. What the new configuration
  // changes reaches them as events.
  for (Module* module : modules_) module->load();
  const std::size_t known_nodes = state_.nodes().all().size();
  emit(ConfigApplied{aligned_config(state_, config)});
  for (NodeChanged& change :
       changes_of_new_nodes(state_, known_nodes, *config, beginning.first_status))
    emit(std::move(change));
  for (NodeChanged& change : changes_of_named_nodes(state_, *config)) emit(std::move(change));
  // History has jobs that this state has lost: an id is never given twice.
  if (beginning.job_floor >= state_.next_job())
    emit(JobIdsReserved{JobId(beginning.job_floor.value() + 1)});
  for (Module* module : modules_) module->begin(beginning);
  end_turn();
}

// ---- commands ----

void Engine::on_command(Command command) {
  // A job between its end and what follows from it is not shown to a request.
  if (std::ranges::any_of(modules_, [](Module* module) { return module->has_open_ends(); }))
    settle();
  handle(std::move(command));
}

/// A repeat is answered as the first time, once that answer is durable.
void Engine::handle(Command command) {
  if (command.request.is_set()) {
    if (const auto earlier = state_.answers().find(command.request)) {
      if (earlier->user == command.identity.user) return reply(command.token, earlier->replies);
      command.request = RequestId();  // somebody else's number: answered, and not kept
    }
  }
  acting_ = command.identity;
  draft_and_apply(command);
  acting_ = {};
}

/// A batch is atomic: when one request is refused, none of it is applied. A command that a module
/// takes as a whole is not: it is done part by part.
void Engine::draft_and_apply(Command& command) {
  if (command.requests.size() > 1 && std::ranges::any_of(command.requests, must_stand_alone)) {
    return reply(
        command.token,
        refused_all(command, {ErrorCode::kInvalidArgument,
                              "a request for a step, about experiments, or about all jobs of a "
                              "filter, stands alone",
                              "make several requests of it"}));
  }
  if (command.requests.size() == 1 && module_for(command.requests.front()).accept(command)) return;
  Draft draft(state_, now_);
  std::vector<Reply> replies = draft_replies(draft, command);
  const bool is_refused =
      std::ranges::any_of(replies, [](const Reply& one) { return one.error.has_value(); });
  if (is_refused) {
    for (Reply& one : replies) {
      if (one.error) continue;
      one = Reply();
      one.error = Error{ErrorCode::kFailedPrecondition, "Not done",
                        "another request of the same batch was refused"};
    }
  } else if (const Status sound = check(draft); !sound.has_value()) {
    replies = refused_all(command, sound.error());
  } else {
    apply(draft);
    // In one batch with what it answers: after a crash a repeat finds both, or neither.
    if (command.request.is_set() && !draft.events.empty())
      emit(RequestAnswered{command.request, command.identity.user, replies});
  }
  reply(command.token, std::move(replies));
}

std::vector<Reply> Engine::draft_replies(Draft& draft, const Command& command) {
  std::vector<Reply> replies;
  for (const PreparedRequest& request : command.requests) {
    remember_asker(asking_job(request));
    Reply one;
    if (refusal_ && is_new_work(request)) {
      one.error = refusal_;
    } else {
      one = module_for(request).handle(draft, request, command.identity);
    }
    if (command.requests.size() > 1 && draft.events.size() > kEventsPerBatch && !one.error) {
      one.error =
          Error{ErrorCode::kInvalidArgument, "the requests of one batch concern too many jobs",
                "make several requests of it"};
    }
    if (one.error) draft.events.clear();  // nothing of it will be applied
    replies.push_back(std::move(one));
  }
  return replies;
}

// ---- events ----

void Engine::work_on(JobId job) {
  working_on_ = job;
  if (job.value() != 0) port_.works_on(job);
}

/// Before a job becomes known to anybody: from then on its specification never changes.
void Engine::share_request(EventBody& body) {
  if (auto* submitted = get_if<JobSubmitted>(&body)) requests_.share(submitted->spec);
  auto* changed = get_if<JobChanged>(&body);
  if (changed != nullptr && changed->spec != nullptr) requests_.share(changed->spec);
}

void Engine::append(EventBody&& body) {
  share_request(body);
  Recorder recorder(*this);
  // Named before the event is applied: should that end the process again and again, the next start
  // knows which job to hold (hold_suspect).
  if (const JobId job = working_on_.value() != 0 ? working_on_ : job_of(body); job.value() != 0)
    port_.works_on(job);
  // The time of events does not go back where a restored state is ahead of the clock.
  events_.push_back(Event{std::max(now_, state_.time()), std::move(body)});
  state_.apply(events_.back(), &recorder);
}

void Engine::emit(EventBody body) {
  append(std::move(body));
  const Event& event = events_.back();
  for (Module* module : modules_) module->after_event(event);
}

Status Engine::check(const Draft& draft) {
  Status sound = check_draft(draft);
  if (!sound.has_value()) port_.warn("a request is refused: " + sound.error().text());
  return sound;
}

void Engine::apply(Draft& draft) {
  for (Module* module : modules_) module->before_apply(draft);
  // Blobs come first: an event that refers to one that is not there stops the process.
  for (BlobWrite& blob : draft.blobs) {
    state_.add_blob(blob);
    new_blobs_.push_back(std::move(blob));
  }
  for (EventBody& event : draft.events) emit(std::move(event));
}

// ---- what leaves ----

Seq Engine::due() const { return events_.empty() ? state_.seq() : applying(); }

bool Engine::is_journal_behind() const { return undurable_.size() >= kUndurableMax; }

void Engine::reply(std::uint64_t token, std::vector<Reply> replies) {
  replies_.emplace_back(token, std::move(replies));
}
void Engine::send(NodeIndex node, ToAgent message) {
  outbox_.push_back(Outgoing{due(), std::pair(node, std::move(message))});
}
void Engine::launch(const StepId& step) { outbox_.push_back(Outgoing{due(), step}); }
void Engine::mail(Mail mail) { outbox_.push_back(Outgoing{due(), std::move(mail)}); }

// ---- the turn ----

void Engine::on_tick() {
  if (!is_started_) return;
  // Before the timers: the workload notices here that this process stood still, and judges no limit
  // by that.
  for (Module* module : modules_) module->on_tick();
  for (std::size_t fired = 0; fired < kTimersPerTurn && timers_.is_due(now_); ++fired) {
    const Timer timer = timers_.pop();
    if (const Job* job = state_.jobs().find(timer.job))
      modules_[static_cast<std::size_t>(module_of(timer.kind))]->on_timer(timer, *job);
  }
}

bool Engine::has_work() const {
  return is_started_ && !is_journal_behind() &&
         std::ranges::any_of(modules_, [](Module* module) { return module->has_work(); });
}

void Engine::on_work() {
  for (Module* module : modules_) module->on_work();
}

void Engine::end_turn() {
  if (!is_started_) return;
  for (Module* module : modules_) module->before_end();
  settle();
  askers_.clear();
  allowance_ = kJobsPerTurn;
  flush();
  port_.works_on(JobId());
}

void Engine::settle() {
  // Each round may set the next in motion: an end frees nodes, a start may satisfy a dependency.
  // Every round consumes what it handles, and starts are bounded by what is free, so this ends.
  for (bool is_quiet = false; !is_quiet;) {
    const std::size_t before = events_.size();
    is_quiet = true;
    for (Module* module : modules_) is_quiet = module->settle() && is_quiet;
    is_quiet = is_quiet && events_.size() == before;
  }
}

void Engine::flush() {
  // An answer waits for its own events, and one without events for those that it may rest on.
  const Seq seq = due();
  for (auto& [token, replies] : replies_) {
    for (Reply& one : replies) {
      const Job* job = one.job.value() == 0 ? nullptr : state_.jobs().find(one.job);
      one.is_started = one.is_started || (job != nullptr && job->holds_resources());
    }
    outbox_.push_back(Outgoing{seq, std::pair(token, std::move(replies))});
  }
  replies_.clear();
  if (events_.empty()) {
    // With nothing on its way to the disk nobody would call us: what was asked leaves at once.
    if (undurable_.empty()) on_durable(state_.seq());
    return;
  }
  auto batch = std::make_shared<EventBatch>();
  batch->seq = seq;
  batch->epoch = state_.epoch();
  batch->events.assign(std::move_iterator(events_.begin()), std::move_iterator(events_.end()));
  events_.clear();
  batch->blobs = std::exchange(new_blobs_, {});
  batch->dead_blobs = state_.seal(seq);
  for (Module* module : modules_) module->before_flush(seq);
  undurable_.push_back(DurableUpdate{batch, std::exchange(history_, {})});
  journal_.append(batch);
}

void Engine::on_durable(Seq seq) {
  // Followers first: who has the answer and asks a replica sees what was done.
  while (!undurable_.empty() && undurable_.front().batch->seq <= seq) {
    port_.publish(std::move(undurable_.front()));
    undurable_.pop_front();
  }
  while (!outbox_.empty() && outbox_.front().seq <= seq) {
    Outgoing out = std::move(outbox_.front());
    outbox_.pop_front();
    release(std::move(out));
  }
}

void Engine::release(Outgoing out) {
  if (auto* reply = std::get_if<0>(&out.what)) {
    port_.reply(reply->first, std::move(reply->second));
  } else if (auto* message = std::get_if<1>(&out.what)) {
    sender_->deliver(message->first, message->second);
  } else if (auto* mail = std::get_if<Mail>(&out.what)) {
    port_.mail(std::move(*mail));
  } else {
    sender_->launch(std::get<StepId>(out.what));
  }
}

}  // namespace muster
