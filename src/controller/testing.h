// A core whose journal and nodes do what the test says. Not for production code.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/testing.h"
#include "controller/core.h"

namespace muster {
class PlannerRole;
}  // namespace muster

namespace muster::testing {

/// A core over a journal that holds what it is given until the test says how much of it is on
/// stable storage.
class Rig : public JournalPort, public CorePort {
 public:
  /// Makes a cluster of `nodes` nodes (state/testing.h), or the one that `stored` batches make: a
  /// start after a crash.
  explicit Rig(std::uint32_t nodes = 2, std::vector<EventBatchRef> stored = {});
  /// Makes a cluster of that configuration. `away`: how long no controller was there before this
  /// one.
  explicit Rig(std::shared_ptr<const ClusterConfig> config, std::vector<EventBatchRef> stored = {},
               Duration away = {}, const CoreStart& beginning = {}, bool is_behind = false);
  ~Rig() override;

  /// Stores everything appended so far.
  void flush();
  /// Returns what a new start would find.
  std::vector<EventBatchRef> stored() const;
  /// Asks in a turn of its own. Returns the token under which the reply will come.
  std::uint64_t ask(std::vector<PreparedRequest> requests, Identity who = kAlice,
                    RequestId id = {});
  /// Asks one request as `ask` does, with all of it made durable at once.
  Reply done(PreparedRequest request, Identity who = kAlice, RequestId id = {});
  /// Allocates as salloc does: so many nodes, a task on each.
  JobId allocate(std::uint32_t nodes = 1);
  /// Begins a step as srun does in that allocation, on so many of its nodes.
  StepId begin_step(JobId job, std::uint32_t nodes = 1);
  /// Finishes whatever needs several turns. Returns how many it needed.
  std::size_t work();
  static RegisterNode hello_of(std::uint32_t node);
  Result<NodeIndex> greet(const RegisterNode& hello);
  void connect(std::uint32_t node, std::vector<KnownStep> steps = {},
               const std::string& boot = "boot");
  void connect_all();
  void hear(std::uint32_t node, FromAgent message);
  /// Sets the launch that an agent's message about a step names: the present one, unless it names
  /// another.
  void name_launch(auto& said) const {
    if (said.launch_key == 0) said.launch_key = launch_key(said.id);
  }
  /// Returns the step's launch key; 0: the state has no such step.
  std::uint64_t launch_key(const StepId& id) const;
  /// Lets every node say that it runs what it was ordered to start.
  void confirm_launches();
  void step_done(std::uint32_t node, const StepId& step, ExitStatus exit = {});
  /// Plans until nothing is left to plan.
  void plan();
  /// Lets time pass tick by tick.
  void pass(Duration span);
  /// Does the same, with every node heard each second.
  void live(Duration span);
  /// Stops the controller for so long: its first tick comes late.
  void stand_still(Duration span);
  const Job& job(JobId id) const { return *core.state().jobs().find(id); }
  StepId batch_step(JobId id) const { return StepId{id, job(id).attempt, kBatchStep}; }
  /// Returns how many messages of that kind a node was sent.
  template <class Message>
  std::size_t count_sent(std::uint32_t node) const {
    std::size_t count = 0;
    for (const auto& [to, message] : sent)
      count += to == NodeIndex(node) && holds_alternative<Message>(message) ? 1 : 0;
    return count;
  }

  /// Returns the last message of that kind. Requires: there is one.
  template <class Message>
  const Message& last_sent() const {
    for (auto message = sent.rbegin(); message != sent.rend(); ++message) {
      if (holds_alternative<Message>(message->second)) return get<Message>(message->second);
    }
    CHECK(false, "no such message was sent");
  }

  // ---- JournalPort, CorePort ----
  void append(EventBatchRef batch) override { journal.push_back(std::move(batch)); }
  void reply(std::uint64_t token, std::vector<Reply> answer) override;
  void send(NodeIndex node, const ToAgent& message) override { sent.emplace_back(node, message); }
  void publish(DurableUpdate update) override;
  void plan_consumed(Seq until) override;
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
  Epoch met_epoch;  ///< that the core was ordered to lead beyond
  TimePoint now;
  const std::unique_ptr<PlannerRole> planner;  ///< not null
  Core core{Core::Options{"test"}, *this, *this};

 private:
  std::size_t durable_ = 0;
  std::size_t confirmed_ = 0;  ///< of `sent`
  std::uint64_t token_ = 0;
};

}  // namespace muster::testing
