#include "sim/machine.h"

#include <csignal>

#include "base/hash.h"
#include "sim/controller.h"
#include "sim/workload.h"

namespace muster::sim {
namespace {

constexpr Duration kRedial = Duration::milliseconds(300);
constexpr Duration kMachineTick = Duration::milliseconds(250);

/// Epochs that a trial's run is ordered to train, in all; without a word six.
std::uint32_t length_of(const LaunchStep& launch) {
  constexpr std::string_view kName = "MUSTER_MAX_LENGTH={\"epochs\": ";
  for (const std::string_view variable : launch.variables) {
    if (variable.starts_with(kName))
      return static_cast<std::uint32_t>(std::stoul(std::string(variable.substr(kName.size()))));
  }
  return 6;
}

}  // namespace

// ---- a step ----

Supervised::Supervised(Machine& node, LaunchStep launch, std::string log)
    : node_(node),
      launch_(std::move(launch)),
      log_(std::move(log)),
      logic_(launch_, *this, node_.steady_now()) {}

/// What a task does is a function of seed and identity, so that it is the same whenever it is
/// asked.
void Supervised::start_tasks() {
  const Options& options = node_.world().options;
  const std::size_t count =
      launch_.step == nullptr ? 1 : std::max(1U, launch_.step_grant.task_count);
  if (node_.is_full()) {
    node_.world().checker.refused(launch_.id);
    const Error full{ErrorCode::kResourceExhausted, "cannot write the script", kNoRoom};
    return logic_.on_started(count, full, node_.steady_now());
  }
  for (std::size_t i = 0; i < count; ++i) {
    Hasher hasher;
    hasher.add(options.seed)
        .add(launch_.id.job.value())
        .add(launch_.id.attempt)
        .add(launch_.id.step);
    Rng rng(hasher.add(node_.index().value()).add(i).digest());
    Task task;
    const double length = options.is_only_batch ? 1 : 2 * rng.unit();
    const Duration run = Duration::microseconds(
        static_cast<std::int64_t>(static_cast<double>(options.run_time.microseconds()) * length) +
        1000);
    task.end = node_.world().timeline.now() + run;
    task.ignores_term = rng.chance(options.task_ignores_term);
    if (rng.chance(options.task_fails)) {
      task.exit = rng.chance(0.3) ? ExitStatus::signalled(SIGSEGV)
                                  : ExitStatus::exited(static_cast<int>(rng.between(1, 255)));
    }
    const bool is_trial = launch_.job->trial.value() != 0 && launch_.step == nullptr;
    if (is_trial && task.exit.is_success()) task.end = TimePoint::never();
    tasks_.push_back(task);
    node_.world().checker.task_started(node_.index(), node_.host(), launch_, i);
    if (is_trial) train();
    if (!task.end.is_never()) arm(i);
  }
  logic_.on_started(count, std::nullopt, node_.steady_now());
}

/// The script of a trial: an epoch at a time it saves where it is, reports, and ends when it has
/// trained as long as it was ordered to.
void Supervised::train() {
  Machine& node = node_;
  const Duration epoch = node.world().options.run_time / 4 + Duration::milliseconds(1);
  node.world().timeline.after(epoch, [this, &node, id = launch_.id] {
    if (node.find(id) != this || !tasks_.front().is_alive) return;
    if (is_frozen_) return train();
    const std::uint32_t epochs = ++node.world().epochs[launch_.job->trial];
    const std::uint32_t run = launch_.job->runs_before + launch_.restart_count + 1;
    node.world().workload->report(launch_.job->trial, run, epochs);
    const bool is_done = epochs >= length_of(launch_) ||
                         node.world().workload->stops_as_asked(launch_.job->trial, run);
    if (is_done) return end_task(0, ExitStatus());
    train();
  });
}

void Supervised::arm(std::size_t task) {
  Machine& node = node_;
  node.world().timeline.at(tasks_[task].end, [this, &node, id = launch_.id, task] {
    if (node.find(id) != this || is_frozen_ || !tasks_[task].is_alive) return;
    if (tasks_[task].end > node.world().timeline.now()) return;  // frozen for a while
    end_task(task, tasks_[task].exit);
  });
}

void Supervised::end_task(std::size_t i, ExitStatus status) {
  if (!tasks_[i].is_alive) return;
  tasks_[i].is_alive = false;
  node_.world().checker.task_ended(node_.index(), node_.host(), launch_, i, status);
  hear_exit(i, status);
}

void Supervised::hear_exit(std::size_t i, ExitStatus status) {
  if (is_orphan_) return;
  Machine& node = node_;
  const TimePoint now = node.world().timeline.now();
  if (now < stopped_until_) {
    node.world().timeline.at(stopped_until_, [this, &node, id = launch_.id, i, status] {
      if (node.find(id) == this) hear_exit(i, status);
    });
    return;
  }
  logic_.on_task_exit(i, status, node.steady_now());
  end_when_over();
}

/// After the last task the cgroup is found empty, a little later.
void Supervised::end_when_over() {
  if (!logic_.is_tasks_over() || logic_.is_ended()) return;
  Machine& node = node_;
  node.world().timeline.after(Duration::microseconds(200), [this, &node, id = launch_.id] {
    if (node.find(id) != this || is_orphan_) return;
    logic_.on_empty(Usage{1000, 100, 10}, false);
  });
}

void Supervised::on_message(const ToAgent& message) {
  logic_.on_message(message, node_.steady_now());
}

void Supervised::tick() {
  if (is_orphan_ || node_.world().timeline.now() < stopped_until_) return;
  is_ticking_ = true;
  if (logic_.next_tick() <= node_.steady_now()) logic_.on_tick(node_.steady_now());
  is_ticking_ = false;
}

void Supervised::destroy(ExitStatus status) {
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].is_alive) continue;
    tasks_[i].is_alive = false;
    node_.world().checker.task_ended(node_.index(), node_.host(), launch_, i, status);
  }
}

void Supervised::signal(std::uint16_t number, bool) {
  if (number != SIGTERM && number != SIGKILL && number != SIGINT) return;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (number == SIGKILL || !tasks_[i].ignores_term) end_task(i, ExitStatus::signalled(number));
  }
}

void Supervised::kill_all() {
  for (std::size_t i = 0; i < tasks_.size(); ++i) end_task(i, ExitStatus::signalled(SIGKILL));
}

void Supervised::suspend(bool is_suspend) {
  if (is_suspend == is_frozen_) return;
  is_frozen_ = is_suspend;
  const TimePoint now = node_.world().timeline.now();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (is_suspend) {
      tasks_[i].left = tasks_[i].end - now;
      tasks_[i].end = TimePoint::never();
    } else {
      tasks_[i].end = now + tasks_[i].left;
      arm(i);
    }
  }
}

void Supervised::notice(const std::string& cause) {
  if (is_ticking_ && cause == "DUE TO TIME LIMIT") node_.world().checker.deadline_enforced(launch_);
}

void Supervised::report(const FromAgent& message) {
  last_report_ = message;
  if (holds_alternative<StepDone>(message)) is_over_ = true;
  node_.on_report(*this, message);
}

// ---- the machine ----

Machine::Machine(World& world, NodeIndex index, std::uint32_t host)
    : world_(world),
      index_(index),
      host_(host),
      boot_time_(world.timeline.now()),
      spool_(
          make_spool(world.options.is_on_disk ? spool_folder() : "", world.options.seed + host)) {
  start_agent();
  tick();
}

RegisterNode Machine::inventory() const {
  const NodeConfig& config = world_.config->nodes[index_.value()];
  RegisterNode self;
  self.node_name = config.name;
  self.boot_id = fmt::format("boot-{}-{}", host_, boots_);
  self.machine_id = fmt::format("machine-{}", host_);
  self.boot_time = boot_time_ + wall_offset_;
  self.agent_start_time = world_.timeline.now() + wall_offset_;
  self.protocol = kAgentProtocol;
  self.cpus = config.cpus;
  self.memory_mib = config.memory_mib;
  self.gres = config.gres;
  const Spool::Identity identity = spool_->identity();
  self.cluster_id = identity.cluster.cluster_id;
  self.epoch = identity.cluster.epoch;
  self.job_floor = identity.job_floor;
  self.has_lost_records = identity.has_lost_records;
  self.agent_id = std::uint64_t{host_} << 32 | agent_generation_;
  return self;
}

TimePoint Machine::steady_now() const {
  return world_.timeline.now() +
         Duration::seconds(-86'400 * (host_ + 1) + 977 * static_cast<std::int64_t>(boots_));
}

void Machine::when_agent_runs(Timeline::Action action) {
  if (agent_ == nullptr) return;
  is_agent_stopped_ ? unheard_.push_back(std::move(action)) : action();
}

void Machine::stop_agent(Duration how_long) {
  if (agent_ == nullptr || std::exchange(is_agent_stopped_, true)) return;
  excuse_spooled();  // the controller may hold the node for dead
  world_.checker.stands_still(index_, world_.timeline.now() + how_long);
  world_.timeline.after(how_long, [this, generation = agent_generation_] {
    if (generation != agent_generation_) return;
    is_agent_stopped_ = false;
    // One of them may end the agent, and the rest with it.
    for (Timeline::Action& action : std::exchange(unheard_, {})) {
      if (generation == agent_generation_) action();
    }
  });
}

void Machine::jump_clock() { wall_offset_ += Duration::seconds(world_.rng.between(-4000, 40'000)); }

/// Whatever it was sent and has not read ends with it.
void Machine::end_agent() {
  agent_.reset();
  is_agent_stopped_ = false;
  unheard_.clear();
  spool_->close();
  ++agent_generation_;
}

void Machine::start_agent() {
  ++agent_generation_;
  const std::vector<Spool::Known> known = spool_->open();
  agent_ = std::make_unique<Agent>(inventory(), 0, *this);
  for (const Spool::Known& step : known)
    agent_->adopt(step.id, step.launch_key, step.done, steady_now());
  linked_.clear();
  for (const auto& [id, step] : steps_) {
    if (step->is_orphan()) continue;
    world_.timeline.after(kRedial, [this, id = id, generation = agent_generation_] {
      if (generation == agent_generation_) when_agent_runs([this, id] { link_step(id); });
    });
  }
  dial();
}

void Machine::link_step(const StepId& id) {
  const auto found = steps_.find(id);
  if (agent_ == nullptr || found == steps_.end() || found->second->is_orphan()) return;
  if (world_.timeline.now() < found->second->stopped_until()) {
    world_.timeline.at(found->second->stopped_until(), [this, id, generation = agent_generation_] {
      if (generation == agent_generation_) when_agent_runs([this, id] { link_step(id); });
    });
    return;
  }
  linked_.insert(id);
  const std::uint64_t launch_key = found->second->launch_key();
  const FromAgent hello = found->second->last_report().value_or(StepRunning{id, launch_key});
  if (!agent_->on_step_linked(id, launch_key))
    return send_step(id, TerminateJob{id.job, id.attempt, "", Duration()});
  if (find(id) != nullptr) agent_->on_step(id, hello);
}

const Supervised* Machine::find(const StepId& step) const {
  const auto found = steps_.find(step);
  return found == steps_.end() ? nullptr : found->second.get();
}

void Machine::tick() {
  if (has_left_) return;
  if (agent_ != nullptr) {
    if (!is_agent_stopped_) agent_->on_tick(steady_now());
    std::vector<StepId> ids;
    for (const auto& [id, step] : steps_) ids.push_back(id);
    for (const StepId& id : ids) {
      if (const auto found = steps_.find(id); found != steps_.end()) found->second->tick();
    }
  } else {
    std::vector<StepId> ids;
    for (const auto& [id, step] : steps_) ids.push_back(id);
    for (const StepId& id : ids) {
      if (const auto found = steps_.find(id); found != steps_.end()) found->second->tick();
    }
  }
  world_.timeline.after(kMachineTick, [this] { tick(); });
}

void Machine::dial() {
  const auto again = [this, generation = agent_generation_] {
    world_.timeline.after(kRedial, [this, generation] { redial(generation); });
  };
  if (world_.controller == nullptr || world_.timeline.now() < cut_until_) return again();
  link_ =
      std::make_shared<Link>(Link{this, index_, world_.controller->incarnation(), true, {}, {}});
  link_->last_up = world_.timeline.now() + world_.latency();
  world_.timeline.at(link_->last_up, [this, link = link_, hello = agent_->registration(),
                                      generation = agent_generation_] {
    if (!link->is_whole || world_.controller == nullptr) return;
    // A controller that stands still answers when it goes on; by then this agent has tried again.
    if (world_.controller->stopped_until() > world_.timeline.now()) return world_.break_link(link);
    const auto registered = world_.controller->register_node(link, hello);
    // The controller may not have noticed yet that the agent before is gone.
    const bool is_accepted = registered.has_value();
    const bool is_expected = is_accepted || registered.error().code == ErrorCode::kAlreadyExists ||
                             registered.error().code == ErrorCode::kFailedPrecondition ||
                             world_.lead_beyond.value() != 0;
    CHECK(is_expected, "{}", registered.error().text());
    link->last_down = std::max(link->last_down, world_.timeline.now() + world_.latency());
    world_.timeline.at(link->last_down, [this, link, generation, is_accepted,
                                         cluster = world_.controller->core().identity()] {
      if (generation != agent_generation_) return;
      when_agent_runs([this, link, is_accepted, cluster] {
        if (!link->is_whole) return;
        if (!agent_->on_cluster(cluster, steady_now()) || !is_accepted)
          return world_.break_link(link);
        up_since_ = world_.timeline.now();
        agent_->on_registered(steady_now());
      });
    });
  });
}

void Machine::on_link_broken(const LinkRef& link) {
  if (link_ != link) return;
  if (is_agent_stopped_) return unheard_.push_back([this, link] { on_link_broken(link); });
  link_ = nullptr;
  up_since_ = TimePoint::unset();
  if (agent_ == nullptr) return;
  agent_->on_disconnected();
  world_.timeline.after(kRedial, [this, generation = agent_generation_] { redial(generation); });
}

void Machine::redial(std::uint64_t generation) {
  if (generation != agent_generation_) return;
  when_agent_runs([this] {
    if (link_ == nullptr) dial();
  });
}

void Machine::send_controller(const FromAgent& message) {
  const LinkRef link = link_;
  if (link == nullptr || !link->is_whole) return;
  const bool may_repeat =
      !holds_alternative<RegisterNode>(message) && world_.rng.chance(world_.options.duplicate);
  for (int i = 0; i < (may_repeat ? 2 : 1); ++i) {
    TimePoint arrival = std::max(link->last_up, world_.timeline.now() + world_.latency());
    if (i == 0) link->last_up = arrival;
    if (i > 0) arrival = arrival + Duration::milliseconds(world_.rng.between(0, 5000));
    world_.timeline.at(arrival, [this, link, message] {
      const bool is_there = link->is_whole && world_.controller != nullptr &&
                            world_.controller->incarnation() == link->controller;
      if (is_there) {
        world_.controller->agent_message(link, message);
      }
    });
  }
}

void Machine::on_controller(const LinkRef& link, const ToAgent& message) {
  if (!link->is_whole || link != link_ || agent_ == nullptr) return;
  if (!is_agent_stopped_) return hear(link, message);
  if (const auto* launch = get_if<LaunchStep>(&message)) world_.checker.excuse(launch->id);
  // What came before the connection broke is read before that is noticed.
  unheard_.push_back([this, link, message] { hear(link, message); });
}

void Machine::reconnect() {
  if (link_ == nullptr) return;
  world_.break_link(link_);
  world_.timeline.after(Duration(), [this, link = link_] { on_link_broken(link); });
}

void Machine::hear(const LinkRef& link, const ToAgent& message) {
  if (agent_ == nullptr) return;
  agent_->on_controller(message, steady_now());
  schedule_end();
  const auto* launch = get_if<LaunchStep>(&message);
  if (launch == nullptr) return;
  world_.timeline.after(world_.latency(), [this, link, step = launch->id] {
    if (link->is_whole && world_.controller != nullptr)
      world_.controller->agent_received(link, step);
  });
}

void Machine::schedule_end() {
  if (std::exchange(is_end_scheduled_, true)) return;
  world_.timeline.after(Duration(), [this] {
    is_end_scheduled_ = false;
    when_agent_runs([this] { agent_->end_turn(); });
  });
}

Result<TimePoint> Machine::launch(const std::vector<LaunchStep>& steps) {
  const bool is_refused = world_.has_faults && world_.rng.chance(world_.options.spool_refusal);
  if (is_refused) fill_disk(Duration::milliseconds(world_.rng.between(0, 20'000)));
  if (is_refused || is_full()) return fail(refuse(steps));
  TRY(spool_->launched(steps));
  for (const LaunchStep& step : steps) {
    Duration delay = Duration::microseconds(world_.rng.between(300, 3000));
    if (world_.rng.chance(world_.options.slow_spawn)) {
      delay = Duration::milliseconds(world_.rng.between(1000, 12'000));
      world_.checker.excuse(step.id);
    }
    world_.timeline.after(
        delay, [this, step, log = spool_->log(), boots = boots_, launched = world_.timeline.now()] {
          if (boots == boots_)
            spawn(step, log, world_.timeline.now() - launched > kSupervisorStartsWithin);
        });
  }
  return steady_now();
}

/// Nothing of them is started. What took too long stands in the spool all the same; the agent takes
/// that back and asks anew, so that it is no excuse for anybody.
Error Machine::refuse(const std::vector<LaunchStep>& steps) {
  if (world_.rng.chance(0.3)) {
    const Status recorded = spool_->launched(steps);
    return recorded.has_value() ? Error{ErrorCode::kDeadlineExceeded, "the agent stood still", ""}
                                : recorded.error();
  }
  for (const LaunchStep& step : steps) world_.checker.refused(step.id);
  return Error{ErrorCode::kResourceExhausted, "cannot write", kNoRoom};
}

void Machine::fill_disk(Duration how_long) {
  full_until_ = std::max(full_until_, world_.timeline.now() + how_long);
}

bool Machine::is_full() const { return world_.has_faults && world_.timeline.now() < full_until_; }

Status Machine::probe() {
  if (is_full()) return fail(ErrorCode::kResourceExhausted, "cannot write", kNoRoom);
  return {};
}

void Machine::spawn(const LaunchStep& launch, const std::string& log, bool is_late) {
  if (is_late || has_supervisor(launch.id)) return;  // as the real one does
  world_.checker.spawned(index_, host_, launch.id);
  auto step = std::make_unique<Supervised>(*this, launch, log);
  Supervised* raw = step.get();
  steps_[launch.id] = std::move(step);
  is_agent_stopped_ ? when_agent_runs([this, id = launch.id] { link_step(id); })
                    : link_step(launch.id);
  if (find(launch.id) == raw) raw->start_tasks();
}

/// What the spool has lost may not be found again.
Status Machine::record(const LaunchStep& brief) {
  world_.checker.excuse(brief.id);
  return spool_->launched({brief});
}

void Machine::send_step(const StepId& id, const ToAgent& message) {
  if (!linked_.contains(id)) return;
  const auto step = steps_.find(id);
  const TimePoint soon = world_.timeline.now() + Duration::microseconds(50);
  const TimePoint arrival =
      step == steps_.end() ? soon : std::max(soon, step->second->stopped_until());
  world_.timeline.at(arrival, [this, id, message, generation = agent_generation_] {
    const auto found = steps_.find(id);
    if (found == steps_.end() || found->second->is_orphan()) return;
    if (generation != agent_generation_ && !world_.rng.chance(0.5)) return;
    const bool is_end = holds_alternative<TerminateJob>(message);
    if (is_end && linked_.contains(id))  // as a living one does
      when_agent_runs([this, id] { agent_->on_step(id, StepRunning{id}); });
    found->second->on_message(message);
  });
}

Status Machine::adopt_cluster(const ClusterIdentity& cluster, JobId job_floor,
                              bool has_lost_records) {
  return spool_->adopt({cluster, job_floor, has_lost_records});
}

void Machine::forget(const StepId& step) { spool_->acknowledged(step); }

std::optional<StepDone> Machine::find_end(const StepId& step) { return spool_->find_end(step); }

std::optional<StepId> Machine::unacknowledged() {
  spool_->close();
  const std::vector<Spool::Known> known = spool_->open();
  return known.empty() ? std::nullopt : std::optional(known.front().id);
}

Leftovers Machine::leftovers() {
  Leftovers found;
  for (const auto& [id, step] : steps_) found[id].insert(UserId(0));
  return found;
}

bool Machine::has_supervisor(const StepId& id) {
  const auto found = steps_.find(id);
  return found != steps_.end() && !found->second->is_orphan();
}

/// Everything that the step's supervisor left behind ends, some of it not at once.
bool Machine::clean_up(const StepId& id) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return true;
  CHECK(found->second->is_orphan(), "the agent cleans up after a supervisor that lives");
  if (world_.rng.chance(0.3)) return false;
  world_.checker.excuse(id);
  found->second->destroy(ExitStatus::signalled(SIGKILL));
  remove(id);
  return true;
}

void Machine::end_supervisor(const StepId& id) {
  if (has_supervisor(id)) orphan(id);
}

void Machine::remove(const StepId& id) {
  linked_.erase(id);
  // Not at once: the call may come from one of its own methods.
  auto found = steps_.find(id);
  if (found == steps_.end()) return;
  std::shared_ptr<Supervised> gone(std::move(found->second));
  steps_.erase(found);
  world_.timeline.after(Duration(), [gone] {});
}

void Machine::on_report(Supervised& step, const FromAgent& message) {
  const StepId id = step.id();
  const auto* done = get_if<StepDone>(&message);
  if (done != nullptr) spool_->ended(step.log(), *done);
  const bool is_linked = agent_ != nullptr && linked_.contains(id);
  world_.timeline.after(Duration::microseconds(50),
                        [this, id, message, is_linked, generation = agent_generation_] {
                          if (!is_linked || generation != agent_generation_) return;
                          when_agent_runs([this, id, message] {
                            agent_->on_step(id, message);
                            if (holds_alternative<StepDone>(message))
                              agent_->on_step_closed(id, steady_now());
                          });
                        });
  if (done != nullptr) remove(id);
}

void Machine::crash_agent() {
  if (agent_ == nullptr) return;
  end_agent();
  if (const LinkRef link = std::exchange(link_, nullptr)) world_.break_link(link);
  up_since_ = TimePoint::unset();
  world_.timeline.after(Duration::milliseconds(world_.rng.between(10, 4000)),
                        [this, boots = boots_] {
                          if (boots == boots_ && agent_ == nullptr) start_agent();
                        });
}

/// The agent's folder is emptied or damaged beneath it; what it supervises runs on.
void Machine::lose_spool() {
  if (agent_ == nullptr) return;
  for (const StepId& step : spool_->open_steps()) world_.checker.lose_sight(step);
  lost_steps_.insert(spool_->open_steps().begin(), spool_->open_steps().end());
  crash_agent();
  spool_->lose();
}

void Machine::back_up_spool() {
  if (agent_ != nullptr) spool_->back_up();
}

/// The agent ends, and its folder is as it was when a copy was taken; what it supervises runs on.
void Machine::put_back_spool() {
  if (agent_ == nullptr || !spool_->has_backup()) return;
  for (const StepId& step : spool_->open_steps()) {
    world_.checker.lose_sight(step);
    world_.checker.forget_unless_begun(index_, step);
  }
  // What is put back does not know that something of it was lost in between.
  for (const StepId& step : std::exchange(lost_steps_, {}))
    world_.checker.forget_unless_begun(index_, step);
  crash_agent();
  spool_->put_back();
  excuse_spooled();  // some of them ended long ago
}

void Machine::crash_supervisor() {
  for (auto& [id, step] : steps_) {
    if (!step->is_orphan() && world_.rng.chance(0.5)) return orphan(StepId(id));
  }
}

void Machine::stop_supervisor() {
  for (auto& [id, step] : steps_) {
    if (step->is_orphan() || !world_.rng.chance(0.5)) continue;
    step->stop(world_.timeline.now() + Duration::milliseconds(world_.rng.between(10, 60'000)));
    return;
  }
}

/// The supervisor alone is gone; its link closes.
void Machine::orphan(const StepId& id) {
  steps_.at(id)->orphan();
  world_.checker.excuse(id);
  if (agent_ == nullptr || linked_.erase(id) == 0) return;
  world_.timeline.after(Duration::microseconds(50), [this, id, generation = agent_generation_] {
    if (generation != agent_generation_) return;
    when_agent_runs([this, id] { agent_->on_step_closed(id, steady_now()); });
  });
}

/// Whatever is launched here may be lost.
void Machine::excuse_spooled() {
  for (const StepId& step : spool_->open_steps()) world_.checker.excuse(step);
}

void Machine::crash() {
  for (auto& [id, step] : steps_) {
    world_.checker.excuse(id);
    step->destroy(ExitStatus::signalled(SIGKILL));
  }
  excuse_spooled();
  while (!steps_.empty()) remove(steps_.begin()->first);
  end_agent();
  spool_->lose_power();
  ++boots_;
  if (const LinkRef link = std::exchange(link_, nullptr)) world_.break_link(link);
  up_since_ = TimePoint::unset();
  world_.timeline.after(Duration::milliseconds(world_.rng.between(1000, 60'000)),
                        [this, boots = boots_] {
                          if (boots != boots_ || has_left_) return;
                          boot_time_ = world_.timeline.now();
                          start_agent();
                        });
}

void Machine::leave() {
  has_left_ = true;
  crash();
}

void Machine::cut_off(Duration how_long) {
  cut_until_ = world_.timeline.now() + how_long;
  excuse_spooled();
  if (link_ != nullptr) world_.break_link(link_);
}

}  // namespace muster::sim
