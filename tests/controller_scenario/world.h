// The world of one scenario: a controller over a journal, its nodes, the searches beside it, the
// clients of allocations, and the replica that users read. Time passes as the scenario says.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/caller.h"
#include "controller/testing.h"
#include "gateway/query_replica.h"
#include "platform/search/search_role.h"
#include "tests/controller_scenario/fake_node.h"

namespace muster::scenario {

struct User {
  std::string name;
  Identity identity;
};
/// root, alice, bob or carol; null: nobody.
const User* find_user(const std::string& name);

/// What became of the last request.
struct Answer {
  std::vector<Error> errors;  ///< of the whole, or of jobs that it named
  Reply reply;
  bool is_given = false;  ///< false: it waits, or the controller is gone
};

/// How a controller comes back.
struct Restart {
  bool is_tail_stored = false;  ///< what it had appended and not yet stored has come through
  Duration away;                ///< that no controller was there
  CoreStart beginning;
};

class World {
 public:
  /// `first_status`: as CoreStart.
  World(std::shared_ptr<const ClusterConfig> config,
        std::map<std::string, NodeStatus> first_status);

  // ---- time ----
  std::int64_t seconds() const { return (rig_->now - testing::at(0)).seconds(); }
  TimePoint now() const { return rig_->now; }
  /// Second by second, with every node that is there heard in each. Requires: the journal stores.
  void advance(std::int64_t to);
  /// The controller is stopped and goes on, as if no time had passed for it.
  void stand_still(Duration span);

  // ---- the controller ----
  /// As a client sends it; the answer is `answer()`.
  void ask(Request request, const User& user);
  /// The last request once more, under its number.
  void repeat();
  const Answer& answer() const { return answer_; }
  void forget_answer() {
    token_ = 0;
    answer_ = {};
  }
  /// How many requests have had no answer.
  std::size_t unanswered() const { return waiting_.size(); }
  void stall_journal() { is_stalled_ = true; }
  bool is_stalled() const { return is_stalled_; }
  void restart(const Restart& how);
  /// Lets nodes answer, searches decide and plans be made until nothing moves.
  void run_until_idle();

  // ---- nodes ----
  FakeNode& node(NodeIndex index) { return nodes_[index.value()]; }
  const std::vector<FakeNode>& nodes() const { return nodes_; }
  void lose(NodeIndex index);
  void connect(NodeIndex index);
  /// To the controller, if it is there to hear.
  void send_from(NodeIndex index, const std::vector<FromAgent>& messages);
  /// Orders that reached the node, by kind.
  const std::vector<ToAgent>& orders_of(NodeIndex index) const { return orders_[index.value()]; }
  void forget_orders();

  // ---- clients of allocations ----
  void lose_client(JobId job) { lost_clients_.insert(job); }

  // ---- what is seen ----
  const ClusterState& state() const { return rig_->core.state(); }
  const QueryReplica& replica() const { return *replica_; }
  const PlanReport* report() const { return report_.get(); }
  const std::vector<HistoryRecord>& history() const { return history_; }
  std::vector<EventBatchRef> stored() const { return rig_->stored(); }
  const std::vector<std::string>& warnings() const { return rig_->warnings; }
  /// What went wrong with the world itself.
  std::vector<std::string> extract_faults() { return std::exchange(faults_, {}); }

 private:
  void begin(std::vector<EventBatchRef> stored, const Restart& how);
  void collect();
  bool deliver();
  bool fetch();
  bool decide();
  bool plan();
  void renew_leases();
  void send(PreparedRequest request);
  void collect_answers();

  std::shared_ptr<const ClusterConfig> config_;
  std::unique_ptr<testing::Rig> rig_;
  std::unique_ptr<QueryReplica> replica_;
  std::unique_ptr<SearchRole> searches_;
  std::vector<FakeNode> nodes_;
  std::vector<std::vector<ToAgent>> orders_;
  std::shared_ptr<const PlanReport> report_;
  std::vector<HistoryRecord> history_;
  std::size_t seen_batches_ = 0;
  std::size_t seen_orders_ = 0;
  std::size_t seen_fetches_ = 0;
  std::map<std::string, LastBlob> environments_;  ///< by user
  std::set<std::uint64_t> waiting_;               ///< tokens of requests without an answer
  std::uint64_t token_ = 0;                       ///< of the last request
  std::optional<Request> last_;
  const User* last_user_ = nullptr;
  std::uint64_t number_ = 0;  ///< of the last request, for repeats
  Answer answer_;
  std::set<JobId> lost_clients_;
  bool is_stalled_ = false;
  std::vector<std::string> faults_;
};

}  // namespace muster::scenario
