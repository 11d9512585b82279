// Builders for the controller's tests: callers, prepared requests, and a core whose journal and nodes do what the test
// says. Not for production code.
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

inline PreparedSubmit submit_of(std::shared_ptr<JobSpec> spec, const std::string& script = "#!/bin/sh\n") {
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
inline ControlJobs control_of(JobVerb verb, JobSelector job) { return ControlJobs{verb, {std::move(job)}}; }
inline CancelJobs cancel_of(JobId job) {
  CancelJobs cancel;
  cancel.filter.jobs.push_back(selector_of(job));
  return cancel;
}

/// A core over a journal that keeps what it is given until the test says how much of it is on stable storage.
class Rig final : public JournalPort, public CorePort {
 public:
  /// A cluster of `nodes` nodes (state/testing.h), or the one that `stored` batches make: a start after a crash.
  explicit Rig(std::uint32_t nodes = 2, std::vector<EventBatchRef> stored = {}) : Rig(config_of(nodes), std::move(stored)) {}
  explicit Rig(std::shared_ptr<const ClusterConfig> config, std::vector<EventBatchRef> stored = {})
      : journal(std::move(stored)), now(at(0)) {
    std::uint64_t epoch = 1;
    for (const EventBatchRef& batch : journal) {
      core.state().apply(*batch);
      epoch = batch->epoch.value() + 1;
      now = core.state().time();
    }
    durable_ = journal.size();
    planner.state().copy_from(core.state());
    planner.start();
    core.start(Epoch(epoch), std::move(config), now);
    flush();
  }

  /// Everything appended so far is stored.
  void flush() {
    durable_ = journal.size();
    core.on_durable(Seq(durable_), now);
  }
  /// What a new start would find.
  std::vector<EventBatchRef> stored() const {
    return {journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(durable_)};
  }
  /// A turn of its own. The answer is the token under which the reply will come.
  std::uint64_t ask(std::vector<PreparedRequest> requests, Identity who = kAlice, RequestId id = {}) {
    core.on_command(Command{++token_, who, id, std::move(requests)}, now);
    core.end_turn(now);
    return token_;
  }
  /// As `ask`, for one request, with all of it made durable at once.
  Reply done(PreparedRequest request, Identity who = kAlice, RequestId id = {}) {
    const std::uint64_t token = ask({std::move(request)}, who, id);
    flush();
    return replies.at(token).at(0);
  }
  void connect(std::uint32_t node, std::vector<KnownStep> steps = {}, const std::string& boot = "boot") {
    RegisterNode hello;
    hello.node_name = "n" + std::to_string(node);
    hello.boot_id = boot;
    hello.cpus = 4;
    hello.memory_mib = 1000;
    hello.gres = {GresPool{"gpu", "", 2, {}}};
    hello.steps = std::move(steps);
    CHECK(core.on_register(hello, now).has_value());
    core.end_turn(now);
    flush();
  }
  void connect_all() {
    for (std::uint32_t i = 0; i < core.state().nodes().all().size(); ++i) connect(i);
  }
  void hear(std::uint32_t node, const FromAgent& message) {
    core.on_agent(NodeIndex(node), message, now);
    core.end_turn(now);
    flush();
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
  void pass(Duration span) {
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
    for (const auto& [to, message] : sent) count += to == NodeIndex(node) && std::holds_alternative<Message>(message) ? 1 : 0;
    return count;
  }

  /// The last message of that kind. Requires: there is one.
  template <class Message>
  const Message& last_sent() const {
    for (auto message = sent.rbegin(); message != sent.rend(); ++message) {
      if (std::holds_alternative<Message>(message->second)) return std::get<Message>(message->second);
    }
    CHECK(false, "no such message was sent");
  }

  // ---- JournalPort, CorePort ----
  void append(EventBatchRef batch) override { journal.push_back(std::move(batch)); }
  void reply(std::uint64_t token, std::vector<Reply> answer) override { replies[token] = std::move(answer); }
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

  std::vector<EventBatchRef> journal;  ///< appended; the first `durable` of them are stored
  std::map<std::uint64_t, std::vector<Reply>> replies;
  std::vector<std::pair<NodeIndex, ToAgent>> sent;
  std::vector<EventBatchRef> published;
  std::vector<HistoryRecord> history;
  std::vector<BlobId> fetched;
  TimePoint now;
  PlannerRole planner{sched::PlanOptions()};
  Core core{Core::Options{"test"}, *this, *this};

 private:
  std::size_t durable_ = 0;
  std::uint64_t token_ = 0;
};

}  // namespace muster::testing
