// What the agent knows of a step moves one way: launched (steps_) ──recorded──▶ starting ──▶
// running ──▶ done ──acknowledged──▶ past_. Orders wait while the step's supervisor has not dialled
// in. Whatever is not certain (a supervisor that is silent, a record that was lost) is looked for
// before anything is said of it, because an end that is told wrongly lets the job run twice.
#include "agent/agent.h"

#include <algorithm>

#include "agent/write_time.h"
#include "base/result.h"

namespace muster {
namespace {

constexpr Duration kHeartbeat = Duration::seconds(1);
/// Ended steps and runs remembered against launches that come late.
constexpr std::size_t kPastMax = 4096;
/// How long an end waits for what its tasks wrote: what lines set off comes before it then.
constexpr Duration kOutputTimeout = Duration::seconds(60);
/// How long a supervisor that is told to end its step may be silent: one that lives says so at
/// once.
constexpr Duration kAnswerTimeout = Duration::seconds(30);
/// A tick that comes so late means that this process stood still.
constexpr Duration kPause = Duration::seconds(2);
/// Stands for all steps of a run; no step has this number.
constexpr std::uint32_t kWholeRun = UINT32_MAX;

}  // namespace

void Agent::adopt(const StepId& id, std::uint64_t launch_key, const std::optional<StepDone>& done,
                  TimePoint now) {
  Step& step = steps_[id];
  step.launch_key = launch_key;
  step.done = done;
  if (step.done) step.done->launch_key = launch_key;  // its supervisor does not know it by that
  step.is_running = !done;
  step.since = now;
}

RegisterNode Agent::registration() {
  // Launches count again: what is ordered from here on follows this registration.
  has_paused_ = false;
  RegisterNode hello = self_;
  for (const auto& [id, step] : steps_) {
    const StepPhase phase = step.done         ? StepPhase::kEnded
                            : step.is_running ? StepPhase::kRunning
                                              : StepPhase::kStarting;
    hello.steps.push_back(KnownStep{id, phase, step.launch_key});
  }
  return hello;
}

/// Another cluster's steps are strangers: nobody asks for them any more, and their numbers may be
/// given again.
void Agent::end_strangers() {
  for (auto& [id, step] : steps_) {
    if (step.done) continue;
    order(id, step, TerminateJob{id.job, id.attempt, "", Duration()});
  }
}

bool Agent::on_cluster(const ClusterIdentity& cluster, TimePoint) {
  const bool is_same = self_.cluster_id == cluster.cluster_id;
  if (!is_same && !self_.cluster_id.empty()) {
    end_strangers();
    if (std::ranges::any_of(steps_, [](const auto& entry) { return !entry.second.done; }))
      return false;
    for (const auto& [id, step] : steps_) world_.forget(id);
    steps_.clear();
    past_.clear();
    past_order_.clear();
    terminated_.clear();
    self_.job_floor = JobId();
  }
  if (is_same && cluster.epoch <= self_.epoch) return true;
  // A spool that knows no cluster, or another one, may have been emptied while steps of this one
  // ran.
  const bool has_lost_records = self_.has_lost_records || !is_same;
  // A newer leader of the same cluster is served even where the disk does not take its number: ends
  // must be told.
  if (!world_.adopt_cluster(cluster, self_.job_floor, has_lost_records).has_value() && !is_same)
    return false;
  self_.has_lost_records = has_lost_records;
  self_.cluster_id = cluster.cluster_id;
  self_.epoch = cluster.epoch;
  return true;
}

void Agent::on_registered(TimePoint now) {
  is_connected_ = true;
  if (!left_) {
    left_ = world_.leftovers();
    std::erase_if(*left_, [this](const auto& entry) { return steps_.contains(entry.first); });
  }
  last_heartbeat_ = now;
  // A fault is told before ends free jobs: else those may come here again.
  world_.send_controller(with_fault(world_.measure()));
  for (auto& [id, step] : steps_) {
    if (step.done) {
      step.due_since = {};
      report_end(id, step);
    } else if (step.is_running) {
      report_running(id, step);
    }
  }
}

void Agent::report_running(const StepId& id, Step& step) {
  step.is_reported = true;
  send(StepRunning{id, step.launch_key});
}

void Agent::order(const StepId& id, Step& step, const ToAgent& message) {
  if (step.done) return;
  if (step.is_linked) {
    world_.send_step(id, message);
  } else {
    step.waiting.push_back(message);
  }
}

bool Agent::is_live(const StepId& step) const {
  const auto found = steps_.find(step);
  return found != steps_.end() && !found->second.done;
}

bool Agent::has_live_step(JobId job, std::uint32_t attempt) const {
  for (auto step = steps_.lower_bound(StepId{job, attempt, 0}); step != steps_.end(); ++step) {
    if (step->first.job != job || step->first.attempt != attempt) break;
    if (!step->second.done) return true;
  }
  return false;
}

void Agent::report_clean(JobId job, std::uint32_t attempt) {
  if (!terminated_.contains({job, attempt}) || has_live_step(job, attempt)) return;
  terminated_.erase({job, attempt});
  send(JobClean{job, attempt});
}

void Agent::on_controller(const ToAgent& message, TimePoint now) {
  if (const auto* launch = get_if<LaunchStep>(&message)) {
    look_for_pause(now);
    if (!has_paused_ && !is_stale(*launch)) start(*launch, now);
  } else if (const auto* wanted = get_if<FindSteps>(&message)) {
    look_for(*wanted, now);
  } else if (const auto* signal = get_if<SignalStep>(&message)) {
    const auto found = steps_.find(signal->id);
    const bool is_meant = found != steps_.end() && (signal->launch_key == 0 ||
                                                    signal->launch_key == found->second.launch_key);
    if (is_meant) order(found->first, found->second, message);
  } else if (const auto* stop = get_if<StopStep>(&message)) {
    if (const auto found = steps_.find(stop->id); found != steps_.end())
      order(found->first, found->second, message);
  } else if (const auto* acknowledge = get_if<AcknowledgeStep>(&message)) {
    const auto found = steps_.find(acknowledge->id);
    if (found == steps_.end() || !found->second.done) return;
    const std::uint64_t launch_key = found->second.launch_key;
    if (acknowledge->launch_key != 0 && acknowledge->launch_key != launch_key) return;
    steps_.erase(found);
    remember_past(acknowledge->id, launch_key);
    world_.forget(acknowledge->id);
  } else if (const auto* end = get_if<EndStep>(&message)) {
    const auto found = steps_.find(end->id);
    if (found == steps_.end() || found->second.launch_key != end->launch_key)
      return report_lost(end->id, end->launch_key, 0);
    if (found->second.done) return report_end(found->first, found->second);
    order(found->first, found->second, TerminateJob{end->id.job, end->id.attempt, "", Duration()});
    if (!found->second.answer_by.is_set()) found->second.answer_by = now + kAnswerTimeout;
  } else {
    JobId job;
    std::uint32_t attempt = 0;
    // All other orders go to each step of a run. A message that names no run is for none: no job
    // has the number 0.
    visit(
        [&](const auto& body) {
          if constexpr (requires {
                          body.attempt;
                          body.job;
                        }) {
            if constexpr (std::is_same_v<std::decay_t<decltype(body.attempt)>, std::uint32_t>) {
              job = JobId(body.job);
              attempt = body.attempt;
            }
          }
        },
        message);
    for (auto step = steps_.lower_bound(StepId{job, attempt, 0}); step != steps_.end(); ++step) {
      if (step->first.job != job || step->first.attempt != attempt) break;
      order(step->first, step->second, message);
      const bool is_end = holds_alternative<TerminateJob>(message) && !step->second.done;
      if (is_end && !step->second.answer_by.is_set()) step->second.answer_by = now + kAnswerTimeout;
    }
    // A launch that came in this same turn has not been recorded: it simply never starts.
    if (holds_alternative<TerminateJob>(message)) {
      std::erase_if(launches_, [&](const LaunchStep& waiting) {
        const bool is_of_job = waiting.id.job == job && waiting.id.attempt == attempt;
        if (is_of_job) steps_.erase(waiting.id);
        return is_of_job;
      });
      // In this order: a launch on its way must find the run ended, ends that waited for their
      // output wait no longer, and the node may be called clean only then.
      remember_past(StepId{job, attempt, kWholeRun}, 0);
      terminated_.insert({job, attempt});
      on_output_stored();
      report_clean(job, attempt);
    }
  }
}

/// The same order may come twice. One for another run of the same number waits for nothing: that
/// number is taken here.
void Agent::start(const LaunchStep& launch, TimePoint now) {
  self_.job_floor = std::max(self_.job_floor, launch.id.job);
  auto known = steps_.find(launch.id);
  // Who gives the number again has lost the state in which the other was launched: nobody waits for
  // its end.
  if (known != steps_.end() && known->second.launch_key != launch.launch_key &&
      known->second.done) {
    remember_past(known->first, known->second.launch_key);
    steps_.erase(known);
    world_.forget(launch.id);
    known = steps_.end();
  }
  if (known == steps_.end() ? is_past(launch.id, launch.launch_key)
                            : known->second.launch_key != launch.launch_key) {
    return report_lost(launch.id, launch.launch_key, launch.node_rank);
  }
  // An older copy of the spool, or one that was cut at a record's end, has lost it unnoticed.
  if (known == steps_.end() && is_left(launch)) {
    find_again(launch.id, launch.launch_key).since = now;
    return;
  }
  if (known == steps_.end()) {
    Step& step =
        steps_[launch.id];  // known from here on: a second copy of the order changes nothing
    step.since = now;
    step.launch_key = launch.launch_key;
    if (uid_ != 0 && launch.job->user.value() != uid_) return refuse(launch);
    launches_.push_back(launch);
  } else if (known->second.done) {
    report_end(known->first, known->second);
  } else if (known->second.is_running) {
    send(StepRunning{launch.id, launch.launch_key});
  }
}

/// Processes of another user say nothing of the job.
bool Agent::is_left(const LaunchStep& launch) const {
  if (!left_ || !left_->contains(launch.id)) return false;
  const std::set<UserId>& users = left_->at(launch.id);
  return users.contains(UserId(0)) || users.contains(launch.job->user);
}

/// An order of a controller that has been deposed since, or of another cluster.
bool Agent::is_stale(const LaunchStep& launch) const {
  return !launch.cluster_id.empty() &&
         (launch.cluster_id != self_.cluster_id || launch.epoch < self_.epoch);
}

/// An order that comes after its run was ended here, or whose number another run has here, starts
/// nothing, and is not passed over in silence.
void Agent::report_lost(const StepId& id, std::uint64_t launch_key, std::uint32_t node_rank) {
  StepDone done;
  done.id = id;
  done.launch_key = launch_key;
  done.node_rank = node_rank;
  done.tasks = {ExitStatus::signalled(9)};
  done.error =
      "node " + self_.node_name + " has ended a run of that number, or has another step under it";
  done.is_lost = true;
  done.is_node_fault = true;
  send(done);
}

/// A step that runs here, as others say, and that the spool has lost. On a full disk it is not
/// recorded: an agent that starts then finds it in the same way.
Agent::Step& Agent::find_again(const StepId& id, std::uint64_t launch_key) {
  LaunchStep brief;
  brief.id = id;
  brief.launch_key = launch_key;
  brief.node_name = self_.node_name;
  brief.cluster_id = self_.cluster_id;
  brief.epoch = self_.epoch;
  if (!world_.record(brief).has_value()) has_unrecorded_ = true;
  if (left_) left_->erase(id);
  Step& step = steps_[id];
  step.launch_key = launch_key;
  return step;
}

/// From here on the spool knows what the controller knows: what is missing from it later was never
/// started.
void Agent::look_for(const FindSteps& wanted, TimePoint now) {
  for (const KnownStep& step : wanted.steps) look_for(step, now);
  if (!self_.has_lost_records) return;
  if (left_) {
    for (const auto& [step, users] : *left_) strangers_.insert(step);
    left_->clear();
  }
  clean_up_strangers();
  if (std::exchange(has_unrecorded_, false)) return;  // it is told again with the next registration
  const Status recorded =
      world_.adopt_cluster({self_.cluster_id, self_.epoch}, self_.job_floor, false);
  self_.has_lost_records = !recorded.has_value();
}

/// Runs that were given up while the spool was lost. Those whose supervisors live are told of when
/// they dial in.
void Agent::clean_up_strangers() {
  std::erase_if(strangers_, [this](const StepId& step) {
    if (steps_.contains(step)) return true;
    return !world_.has_supervisor(step) && world_.clean_up(step);
  });
}

/// Its supervisor may live and dial in; without one it is cleaned up after and ends as lost.
void Agent::look_for(const KnownStep& wanted, TimePoint now) {
  const auto known = steps_.find(wanted.id);
  if (known == steps_.end() ? is_past(wanted.id, wanted.launch_key)
                            : known->second.launch_key != wanted.launch_key) {
    return report_lost(wanted.id, wanted.launch_key, 0);
  }
  if (known == steps_.end()) {
    find_again(wanted.id, wanted.launch_key).since = now;
  } else if (known->second.done) {
    report_end(known->first, known->second);
  } else if (known->second.is_running) {
    report_running(known->first, known->second);
  }
}

void Agent::refuse(const LaunchStep& launch) {
  StepDone done;
  done.id = launch.id;
  done.node_rank = launch.node_rank;
  done.tasks = {ExitStatus::exited(1)};
  done.error = "node " + self_.node_name + " runs as uid " + std::to_string(uid_) +
               " and cannot start jobs of uid " + std::to_string(launch.job->user.value()) +
               ": start its agent as root";
  finish(launch.id, steps_[launch.id], std::move(done));
}

/// A step that was acknowledged, or a run that was ended: a launch that comes late starts nothing.
bool Agent::is_past(const StepId& id, std::uint64_t launch_key) const {
  return past_.contains({id, launch_key}) ||
         past_.contains({StepId{id.job, id.attempt, kWholeRun}, 0});
}

void Agent::remember_past(const StepId& id, std::uint64_t launch_key) {
  if (!past_.insert({id, launch_key}).second) return;
  past_order_.emplace_back(id, launch_key);
  if (past_order_.size() <= kPastMax) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

void Agent::end_turn() {
  if (launches_.empty()) return;
  const std::vector<LaunchStep> launches = std::exchange(launches_, {});
  const Result<TimePoint> recorded = world_.launch(launches);
  // Recorded and handed to the spawner: from here on supervisors have their time to dial in.
  if (recorded.has_value()) {
    // A slow disk is not the supervisor's delay: its time begins when the launch was recorded.
    for (const LaunchStep& launch : launches) steps_[launch.id].since = *recorded;
    return;
  }
  // This process stood still, so that the launch may be given up by now: asked for anew, not
  // started.
  if (recorded.error().code == ErrorCode::kDeadlineExceeded) return ask_anew(launches);
  for (const LaunchStep& launch : launches) {
    StepDone done;
    done.id = launch.id;
    done.node_rank = launch.node_rank;
    done.error = recorded.error().text();
    done.is_node_fault = done.may_pass = true;
    finish(launch.id, steps_[launch.id], std::move(done));
  }
}

/// Nothing of them has begun: whether they are still wanted, the controller says when the node
/// registers.
void Agent::ask_anew(const std::vector<LaunchStep>& launches) {
  for (const LaunchStep& launch : launches) {
    steps_.erase(launch.id);
    world_.forget(launch.id);
  }
  register_anew();
}

/// The controller hears of it before the end that frees the job: else that may come here again.
void Agent::suffer(const std::string& fault) {
  if (!fault_.text().empty()) return;
  fault_.begin(fault);
  send(with_fault(world_.measure()));
}

bool Agent::on_step_linked(const StepId& id, std::uint64_t launch_key) {
  const auto found = steps_.find(id);
  if (found != steps_.end() && found->second.launch_key != launch_key) return false;
  const bool is_given_up = found == steps_.end()
                               ? is_past(id, launch_key)
                               : found->second.done && found->second.done->is_lost;
  if (is_given_up) {
    // It is here all the same: its place may be somebody else's by now.
    world_.send_step(id, TerminateJob{id.job, id.attempt, "", Duration()});
    return true;
  }
  // One that the spool has lost is told of like any other: the controller knows whether it is to
  // run.
  Step& step = found == steps_.end() ? find_again(id, launch_key) : found->second;
  step.is_linked = true;
  for (const ToAgent& message : std::exchange(step.waiting, {})) world_.send_step(id, message);
  return true;
}

void Agent::on_step(const StepId& id, const FromAgent& message) {
  const auto found = steps_.find(id);
  if (found == steps_.end()) return;
  found->second.answer_by = {};
  if (const auto* done = get_if<StepDone>(&message)) {
    finish(id, found->second, *done);
  } else if (holds_alternative<StepRunning>(message)) {
    Step& step = found->second;
    step.is_running = true;
    // Of a batch script that is over at once the controller need not hear twice; who waits for
    // another step's start sees it now.
    if (id.step != kBatchStep && is_connected_ && !step.is_reported && !step.done)
      report_running(id, step);
  }
}

void Agent::finish(const StepId& id, Step& step, StepDone done) {
  if (step.done) return;
  step.done = std::move(done);
  step.done->launch_key = step.launch_key;
  step.waiting.clear();
  if (step.done->may_pass) suffer(step.done->error);
  report_end(id, step);
  report_clean(id.job, id.attempt);
}

/// What a run wrote is heard before its end, unless its end was decided elsewhere.
void Agent::report_end(const StepId& id, Step& step) {
  step.is_end_due = !terminated_.contains({id.job, id.attempt}) &&
                    !is_past({id.job, id.attempt, kWholeRun}, 0) && !world_.is_output_stored(id);
  if (!step.is_end_due) send(*step.done);
}

void Agent::on_output_stored() {
  for (auto& [id, step] : steps_) {
    if (step.is_end_due) report_end(id, step);
  }
}

void Agent::on_step_closed(const StepId& id, TimePoint now) {
  const auto found = steps_.find(id);
  if (found == steps_.end() || found->second.done) return;
  found->second.is_linked = false;
  found->second.since = now;
  // A supervisor keeps its end in the spool before it tells us, and may be gone in between.
  if (const auto done = world_.find_end(id)) finish(id, found->second, *done);
}

/// No living supervisor and no end: it never started, or its end is not known. It is not started
/// again here; that it was lost is the node's fault, so the job may run anew.
void Agent::lose(const StepId& id, Step& step) {
  if (const auto done = world_.find_end(id)) {
    finish(id, step, *done);
    return;
  }
  // Looked at again by the next tick: the run may begin anew only when nothing of it is left.
  if (!world_.clean_up(id)) return;
  StepDone done;
  done.id = id;
  done.tasks = {ExitStatus::signalled(9)};
  done.is_lost = true;
  done.is_node_fault = true;
  finish(id, step, std::move(done));
}

Heartbeat Agent::with_fault(Heartbeat heartbeat) const {
  heartbeat.fault = fault_.text();
  return heartbeat;
}

/// What kept steps from being started may have gone away.
void Agent::look_at_fault(TimePoint now) {
  if (fault_.is_due(now)) fault_.looked(world_.probe(), now);
}

/// What lay unread while this process stood still may be long given up by then, or run elsewhere.
/// The controller says anew what is to be launched when the node registers.
void Agent::look_for_pause(TimePoint now) {
  if (last_tick_.is_set() && now - last_tick_ > kStaleAfter) register_anew();
}

void Agent::register_anew() {
  if (!std::exchange(has_paused_, true)) world_.reconnect();
}

void Agent::on_tick(TimePoint now) {
  look_for_pause(now);
  // After a pause of our own what supervisors sent meanwhile is read before any of them counts as
  // lost.
  if (last_tick_.is_set() && now - last_tick_ > kPause) {
    for (auto& [id, step] : steps_) {
      step.since = now;
      if (step.answer_by.is_set()) step.answer_by = now + kAnswerTimeout;
    }
  }
  last_tick_ = now;
  look_at_fault(now);
  clean_up_strangers();
  for (auto& [id, step] : steps_) {
    if (!step.done && step.answer_by.is_set() && now > step.answer_by) {
      step.answer_by = {};
      world_.end_supervisor(id);
    }
    const bool is_missed = !step.done && !step.is_linked && now - step.since > kSupervisorLostAfter;
    // Without a connection a supervisor may still live: the lock on its key says so (key_lock.h).
    if (is_missed && !world_.has_supervisor(id)) lose(id, step);
    if (is_connected_ && step.is_running && !step.is_reported && !step.done)
      report_running(id, step);
    if (!step.is_end_due || !is_connected_) continue;
    if (!step.due_since.is_set()) step.due_since = now;
    if (now - step.due_since < kOutputTimeout) continue;
    step.is_end_due = false;
    send(*step.done);
  }
  if (is_connected_ && now - last_heartbeat_ >= kHeartbeat) {
    last_heartbeat_ = now;
    world_.send_controller(with_fault(world_.measure()));
  }
}

}  // namespace muster
