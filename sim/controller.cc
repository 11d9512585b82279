#include "sim/controller.h"

#include "engine/recovery.h"
#include "sim/machine.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

constexpr Duration kTick = Duration::milliseconds(100);
constexpr CheckpointSchedule::Bounds kCheckpoints{.batches = 150, .events = UINT64_MAX};

/// The same message may come again unless its meaning hangs on order.
bool may_repeat(const ToAgent& message) {
  return holds_alternative<LaunchStep>(message) || holds_alternative<TerminateJob>(message) ||
         holds_alternative<AcknowledgeStep>(message);
}

/// Scripts are short here: every other controller takes its launches for large ones, of which few
/// may be under way at once.
Core::Options options_of(std::uint64_t incarnation) {
  Core::Options options{"sim"};
  if (incarnation % 2 == 1) options.launches = {.large = 0, .under_way = 1000};
  return options;
}

}  // namespace

Controller::Controller(World& world, std::uint64_t incarnation)
    : world_(world),
      incarnation_(incarnation),
      core_(options_of(incarnation), *this, *this),
      history_(world.history) {
  const auto marked = world_.history.mark();
  CHECK(marked.has_value(), "{}", marked.error().text());
  const HistoryMark mark = *marked;
  const Epoch beyond = std::max(mark.epoch, std::exchange(world_.lead_beyond, Epoch()));
  const Epoch epoch = *world_.journal.storage().acquire_leadership(beyond);
  const JobId job_floor = recover_state(epoch, mark);
  planner_.state().copy_from(core_.state());
  replica_.state().copy_from(core_.state());
  planner_.start();
  search_.load(core_.state());
  links_.resize(world_.config->nodes.size());
  world_.journal.attach(
      {[this](Seq seq) {
         when_running([this, seq] {
           core_.on_durable(seq, now());
           schedule_work();
         });
       },
       [this] { world_.crash_controller(); },
       [this](BlobId id, Result<std::string> bytes) { on_blob(id, std::move(bytes)); },
       [this](const std::optional<Error>& refusal) {
         when_running([this, refusal] { core_.refuse_new_work(refusal); });
       }});
  start_core(epoch, job_floor);
  CHECK(core_.state().next_job() > mark.highest_job,
        "job ids that history knows may be given again");
  later(kTick, [this] { tick(); });
}

/// The machine's steady clock is the true time.
ClockReading Controller::read_clocks() const {
  const TimePoint truth = world_.timeline.now();
  return {truth - TimePoint(), truth + world_.wall_offset};
}

TimePoint Controller::now() const { return clock_->at(world_.timeline.now() - TimePoint()); }

/// As begin_core of apps/musterd/main.cc.
void Controller::start_core(Epoch epoch, JobId job_floor) {
  const ClockReading reading = read_clocks();
  const TimePoint stored = world_.journal.last_time();
  const auto away = stored.is_set() ? std::optional(world_.timeline.now() - stored) : std::nullopt;
  const ClockStart start = clock_start(core_.state().time(), away, reading.wall,
                                       std::exchange(world_.is_clock_believed, false));
  clock_.emplace(reading, start.time + start.step);
  CoreStart beginning;
  beginning.clock_step = start.step;
  beginning.job_floor = job_floor;
  beginning.new_cluster_id = fmt::format("{:08x}", world_.rng.below(1ULL << 32));
  core_.start(epoch, world_.config, start.time, beginning);
}

void Controller::stop(Duration how_long) {
  const TimePoint until = world_.timeline.now() + how_long;
  stopped_until_ = std::max(stopped_until_, until);
}

void Controller::when_running(Timeline::Action action) {
  if (stopped_until_ <= world_.timeline.now()) return action();
  world_.timeline.at(stopped_until_, [&world = world_, incarnation = incarnation_,
                                      action = std::move(action)]() mutable {
    if (world.controller != nullptr && world.controller->incarnation() == incarnation)
      world.controller->when_running(std::move(action));
  });
}

/// As recover_parts and store_unprojected of apps/musterd/main.cc.
JobId Controller::recover_state(Epoch epoch, const HistoryMark& mark) {
  ClusterState& state = core_.state();
  auto recovered = recover_beside_history(world_.journal.storage(), state, mark);
  CHECK(recovered.has_value(), "recovery: {}", recovered.error().text());
  const StartRecovery start = std::move(*recovered);
  CheckpointSchedule::Bounds bounds = kCheckpoints;
  if (!world_.options.is_checkpointed) bounds.batches = UINT64_MAX;
  checkpoints_.emplace(bounds, start.report);
  if (mark.until.seq > state.seq()) world_.history.rewind(state.seq());
  // Without a disk that fails while it is read, what was published is there, and what is there
  // beyond it counts from now on.
  world_.journal.replay(world_.checker.last_published(),
                        [&](const EventBatch& batch) { world_.checker.published(batch); });
  world_.checker.compare(state, "recovered");
  world_.checker.recovered(state);
  store_unprojected(epoch, start.unprojected);
  core_.on_history(world_.history.synced());
  return start.verdict.job_floor;
}

void Controller::store_unprojected(Epoch epoch, const std::vector<HistoryRecord>& records) {
  const auto store = [&]() -> Status {
    TRY(world_.history.acquire(epoch));
    std::vector<HistoryObject> objects;
    for (const HistoryRecord& record : records) objects.push_back(record.object);
    TRY(world_.history.append(objects, mark_of(core_.state())));
    return world_.history.make_durable();
  };
  for (int attempt = 0; !store().has_value(); ++attempt) {
    CHECK(attempt < 10, "history takes nothing on a disk that works");
    if (!world_.disk->is_gone()) continue;
    world_.disk->restart();
    CHECK(world_.disk->journal().last() == core_.state().seq(),
          "the journal has lost what was read from it");
  }
}

void Controller::later(Duration delay, Timeline::Action action) {
  world_.timeline.after(
      delay, [&world = world_, incarnation = incarnation_, action = std::move(action)] {
        if (world.controller != nullptr && world.controller->incarnation() == incarnation)
          world.controller->when_running(action);
      });
}

void Controller::tick() {
  clock_->update(read_clocks());
  if (clock_->believed_jump()) return world_.restart_for_clock();
  core_.on_tick(now());
  core_.end_turn(now());
  schedule_work();
  if (world_.options.is_checked_deeply && world_.rng.chance(0.05))
    world_.checker.check_ledger(core_.state());
  schedule_planner();
  schedule_search();
  later(kTick, [this] { tick(); });
}

/// Messages of one instant share a turn, as those of one round of the event loop do.
void Controller::schedule_end() {
  if (std::exchange(is_end_scheduled_, true)) return;
  const Duration delay = world_.options.is_only_batch ? Duration::milliseconds(2) : Duration();
  later(delay, [this] {
    is_end_scheduled_ = false;
    core_.end_turn(now());
    schedule_work();
  });
}

void Controller::schedule_work() {
  if (!core_.has_work() || std::exchange(is_work_scheduled_, true)) return;
  later(Duration::milliseconds(1), [this] {
    is_work_scheduled_ = false;
    core_.on_work(now());
    core_.end_turn(now());
    schedule_work();
  });
}

void Controller::command(Command command) {
  when_running([this, command = std::move(command)]() mutable {
    if (core_.awaits_nodes(now()))
      return later(Duration::milliseconds(20), [this, command] { this->command(command); });
    core_.on_command(command, now());
    schedule_end();
  });
}

Result<NodeIndex> Controller::register_node(const LinkRef& link, const RegisterNode& hello) {
  auto node = core_.on_register(hello, now());
  if (node.has_value()) links_[node->value()] = link;
  CHECK(!node.has_value() || core_.state().next_job() > hello.job_floor,
        "ids that a node knows may be given again");
  schedule_end();
  return node;
}

void Controller::agent_message(const LinkRef& link, const FromAgent& message) {
  when_running([this, link, message] {
    if (!link->is_whole) return;
    // As the real door, which lets the call fail.
    if (links_[link->node.value()] != link) return world_.break_link(link);
    core_.on_agent(link->node, message, now());
    schedule_end();
  });
}

void Controller::agent_received(const LinkRef& link, const StepId& step) {
  when_running([this, link, step] {
    if (links_[link->node.value()] != link) return;
    core_.on_received(link->node, step, now());
    schedule_end();
  });
}

void Controller::agent_lost(const LinkRef& link) {
  when_running([this, link] {
    if (links_[link->node.value()] != link) return;
    links_[link->node.value()] = nullptr;
    core_.on_agent_lost(link->node);
  });
}

void Controller::reply(std::uint64_t token, std::vector<Reply> replies) {
  if (token == 0) return;  // the search's own
  world_.workload->on_reply(token, std::move(replies));
}

void Controller::send(NodeIndex node, const ToAgent& message) {
  const LinkRef link = links_[node.value()];
  if (link == nullptr) return;
  Machine& target = *link->machine;
  const int copies = may_repeat(message) && world_.rng.chance(world_.options.duplicate) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    TimePoint arrival = std::max(link->last_down, world_.timeline.now() + world_.latency());
    if (i == 0) link->last_down = arrival;
    if (i > 0)
      arrival = arrival +
                Duration::milliseconds(world_.rng.chance(0.5) ? 0 : world_.rng.between(0, 5000));
    world_.timeline.at(arrival, [&target, link, message] { target.on_controller(link, message); });
  }
}

void Controller::publish(DurableUpdate update) {
  world_.checker.published(*update.batch);
  replica_.apply(*update.batch);
  world_.checker.record_hash(replica_.state());
  to_planner_.push_back(update.batch);
  schedule_planner();
  if (concerns_search(*update.batch)) {
    to_search_.push_back(update.batch);
    schedule_search();
  }
  to_history_.push_back(std::move(update));
  schedule_history();
}

void Controller::schedule_history() {
  if (std::exchange(is_history_scheduled_, true)) return;
  later(Duration::milliseconds(world_.rng.between(1, world_.options.slow_history > 0 ? 3000 : 20)),
        [this] {
          is_history_scheduled_ = false;
          run_history();
        });
}

/// What is written is synced at the next opportunity, or the one after.
void Controller::run_history() {
  std::vector<HistoryBatch> ended;
  for (DurableUpdate& update : std::exchange(to_history_, {}))
    ended.push_back({std::move(update.history), mark_of(*update.batch)});
  if (!history_.store(std::move(ended)).has_value()) return world_.crash_controller();
  const bool is_idle = !world_.rng.chance(world_.options.slow_history);
  const auto stored = history_.sync(is_idle, world_.timeline.now() - TimePoint());
  if (world_.has_lost_power()) return;
  if (world_.history.synced() != world_.history.watermark()) schedule_history();
  if (!stored) return;
  core_.on_history(*stored);
  world_.journal.send(HistoryStored{*stored});
}

void Controller::plan_consumed(Seq until) {
  consumed_.push_back(until);
  schedule_planner();
}

void Controller::schedule_planner() {
  if (std::exchange(is_planner_scheduled_, true)) return;
  later(Duration::microseconds(world_.rng.between(100, 20'000)), [this] {
    is_planner_scheduled_ = false;
    run_planner();
  });
}

void Controller::run_planner() {
  for (; !to_planner_.empty(); to_planner_.pop_front()) {
    planner_.apply(*to_planner_.front());
    checkpoints_->applied(*to_planner_.front());
  }
  for (; !consumed_.empty(); consumed_.pop_front()) planner_.consumed(consumed_.front());
  if (world_.options.is_checked_deeply) world_.checker.compare(planner_.state(), "of the planner");
  if (auto plan = planner_.plan(now())) {
    replica_.set_report(plan->report);
    later(Duration::microseconds(world_.rng.between(100, 30'000)),
          [this, plan = *plan] { core_.on_plan(plan, now()); });
  }
  checkpoints_->write_if_due(planner_.state(),
                             [&](ToJournal message) { world_.journal.send(std::move(message)); });
}

void Controller::schedule_search() {
  if (!world_.options.has_experiments || std::exchange(is_search_scheduled_, true)) return;
  later(Duration::microseconds(world_.rng.between(100, 20'000)), [this] {
    is_search_scheduled_ = false;
    run_search();
  });
}

void Controller::run_search() {
  for (; !to_search_.empty(); to_search_.pop_front()) search_.apply(*to_search_.front());
  for (SearchDecision& decision : search_.decide(now())) {
    Command asked;
    asked.identity.is_operator = true;
    asked.requests.push_back(std::move(decision));
    later(Duration::microseconds(world_.rng.between(10, 5'000)), [this, asked] { command(asked); });
  }
}

void Controller::lead_beyond(Epoch epoch) {
  world_.lead_beyond = epoch;
  later(Duration(), [this] { world_.crash_controller(); });
}

void Controller::fetch_blob(BlobId id) { world_.journal.send(FetchBlob{id, 0}); }

void Controller::on_blob(BlobId id, Result<std::string> bytes) {
  when_running([this, id, bytes = std::move(bytes)] {
    if (!bytes.has_value()) world_.checker.blob_failed();
    core_.on_blob(id, bytes.has_value() ? Result<Bytes>(std::make_shared<const std::string>(*bytes))
                                        : Result<Bytes>(fail(bytes.error())));
    schedule_end();
  });
}

}  // namespace muster::sim
