// A controller without threads, disk or network, with something of everything in it: what requests
// and messages of a fuzz run meet.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "controller/testing.h"
#include "gateway/gateway.h"
#include "platform/search/search_role.h"
#include "store/logs/log_store.h"
#include "store/metrics/metric_store.h"

namespace muster::fuzz {

/// What a cluster begins with. Lifetime: the stores outlive it.
struct ClusterStart {
  bool is_idle = false;            ///< nodes, and nothing that runs on them
  MetricStore* metrics = nullptr;  ///< null: nothing is stored of metrics
  LogStore* logs = nullptr;        ///< null: nothing is stored of logs
};

/// Jobs 1 (runs on n0), 2 (waits), 3 (an array, held) and 4 (an allocation that runs) of alice's, 5
/// of bob's; experiment 1 of alice's, whose trials 1 and 2 have a run each. Nodes n0 and n1 with
/// four CPUs and two GPUs each are connected. An idle one has the nodes alone. Everything is
/// durable at once; of metrics and logs only what there are stores for.
class SmallCluster final : private GatewayPort {
 public:
  /// Lifetime: the event loop outlives it.
  explicit SmallCluster(kj::AsyncIoContext& io, const ClusterStart& start = {});
  ~SmallCluster() noexcept override = default;

  /// What clients ask. Its promises are fulfilled on the event loop.
  Gateway& gateway() { return gateway_; }
  /// One reply for each request, in order; none at all where they wait for something that does not
  /// happen by itself: they are given up then. Ends the program when one is refused as a fault of
  /// ours.
  std::vector<Reply> submit(const Identity& identity, std::vector<Request> requests);
  /// Errors: as the gateway's. The pages are only counted.
  Result<std::size_t> query(const Identity& identity, const Query& query);

  /// A node says so. False: it is not obeyed, being about what is not its own.
  bool hear(NodeIndex node, const FromAgent& message);
  Result<NodeIndex> greet(const RegisterNode& hello);
  /// Lets the search decide and the planner plan, a bounded number of times.
  void run_until_idle();
  void pass(Duration span);
  /// The controller was stopped for so long.
  void stand_still(Duration span);
  /// What nodes were sent since this was asked last.
  std::vector<std::pair<NodeIndex, ToAgent>> new_orders();
  /// What a new start would read back from the journal is this very state. Ends the program
  /// otherwise.
  void expect_replay();
  const ClusterState& state() const { return rig_.core.state(); }
  std::size_t batches() const { return rig_.journal.size(); }
  TimePoint now() override { return rig_.now; }

 private:
  void command(Command command) override;
  void forecast(Command command) override;
  kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId> jobs) override;
  kj::Promise<Result<HistorySlice>> history(UserId user, HistoryListing listing) override;
  kj::Promise<Result<std::string>> blob(BlobId id) override;
  kj::Promise<CallerNames> names(UserId user, GroupId group) override;
  kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint until) override;
  kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) override;
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) override;
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) override;
  void forget_trials(std::vector<TrialId> trials) override;
  void begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) override;
  kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) override;
  void wake_log_readers(LogOwner) override {}
  void ask(const Identity& identity, Request request);
  void fill();
  void carry();
  void follow();
  /// Null: no batch has it.
  std::shared_ptr<const std::string> blob_in_journal(BlobId id) const;

  kj::AsyncIoContext& io_;
  MetricStore* metrics_;
  LogStore* logs_;
  testing::Rig rig_;
  SearchRole search_;
  QueryReplica replica_{"host", "test"};
  Gateway gateway_;
  std::size_t seen_ = 0;                ///< of what was published
  std::size_t ordered_ = 0;             ///< of what nodes were sent
  std::size_t carried_ = 0;             ///< of the same, which have arrived
  std::size_t fetched_ = 0;             ///< of the blobs that the core asked for
  std::set<std::uint64_t> unanswered_;  ///< commands
};

}  // namespace muster::fuzz
