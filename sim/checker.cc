#include "sim/checker.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/check.h"

namespace muster::sim {
namespace {

constexpr Duration kClockSlack = Duration::seconds(3);

std::string text_of(const StepId& step) {
  return fmt::format("{}.{}.{}", step.job.value(), step.attempt, step.step);
}

}  // namespace

void Checker::spawned(NodeIndex node, std::uint32_t host, const StepId& step) {
  launched_.insert(step.job);
  const auto [run, is_first] = runs_[step].emplace(node, Run{});
  const bool may_come_again = run->second.is_forgotten && run->second.live[host] == 0;
  CHECK(is_first || may_come_again, "step {} starts a second time on node {}", text_of(step),
        node.value());
  Run fresh;
  fresh.live = std::move(run->second.live);
  fresh.is_forgotten = forgotten_launches_.erase({node, step}) > 0;
  run->second = std::move(fresh);
}

void Checker::forget_unless_begun(NodeIndex node, const StepId& step) {
  if (begun_.contains({node, step})) return;
  std::map<NodeIndex, Run>& parts = runs_[step];
  if (const auto run = parts.find(node); run != parts.end()) {
    run->second.is_forgotten = true;
  } else {
    forgotten_launches_.emplace(node, step);
  }
}

void Checker::rewind(const Knowledge& then) {
  for (const auto& [id, job] : jobs_) started_before_.emplace(id, job.attempt);
  static_cast<Knowledge&>(*this) = then;
  for (auto& [step, runs] : runs_) {
    for (auto& [node, run] : runs) {
      run.is_forgotten = true;
      excused_.insert(step);
    }
  }
  for (const JobId job : launched_) {
    if (!jobs_.contains(job)) forgotten_.insert(job);
  }
  // Nor do nodes report steps that have ended: jobs that go on may give their numbers again.
  for (auto& [id, job] : jobs_) job.is_given_again = true;
  floor_known_ = {};
  has_rewound_ = true;
}

void Checker::allocate(std::uint32_t host, const NodeGrant& grant, JobId job, bool is_shared) {
  if (is_shared) return;
  const auto use = [&](const std::string& kind, const Bitmap& bits) {
    bits.for_each([&](std::size_t index) {
      Holders& holders = places_[{host, kind, index}];
      for (const auto& [holder, uses] : holders) {
        // What nobody sees may also come up late, beside what has its place by now.
        const bool may_share =
            holder == job || out_of_sight_.contains(holder) || out_of_sight_.contains(job);
        CHECK(may_share, "host {}: {} {} is in use by job {} and given to job {}", host, kind,
              index, holder.value(), job.value());
      }
      ++holders[job];
    });
  };
  use("cpu", grant.cpus);
  for (const GresGrant& gres : grant.gres) use(gres.name, gres.devices);
}

void Checker::give(std::uint32_t host, const NodeGrant& grant, JobId job, bool is_shared) {
  if (is_shared) return;
  const auto drop = [&](const std::string& kind, const Bitmap& bits) {
    bits.for_each([&](std::size_t index) {
      Holders& holders = places_[{host, kind, index}];
      const auto held = holders.find(job);
      CHECK(held != holders.end(), "job {} gives back {} {}", job.value(), kind, index);
      if (--held->second == 0) holders.erase(held);
    });
  };
  drop("cpu", grant.cpus);
  for (const GresGrant& gres : grant.gres) drop(gres.name, gres.devices);
}

void Checker::task_started(NodeIndex node, std::uint32_t host, const LaunchStep& launch,
                           std::size_t) {
  ++tasks_run_;
  if (options_.is_traced)
    trace(fmt::format("  task of {} starts on node {}", text_of(launch.id), node.value()));
  Run& run = runs_[launch.id][node];
  ++run.live[host];
  run.launch_key = launch.launch_key;
  allocate(host, launch.step_grant, launch.id.job, false);
  const auto job = jobs_.find(launch.id.job);
  const bool is_started = job != jobs_.end() && job->second.attempt == launch.id.attempt;
  // A launch may have been under way when the state was lost that it came from.
  if (!is_started && started_before_.contains({launch.id.job, launch.id.attempt})) return;
  if (!is_started && out_of_sight_.contains(launch.id.job)) return;
  CHECK(is_started, "step {} runs without a durable start", text_of(launch.id));
  for (const DependencyTerm& term : job->second.dependencies.terms) {
    if (term.kind != DependencyKind::kAfterOk || job->second.dependencies.is_any) continue;
    const auto other = jobs_.find(term.job);
    // Of a job that has left memory only its end is known.
    if (other != jobs_.end() && other->second.is_evicted) continue;
    CHECK(other != jobs_.end() && other->second.has_completed,
          "job {} runs before job {} that it waits for", launch.id.job.value(), term.job.value());
  }
}

void Checker::task_ended(NodeIndex node, std::uint32_t host, const LaunchStep& launch, std::size_t,
                         ExitStatus status) {
  if (options_.is_traced)
    trace(fmt::format("  task of {} ends on node {}: {}", text_of(launch.id), node.value(),
                      status.raw));
  Run& run = runs_[launch.id][node];
  --run.live[host];
  ++run.ended;
  run.worst = worse(run.worst, status);
  give(host, launch.step_grant, launch.id.job, false);
}

void Checker::deadline_enforced(const LaunchStep& launch) {
  const auto found = jobs_.find(launch.id.job);
  if (found == jobs_.end() || found->second.state != JobState::kRunning) return;
  const Known& job = found->second;
  if (job.attempt != launch.id.attempt) return;
  // The cluster's time may run a little faster while it follows a wall clock.
  CHECK(timeline_.now() - job.true_start + kClockSlack >= job.limit + job.suspended,
        "step {} is ended by its supervisor before its time", text_of(launch.id));
}

/// Of an array no more elements run than it allows: those that ran when it was lowered run on.
void Checker::check_throttle(JobId id) const {
  const auto array = jobs_.find(id);
  if (array == jobs_.end() || array->second.throttle == 0) return;
  std::uint32_t running = 0;
  for (const auto& [other, job] : jobs_)
    running +=
        job.array == id && (job.state == JobState::kRunning || job.state == JobState::kSuspended)
            ? 1
            : 0;
  CHECK(running <= array->second.throttle, "{} elements of array {} run, {} may", running,
        id.value(), array->second.throttle);
}

/// A job that the log has not named before. Of those that the state has lost, ids that no node has
/// heard of may be given again.
void Checker::add(JobId id, Known job) {
  job.is_given_again = forgotten_.contains(id);
  CHECK(!job.is_given_again || id > floor_known_,
        "job id {} is given again, and was to be passed over", id.value());
  const bool is_new = jobs_.emplace(id, std::move(job)).second;
  CHECK(is_new, "job id {} is given twice", id.value());
}

Checker::Known& Checker::known(JobId id) {
  const auto found = jobs_.find(id);
  CHECK(found != jobs_.end(), "an event names job {}, which no event made", id.value());
  return found->second;
}

namespace {

/// One line per event: its kind, its job, its node.
struct Tracer {
  std::string text;
  template <class Body>
  void operator()(const Body& body) {
    std::string kind = __PRETTY_FUNCTION__;
    kind = kind.substr(kind.find("Body = ") + 7);
    text = kind.substr(0, kind.find(']'));
    if constexpr (requires { JobId(body.job); })
      text += fmt::format(" job {}", JobId(body.job).value());
    if constexpr (requires { body.element; })
      text += fmt::format(" element {} of {}", body.element.value(), body.array.value());
    if constexpr (requires { StepId(body.step); }) text += " step " + text_of(body.step);
    if constexpr (requires { NodeIndex(body.node); })
      text += fmt::format(" node {}", NodeIndex(body.node).value());
    if constexpr (requires { body.set_conditions; })
      text += fmt::format(" set {:x} clear {:x}", body.set_conditions, body.clear_conditions);
    if constexpr (requires { job_state_name(body.state); })
      text += fmt::format(" state {}", job_state_name(body.state));
    if constexpr (requires { body.detail; }) text += " '" + body.detail + "'";
    if constexpr (requires { body.allocation; }) {
      for (const NodeGrant& grant : body.allocation->nodes)
        text += fmt::format(" on {}", grant.node.value());
    }
  }
};

}  // namespace

void Checker::trace(const std::string& text) const {
  if (!options_.is_traced) return;
  fmt::print(stderr, "{:.6f} {}\n",
             static_cast<double>(timeline_.now().microseconds() % 1'000'000'000'000) / 1e6, text);
}

/// Legal transitions, read from the log alone.
struct Checker::Follow {
  Checker& checker;
  TimePoint time;

  template <class Other>
  void operator()(const Other&) {}
  void operator()(const JobSubmitted& e) {
    Known job;
    job.spec = e.spec;
    job.limit = e.time_limit;
    job.dependencies = e.dependencies;
    job.array = e.job;
    if (e.array) job.throttle = e.array->throttle;
    checker.add(e.job, std::move(job));
  }
  void operator()(const ArraySplit& e) {
    Known element = checker.known(e.array);
    element.attempt = 0;
    checker.add(e.element, std::move(element));
    if (checker.cancelled_.contains(e.array)) checker.cancelled_.insert(e.element);
  }
  void operator()(const JobStarted& e) {
    Known& job = checker.known(e.job);
    CHECK(job.state == JobState::kPending, "job {} starts from state {}", e.job.value(),
          job_state_name(job.state));
    CHECK(!checker.cancelled_.contains(e.job), "job {} starts after its cancel was acknowledged",
          e.job.value());
    checker.launched_.insert(e.job);
    job.state = JobState::kRunning;
    job.start = time;
    job.true_start = checker.timeline_.now();
    job.limit = e.time_limit;
    job.suspended = Duration();
    job.nodes_left = e.allocation->nodes.size();
    checker.check_throttle(job.array);
  }
  void operator()(const JobEnding& e) {
    Known& job = checker.known(e.job);
    CHECK(is_finished(e.state), "job {} ends in state {}", e.job.value(), job_state_name(e.state));
    CHECK(!is_finished(job.state) || job.is_completing, "job {} ends twice", e.job.value());
    if (e.state == JobState::kTimeout) {
      CHECK(job.state == JobState::kRunning && time - job.start >= job.limit + job.suspended,
            "job {} times out early", e.job.value());
    }
    if (e.state == JobState::kNodeFail) {
      const Options& o = checker.options_;
      const bool is_possible = o.node_crash != Duration() || o.partition != Duration() ||
                               o.agent_crash != Duration() || o.link_drop != Duration() ||
                               o.stranger != Duration() || checker.is_node_downed_ ||
                               job.is_given_again || checker.is_excused(e.job, job.attempt);
      CHECK(is_possible, "job {} fails with its node and no node failed: {}", e.job.value(),
            e.detail);
      checker.node_failed_.insert({e.job, job.attempt});
    }
    // A job's exit is its script's; what becomes of a trial is its search's to say.
    const auto script = checker.script_exits_.find(StepId{e.job, job.attempt, kBatchStep});
    const bool is_scripts = e.detail.empty() && job.spec->trial.value() == 0 &&
                            (e.state == JobState::kCompleted || e.state == JobState::kFailed);
    if (is_scripts && script != checker.script_exits_.end()) {
      CHECK(e.exit == script->second, "job {} ends with {}, and its script ended with {}",
            e.job.value(), e.exit.raw, script->second.raw);
      CHECK((e.state == JobState::kCompleted) == (e.exit == ExitStatus()), "job {} is {} with {}",
            e.job.value(), job_state_name(e.state), e.exit.raw);
    }
    if (script != checker.script_exits_.end()) checker.script_exits_.erase(script);
    const bool had_run = job.nodes_left > 0;
    job.state = e.state;
    job.has_completed = job.has_completed || e.state == JobState::kCompleted;
    job.is_completing = had_run && !e.is_clean;
    if (e.is_clean) job.nodes_left = 0;
    ++checker.jobs_ended_;
  }
  void operator()(const NodeReleased& e) {
    Known& job = checker.known(e.job);
    CHECK(job.is_completing && job.nodes_left > 0, "job {} gives back a node that it has not",
          e.job.value());
    if (--job.nodes_left == 0) job.is_completing = false;
  }
  void operator()(const JobIdsReserved& e) {
    checker.floor_known_ = std::max(checker.floor_known_, JobId(e.next.value() - 1));
  }
  void operator()(const JobRequeued& e) {
    Known& job = checker.known(e.job);
    CHECK(is_finished(job.state) && !job.is_completing, "job {} is requeued from state {}",
          e.job.value(), job_state_name(job.state));
    job.state = JobState::kPending;
    ++job.attempt;
    // A client that repeats a request of before the state was lost may mean a job that was
    // cancelled since.
    if (checker.has_rewound_) checker.cancelled_.erase(e.job);
    job.dependencies = {};
  }
  void operator()(const JobChanged& e) {
    Known& job = checker.known(e.job);
    if (e.time_limit) job.limit = *e.time_limit;
    if (e.dependencies) job.dependencies = *e.dependencies;
    if (e.array_throttle) job.throttle = *e.array_throttle;
  }
  void operator()(const NodeChanged& e) {
    constexpr std::uint16_t kNotBySilence =
        node_condition::kDownByOrder | node_condition::kDownByAbsence;
    if ((e.set_conditions & kNotBySilence) != 0) checker.is_node_downed_ = true;
  }
  void operator()(const ClockStepped& e) {
    checker.time_ = checker.time_ + e.by;
    for (auto& [id, job] : checker.jobs_) {
      if (job.start.is_set()) job.start = job.start + e.by;
      if (job.suspended_since.is_set()) job.suspended_since = job.suspended_since + e.by;
    }
  }
  void operator()(const JobSuspended& e) {
    Known& job = checker.known(e.job);
    CHECK(job.state == JobState::kRunning);
    job.state = JobState::kSuspended;
    job.suspended_since = time;
  }
  void operator()(const JobResumed& e) {
    Known& job = checker.known(e.job);
    CHECK(job.state == JobState::kSuspended);
    job.state = JobState::kRunning;
    job.suspended += time - job.suspended_since;
  }
  void operator()(const StepCreated& e) {
    checker.layouts_[e.step] = e.layout;
    checker.launch_keys_[e.step] = e.launch_key;
  }
  void operator()(const StepBegun& e) {
    e.parts.for_each([&](std::size_t part) {
      checker.begun_.emplace(checker.layouts_.at(e.step)->nodes.at(part).node, e.step);
    });
  }
  void operator()(const JobsEvicted& e) {
    for (const JobId id : e.jobs) {
      Known& job = checker.known(id);
      CHECK(is_finished(job.state) && !job.is_completing, "job {} is evicted before its end",
            id.value());
      CHECK(checker.history_.has(id, job.attempt),
            "job {} leaves memory and history has not stored its end", id.value());
      job.is_evicted = true;
    }
  }
  /// The exit that is reported is the exit that was.
  void operator()(const StepEnded& e) {
    if (e.step.step == kBatchStep) checker.script_exits_[e.step] = e.exit;
    if (checker.node_failed_.contains({e.step.job, e.step.attempt})) return;
    const bool is_node_gone = e.detail.find("restarted") != std::string::npos ||
                              e.detail.find("did not respond") != std::string::npos;
    const Options& o = checker.options_;
    // A spool that is put back may be of the cluster before this one: its agent ends that one's
    // steps first.
    const bool may_be_gone = o.node_crash != Duration() || o.partition != Duration() ||
                             o.stranger != Duration() || o.spool_put_back != Duration();
    const auto stands_still = [&](const NodeGrant& part) {
      const auto silent = checker.silent_until_.find(part.node);
      return silent != checker.silent_until_.end() && checker.timeline_.now() <= silent->second;
    };
    const auto layout = checker.layouts_.find(e.step);
    const bool may_be_silent = layout != checker.layouts_.end() &&
                               std::ranges::any_of(layout->second->nodes, stands_still);
    if (is_node_gone && (may_be_gone || may_be_silent)) return;
    if (checker.has_blob_failed_ && e.detail.find("cannot be read") != std::string::npos) return;
    if (!e.detail.empty()) {
      const bool is_given_again =
          checker.known(e.step.job).is_given_again;  // the node may have one of that number
      CHECK(is_given_again || checker.may_end_with(e.step, e.detail),
            "step {} is lost ({}) and nothing happened to it", text_of(e.step), e.detail);
      return;
    }
    if (checker.excused_.contains(e.step)) return;
    ExitStatus worst;
    std::uint32_t ended = 0;
    std::size_t parts = 0;
    for (const auto& [node, run] : checker.runs_[e.step]) {
      // What a state that was lost had started there is another step.
      if (run.launch_key != checker.launch_keys_[e.step]) continue;
      ++parts;
      const bool is_over =
          std::ranges::all_of(run.live, [](const auto& entry) { return entry.second == 0; });
      CHECK(is_over, "step {} is over and runs on node {}", text_of(e.step), node.value());
      worst = worse(worst, run.worst);
      ended += run.ended;
    }
    // A part that was ended before it came up is reported as killed, whatever became of the others:
    // for a reason, which is the end of its job, somebody's order or a task that failed.
    const Known& job = checker.known(e.step.job);
    const bool has_reason = is_finished(job.state) || job.attempt != e.step.attempt ||
                            checker.asked_to_kill_.contains(e.step) || worst != ExitStatus();
    const bool was_never_there =
        has_reason && e.exit.signal() == 9 && parts < checker.layouts_.at(e.step)->nodes.size();
    CHECK(e.exit == worst || was_never_there, "step {} ended with {} and is reported as {}",
          text_of(e.step), worst.raw, e.exit.raw);
    CHECK(ended > 0 || was_never_there, "step {} ended and never ran", text_of(e.step));
  }
};

void Checker::follow(const Event& event) {
  CHECK(event.time >= time_, "time goes back");
  time_ = event.time;
  if (options_.is_traced) {
    Tracer tracer;
    visit(tracer, event.body);
    trace(tracer.text);
  }
  visit(Follow{*this, event.time}, event.body);
}

void Checker::published(const EventBatch& batch) {
  CHECK(batch.seq.value() == published_.value() + 1, "batch {} is published after {}",
        batch.seq.value(), published_.value());
  published_ = batch.seq;
  for (const Event& event : batch.events) follow(event);
}

void Checker::record_hash(const ClusterState& state) {
  const std::size_t seq = state.seq().value();
  if (hashes_.size() <= seq) hashes_.resize(seq + 1, 0);
  const std::uint64_t hash = state.hash();
  CHECK(hashes_[seq] == 0 || hashes_[seq] == hash,
        "the state after batch {} differs from what it was", seq);
  hashes_[seq] = hash;
}

void Checker::compare(const ClusterState& state, const char* what) {
  const std::size_t seq = state.seq().value();
  if (seq >= hashes_.size() || hashes_[seq] == 0) return;
  CHECK(hashes_[seq] == state.hash(),
        "the state {} after batch {} differs from the one that followed", what, seq);
}

void Checker::recovered(const ClusterState& state) {
  CHECK(state.seq() >= published_, "batch {} was published and the journal ends at {}",
        published_.value(), state.seq().value());
}

void Checker::check_ledger(const ClusterState& state) const {
  for (const Node& node : state.nodes().all()) {
    Bitmap cpus;
    std::uint64_t memory = 0;
    std::size_t given = 0;
    const auto index = *state.nodes().find_by_name(node.config.name);
    state.jobs().for_each([&](const Job& job) {
      if (job.run == nullptr || !job.holds_resources()) return;
      for (std::size_t i = 0; i < job.run->allocation->nodes.size(); ++i) {
        const NodeGrant& grant = job.run->allocation->nodes[i];
        if (grant.node != index || job.run->released.test(i)) continue;
        cpus |= grant.cpus;
        given += grant.cpus.count();
        memory += grant.memory_mib;
      }
    });
    CHECK(cpus == node.used_cpus && given == cpus.count(),
          "node {}: the ledger is not the sum of the grants", node.config.name);
    for (const GresPool& pool : node.config.gres) {
      std::size_t devices = 0;
      Bitmap used;
      state.jobs().for_each([&](const Job& job) {
        if (job.run == nullptr || !job.holds_resources()) return;
        for (std::size_t i = 0; i < job.run->allocation->nodes.size(); ++i) {
          const NodeGrant& grant = job.run->allocation->nodes[i];
          if (grant.node != index || job.run->released.test(i)) continue;
          for (const GresGrant& gres : grant.gres) {
            if (gres.name != pool.name) continue;
            devices += gres.devices.count();
            used |= gres.devices;
          }
        }
      });
      CHECK(devices == used.count() && devices <= pool.count,
            "node {}: {} of {} {} are given, {} different ones", node.config.name, devices,
            pool.count, pool.name, used.count());
      const auto recorded = node.used_gres.find(pool.name);
      CHECK(used == (recorded == node.used_gres.end() ? Bitmap() : recorded->second),
            "node {}: the ledger of its {} is not the sum of the grants", node.config.name,
            pool.name);
    }
    CHECK(memory == node.used_memory_mib && memory <= node.config.memory_mib,
          "node {}: {} MiB given, {} in the ledger", node.config.name, memory,
          node.used_memory_mib);
  }
}

void Checker::check_history() const {
  for (const auto& [id, job] : jobs_) {
    if (!is_finished(job.state)) continue;
    CHECK(history_.has(id, job.attempt), "job {} has ended and history has not stored it",
          id.value());
  }
}

bool Checker::is_excused(JobId job, std::uint32_t attempt) const {
  return std::ranges::any_of(std::array{&excused_, &refused_}, [&](const auto* steps) {
    const auto first = steps->lower_bound(StepId{job, attempt, 0});
    return first != steps->end() && first->job == job && first->attempt == attempt;
  });
}

bool Checker::may_end_with(const StepId& step, const std::string& detail) const {
  const bool is_refused = refused_.contains(step) && detail.find(kNoRoom) != std::string::npos;
  return is_refused || excused_.contains(step);
}

bool Checker::has_ended(JobId id) const {
  const auto found = jobs_.find(id);
  return found != jobs_.end() && is_finished(found->second.state) && !found->second.is_completing;
}

}  // namespace muster::sim
