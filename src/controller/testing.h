// Builders for the controller's tests: callers, prepared requests, and a core whose journal and
// nodes do what the test says. Not for production code.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/digest.h"
#include "controller/core.h"
#include "controller/prepare.h"
#include "state/testing.h"

namespace muster::testing {

inline constexpr Identity kRoot{UserId(0), GroupId(0), true};
inline constexpr Identity kAlice{UserId(1000), GroupId(100), false};
inline constexpr Identity kBob{UserId(1001), GroupId(100), false};

inline PreparedSubmit submit_of(std::shared_ptr<JobSpec> spec,
                                const std::string& script = "#!/bin/sh\n") {
  PreparedSubmit submit;
  submit.spec = std::move(spec);
  submit.script = PreparedBlob{sha256(script), std::make_shared<const std::string>(script)};
  return submit;
}
inline JobSelector selector_of(JobId job) {
  JobSelector selector;
  selector.job = job;
  return selector;
}
inline JobSelector element_of(JobId job, Bitmap indices) {
  JobSelector selector;
  selector.job = job;
  selector.is_element = true;
  selector.indices = std::move(indices);
  return selector;
}
inline ControlJobs control_of(JobVerb verb, JobSelector job) {
  return ControlJobs{verb, {std::move(job)}};
}
inline CancelJobs cancel_of(JobId job) {
  CancelJobs cancel;
  cancel.filter.jobs.push_back(selector_of(job));
  return cancel;
}

/// A core over a journal that keeps what it is given until the test says how much of it is on
/// stable storage.
class Rig : public JournalPort, public CorePort {
 public:
  /// A cluster of `nodes` nodes (state/testing.h), or the one that `stored` batches make: a start
  /// after a crash.
  explicit Rig(std::uint32_t nodes = 2, std::vector<EventBatchRef> stored = {})
      : Rig(config_of(nodes), std::move(stored)) {}
  /// `away`: how long no controller was there before this one.
  explicit Rig(std::shared_ptr<const ClusterConfig> config, std::vector<EventBatchRef> stored = {},
               Duration away = {}, const CoreStart& beginning = {}, bool is_behind = false)
      : journal(std::move(stored)), now(at(0)) {
    is_history_behind = is_behind;
    std::uint64_t epoch = 1;
    for (const EventBatchRef& batch : journal) {
      core.state().apply(*batch);
      epoch = batch->epoch.value() + 1;
      now = core.state().time();
    }
    durable_ = journal.size();
    planner.state().copy_from(core.state());
    planner.start();
    now = now + away;
    core.start(Epoch(epoch), std::move(config), now, beginning);
    now = now + beginning.clock_step;
    flush();
  }

  /// Everything appended so far is stored.
  void flush() {
    durable_ = journal.size();
    core.on_durable(Seq(durable_), now);
    if (!is_history_behind) core.on_history(Seq(durable_));
  }
  /// What a new start would find.
  std::vector<EventBatchRef> stored() const {
    return {journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(durable_)};
  }
  /// A turn of its own. The answer is the token under which the reply will come.
  std::uint64_t ask(std::vector<PreparedRequest> requests, Identity who = kAlice,
                    RequestId id = {}) {
    core.on_command(Command{++token_, who, id, std::move(requests)}, now);
    core.end_turn(now);
    return token_;
  }
  /// As `ask`, for one request, with all of it made durable at once.
  Reply done(PreparedRequest request, Identity who = kAlice, RequestId id = {}) {
    const std::uint64_t token = ask({std::move(request)}, who, id);
    flush();
    work();
    return replies.at(token).at(0);
  }
  /// As salloc: so many nodes, a task on each.
  JobId allocate(std::uint32_t nodes = 1) {
    auto spec = spec_of();
    spec->kind = JobKind::kInteractive;
    spec->min_nodes = spec->task_count = nodes;
    return done(submit_of(std::move(spec))).job;
  }
  /// As srun in that allocation, on so many of its nodes.
  StepId begin_step(JobId job, std::uint32_t nodes = 1) {
    auto step = std::make_shared<StepSpec>();
    step->min_nodes = step->task_count = nodes;
    return *done(PreparedStep{job, std::move(step), {}}).step;
  }
  /// Whatever takes several turns is finished. Returns how many it took.
  std::size_t work() {
    std::size_t turns = 0;
    for (; core.has_work(); ++turns) {
      core.on_work(now);
      core.end_turn(now);
      flush();
    }
    return turns;
  }
  static RegisterNode hello_of(std::uint32_t node) {
    RegisterNode hello;
    hello.protocol = kAgentProtocol;
    hello.node_name = "n" + std::to_string(node);
    hello.boot_id = "boot";
    hello.machine_id = "machine of " + hello.node_name;
    hello.cpus = 4;
    hello.memory_mib = 1000;
    hello.gres = {GresPool{"gpu", "", 2, {}}};
    return hello;
  }
  Result<NodeIndex> greet(const RegisterNode& hello) {
    auto answer = core.on_register(hello, now);
    core.end_turn(now);
    flush();
    return answer;
  }
  void connect(std::uint32_t node, std::vector<KnownStep> steps = {},
               const std::string& boot = "boot") {
    RegisterNode hello = hello_of(node);
    hello.boot_id = boot;
    for (KnownStep& step : steps) name_launch(step);
    hello.steps = std::move(steps);
    const bool has_met = !core.state().nodes().at(NodeIndex(node)).status.boot_id.empty();
    if (has_met) hello.cluster_id = core.identity().cluster_id;
    CHECK(greet(hello).has_value());
  }
  void connect_all() {
    for (std::uint32_t i = 0; i < core.state().nodes().all().size(); ++i) connect(i);
  }
  void hear(std::uint32_t node, FromAgent message) {
    std::visit(
        [&](auto& said) {
          if constexpr (requires { said.launch_key; }) name_launch(said);
        },
        message);
    core.on_agent(NodeIndex(node), message, now);
    core.end_turn(now);
    flush();
  }
  /// What an agent says of a step names its launch: the present one, unless it names another.
  void name_launch(auto& said) const {
    if (said.launch_key == 0) said.launch_key = launch_key(said.id);
  }
  /// 0: the state has no such step.
  std::uint64_t launch_key(const StepId& id) const {
    const Job* job = core.state().jobs().find(id.job);
    const StepState* step = job == nullptr || job->run == nullptr || job->attempt != id.attempt
                                ? nullptr
                                : job->run->find_step(id.step);
    return step == nullptr ? 0 : job->run->launch_key_of(*step);
  }
  /// Every node says that it runs what it was told to start.
  void confirm_launches() {
    for (; confirmed_ < sent.size(); ++confirmed_) {
      const auto [node, message] = sent[confirmed_];
      if (const auto* launch = std::get_if<LaunchStep>(&message))
        hear(node.value(), StepRunning{launch->id});
    }
  }
  void step_done(std::uint32_t node, const StepId& step, ExitStatus exit = {}) {
    StepDone report;
    report.id = step;
    report.tasks = {exit};
    hear(node, report);
  }
  /// Plans until nothing is left to plan.
  void plan() {
    while (auto result = planner.plan(now)) {
      core.on_plan(std::move(*result), now);
      flush();
    }
  }
  /// Time passes as it does: tick by tick.
  void pass(Duration span) {
    const TimePoint end = now + span;
    do {
      now = std::min(end, now + Duration::milliseconds(500));
      core.on_tick(now);
      core.end_turn(now);
      flush();
    } while (now < end);
  }
  /// The same, with every node heard each second.
  void live(Duration span) {
    for (Duration left = span; left > Duration(); left = left - Duration::seconds(1)) {
      for (std::uint32_t i = 0; i < core.links().size(); ++i) {
        if (core.links()[i].is_connected) hear(i, Heartbeat{});
      }
      pass(std::min(left, Duration::seconds(1)));
    }
  }
  /// The controller was stopped for so long: its first tick comes late.
  void stand_still(Duration span) {
    now = now + span;
    core.on_tick(now);
    core.end_turn(now);
    flush();
  }
  const Job& job(JobId id) const { return *core.state().jobs().find(id); }
  StepId batch_step(JobId id) const { return StepId{id, job(id).attempt, kBatchStep}; }
  /// How many messages of that kind a node was sent.
  template <class Message>
  std::size_t count_sent(std::uint32_t node) const {
    std::size_t count = 0;
    for (const auto& [to, message] : sent)
      count += to == NodeIndex(node) && std::holds_alternative<Message>(message) ? 1 : 0;
    return count;
  }

  /// The last message of that kind. Requires: there is one.
  template <class Message>
  const Message& last_sent() const {
    for (auto message = sent.rbegin(); message != sent.rend(); ++message) {
      if (std::holds_alternative<Message>(message->second))
        return std::get<Message>(message->second);
    }
    CHECK(false, "no such message was sent");
  }

  // ---- JournalPort, CorePort ----
  void append(EventBatchRef batch) override { journal.push_back(std::move(batch)); }
  void reply(std::uint64_t token, std::vector<Reply> answer) override {
    replies[token] = std::move(answer);
  }
  void send(NodeIndex node, const ToAgent& message) override { sent.emplace_back(node, message); }
  void publish(DurableUpdate update) override {
    planner.apply(*update.batch);
    published.push_back(update.batch);
    for (HistoryRecord& record : update.history) history.push_back(std::move(record));
  }
  void plan_consumed(Seq until) override { planner.consumed(until); }
  void fetch_blob(BlobId id) override { fetched.push_back(id); }
  void mail(Mail) override {}
  Status reconfigure() override { return {}; }
  void warn(const std::string& text) override { warnings.push_back(text); }
  void lead_beyond(Epoch epoch) override { met_epoch = epoch; }

  std::vector<EventBatchRef> journal;  ///< appended; the first `durable` of them are stored
  std::map<std::uint64_t, std::vector<Reply>> replies;
  std::vector<std::pair<NodeIndex, ToAgent>> sent;
  std::vector<EventBatchRef> published;
  std::vector<HistoryRecord> history;
  bool is_history_behind = false;  ///< it has stored nothing of what is published from now on
  std::vector<BlobId> fetched;
  std::vector<std::string> warnings;
  Epoch met_epoch;  ///< that the core was told to lead beyond
  TimePoint now;
  PlannerRole planner{sched::PlanOptions()};
  Core core{Core::Options{"test"}, *this, *this};

 private:
  std::size_t durable_ = 0;
  std::size_t confirmed_ = 0;  ///< of `sent`
  std::uint64_t token_ = 0;
};

}  // namespace muster::testing
