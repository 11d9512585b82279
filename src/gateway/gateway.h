// Owns what clients see: it decodes and prepares their requests, hands them to the core in order,
// and answers their reads. It lives on the gateway's thread; everything else is reached through the
// port.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <map>
#include <memory>
#include <unordered_map>

#include "engine/command.h"
#include "engine/durable_update.h"
#include "gateway/collector.h"
#include "gateway/history_listing.h"
#include "gateway/list_gate.h"
#include "gateway/list_turns.h"
#include "gateway/prepare.h"
#include "gateway/query_replica.h"
#include "model/metric.h"
#include "store/metrics/metric_questions.h"
#include "store/tokens/token_questions.h"
#include "text/token_text.h"
#include "trials/determined_text.h"
#include "wire/controller_calls.h"

namespace muster {

/// A slice of a list for sacct: the list, further on than before, and its pages on the way.
struct HistorySlice {
  HistoryListing listing;
  std::vector<std::string> pages;
};

/// What the gateway needs of the other threads.
class GatewayPort {
 public:
  virtual ~GatewayPort() = default;
  /// Returns the cluster's time, which the state's own falls behind while nothing happens.
  virtual TimePoint now() = 0;
  /// Sends a command to the core. Gateway::on_reply follows.
  virtual void command(Command command) = 0;
  /// Asks what would become of one submission. Gateway::on_reply follows.
  virtual void forecast(Command command) = 0;
  /// Calls PlannerRole::explain.
  virtual kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId> jobs) = 0;
  /// Calls next_pages of history_listing.h on another thread; users take turns there.
  virtual kj::Promise<Result<HistorySlice>> history(UserId user, HistoryListing listing) = 0;
  virtual kj::Promise<Result<std::string>> blob(BlobId id) = 0;
  /// Looks up a user's names; it may take long, and runs on another thread.
  virtual kj::Promise<CallerNames> names(UserId user, GroupId group) = 0;
  /// Calls `answer` of token_questions.h on another thread.
  virtual kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) = 0;
  /// Returns a token of a user's for HTTP that lasts until then, or as long as one may. Errors:
  /// kFailedPrecondition: HTTP is not served.
  virtual kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint until) = 0;
  /// Stores reports in the order of the calls. Fulfilled once the report is on stable storage.
  virtual kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) = 0;
  /// Calls `answer` of metric_questions.h on another thread.
  virtual kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) = 0;
  /// Forgets what is known of these trials, which is of no use any more.
  virtual void forget_trials(std::vector<TrialId> trials) = 0;
  /// Begins a run that continues from a checkpoint of so many steps, before its first report.
  virtual void begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) = 0;
  /// Calls LogStore::read. A page without lines, forward, waits until there are some,
  /// wake_log_readers is called, or `wait` is over.
  virtual kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) = 0;
  virtual void wake_log_readers(LogOwner owner) = 0;
};

class Gateway final : public ClientCalls, private kj::TaskSet::ErrorHandler {
 public:
  /// Tells all who still wait that nobody will answer.
  ~Gateway() noexcept override;
  /// Holds references: all three outlive it. `first_token`: what its commands are numbered from.
  /// Where there are several gateways, answers find their way back by it.
  Gateway(GatewayPort& port, kj::Timer& timer, QueryReplica& replica,
          std::uint64_t first_token = 1);

  // These calls come from clients.
  kj::Promise<std::vector<Reply>> submit(const Identity& identity, std::vector<Request> requests,
                                         RequestId id) override;
  kj::Promise<std::optional<Error>> query(const Identity& identity, Query query,
                                          SendPage send) override;
  kj::Promise<WaitAnswer> wait(const Identity& identity, WaitFor wanted) override;
  kj::Promise<Result<LogAnswer>> read_logs(const Identity& identity, LogQuery query,
                                           Duration wait) override;

  // Reports, for clients by HTTP, what a trial's present run has measured; its search hears of it
  // when it is a validation that the search follows. Fulfilled when all of it is on stable storage.
  // Errors: as report_trial of the core; kFailedPrecondition also when another value was reported
  // there.
  kj::Promise<std::optional<Error>> report(const Identity& identity, MetricReport report);
  /// Does what lines of logs set off: reports as above, matches through the core. Fulfilled when
  /// all of it is durable, or refused for good; the error is one that passes (kUnavailable,
  /// kResourceExhausted), if there is one.
  kj::Promise<std::optional<Error>> act_upon(std::vector<LogFinding> findings);
  /// True as soon as the run is asked to stop; false when it has not been for so long. Errors:
  /// kNotFound, kPermissionDenied; kFailedPrecondition: another run has taken its place, or it is
  /// over.
  kj::Promise<Result<bool>> wait_stop(const Identity& identity, TrialRun run, kj::Duration timeout);
  /// Checks a token that a job or its run was given: signature, expiry and users' tokens are judged
  /// by TokenStore and parse_token. Errors: kPermissionDenied: the job, or the run, has ended.
  Status check_token(const TokenClaims& claims) const;
  const ClusterState& state() const { return replica_.state(); }
  /// Returns why the core accepts no new work at present; nullopt: it does.
  const std::optional<Error>& refusal() const { return refusal_; }
  void set_refusal(std::optional<Error> why) { refusal_ = std::move(why); }
  kj::Promise<Result<std::string>> blob(BlobId id) { return port_.blob(id); }
  /// Begins to collect what experiments keep no longer. It is called once, when the replica stands
  /// where the journal does, and of one gateway alone.
  void begin() {
    is_collecting_ = true;
    collector_.begin();
  }
  /// Runs a promise to its end, whatever it answers.
  void detach(kj::Promise<void> promise) { tasks_.add(kj::mv(promise)); }

  // These calls come from the core, in the order in which it said them.
  void on_update(const DurableUpdate& update);
  void on_reply(std::uint64_t token, std::vector<Reply> replies);

 private:
  struct Waiter {
    WaitFor wanted;
    kj::Own<kj::PromiseFulfiller<WaitAnswer>> fulfiller;
  };
  kj::Promise<std::vector<Reply>> submit_checked(const Identity& identity,
                                                 std::vector<Request> requests, RequestId id);
  kj::Promise<std::vector<Reply>> submit_named(const Identity& identity,
                                               std::vector<Request> requests, RequestId id,
                                               const CallerNames& names);
  kj::Promise<std::vector<Reply>> submit_configured(const Identity& identity, Request request,
                                                    RequestId id, const CallerNames& names);
  Result<PreparedRequest> prepare_one(Request request, const Identity& identity,
                                      const CallerNames& names);
  Command begin_command(const Identity& identity, RequestId id, const CallerNames& names);
  /// Sends a command with what history knows of jobs that it depends on.
  kj::Promise<std::vector<Reply>> send_or_ask(Command command);
  kj::Promise<Command> with_past(Command command, std::vector<JobId> jobs);
  // Lists jobs slice by slice (list_calls.cc).
  kj::Promise<std::optional<Error>> query_jobs(const Identity& identity, Query query,
                                               SendPage send);
  kj::Promise<std::optional<Error>> query_why(const Identity& identity, Query query, SendPage send);
  kj::Promise<std::optional<Error>> query_history(const Identity& identity, Query query,
                                                  SendPage send);
  kj::Promise<std::optional<Error>> query_script(const Identity& identity, const Query& query,
                                                 SendPage send);
  std::optional<WaitAnswer> answer_now(const WaitFor& wanted) const;
  kj::Promise<std::vector<Reply>> ask(Command question);
  kj::Promise<std::vector<Reply>> send(Command command);
  std::vector<TrialId> deleted_trials(const EventBatch& batch) const;
  void wake_waiters(const EventBatch& batch);
  void wake_stop_waiters(const EventBatch& batch);
  std::optional<Result<bool>> stop_answer(const Identity& identity, TrialRun run) const;
  kj::Promise<std::optional<Error>> import_report(const Identity& identity, MetricReport report);
  void begin_metrics(const MetricReport& report);
  kj::Promise<std::optional<Error>> record_match(RecordLogMatch match);
  /// Returns what the search compares the trial by; null: it is not in this report.
  const MetricValue* searched_value(const MetricReport& report) const;
  /// True for a validation of an experiment that the searcher metric has not been reported of.
  bool is_first_validation(const MetricReport& report) const;
  std::optional<Error> wrong_for_search(const MetricReport& report) const;
  kj::Promise<std::optional<Error>> report_to_search(const Identity& identity,
                                                     const MetricReport& report);
  kj::Promise<std::optional<Error>> send_token(const Identity& identity, const Query& query,
                                               SendPage send);
  void taskFailed(kj::Exception&&) override {}

  GatewayPort& port_;
  kj::Timer& timer_;
  QueryReplica& replica_;
  std::uint64_t next_token_;
  bool is_collecting_ = false;
  std::unordered_map<std::uint64_t, kj::Own<kj::PromiseFulfiller<std::vector<Reply>>>> replies_;
  using Waiters = std::unordered_map<JobId, std::map<std::uint64_t, Waiter>>;
  /// The promises that clients hold share this: they may be dropped after the gateway is.
  std::shared_ptr<Waiters> waiters_ = std::make_shared<Waiters>();
  struct KnownNames {
    CallerNames names;
    kj::TimePoint since = kj::origin<kj::TimePoint>();
  };
  std::unordered_map<UserId, KnownNames> names_;
  LastBlob environments_;
  std::unordered_map<TrialId, std::uint32_t> begun_;  ///< the runs whose metrics have begun
  struct StopWaiter {
    Identity identity;
    TrialRun run;
    kj::Own<kj::PromiseFulfiller<Result<bool>>> fulfiller;
  };
  using StopWaiters = std::unordered_map<JobId, std::map<std::uint64_t, StopWaiter>>;
  std::shared_ptr<StopWaiters> stop_waiters_ =
      std::make_shared<StopWaiters>();  ///< shared as those
  std::optional<Error> refusal_;
  ListTurns turns_;
  ListGate histories_;
  kj::TaskSet tasks_{*this};
  Collector collector_;
};

}  // namespace muster
