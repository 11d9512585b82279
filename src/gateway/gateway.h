// Owns what clients see: decodes and prepares their requests, hands them to the core in order,
// answers their reads. Lives on the gateway's thread; everything else is reached through the port.
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

/// A list for sacct, further on than before, and what it came to on the way.
struct HistorySlice {
  HistoryListing listing;
  std::vector<std::string> pages;
};

/// What the gateway needs of the other threads.
class GatewayPort {
 public:
  virtual ~GatewayPort() = default;
  /// The cluster's time, which the state's own falls behind while nothing happens.
  virtual TimePoint now() = 0;
  /// To the core. Gateway::on_reply follows.
  virtual void command(Command command) = 0;
  /// One submission that is only a question. Gateway::on_reply follows.
  virtual void forecast(Command command) = 0;
  /// As PlannerRole::explain.
  virtual kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId> jobs) = 0;
  /// As next_pages of history_listing.h, elsewhere; users take turns there.
  virtual kj::Promise<Result<HistorySlice>> history(UserId user, HistoryListing listing) = 0;
  virtual kj::Promise<Result<std::string>> blob(BlobId id) = 0;
  /// May take long: runs elsewhere.
  virtual kj::Promise<CallerNames> names(UserId user, GroupId group) = 0;
  /// As `answer` of token_questions.h, elsewhere.
  virtual kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) = 0;
  /// A token of a user's for HTTP that lasts until then, or as long as one may. Errors:
  /// kFailedPrecondition: HTTP is not served.
  virtual kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint until) = 0;
  /// In the order of the calls. Fulfilled once the report is on stable storage.
  virtual kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) = 0;
  /// As `answer` of metric_questions.h, elsewhere.
  virtual kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) = 0;
  /// What is known of these trials is of no use any more.
  virtual void forget_trials(std::vector<TrialId> trials) = 0;
  /// A run goes on from a checkpoint of so many steps: before its first report.
  virtual void begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) = 0;
  /// As LogStore::read. A page without lines, forward, is kept back until there are some,
  /// wake_log_readers, or `wait` is over.
  virtual kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) = 0;
  virtual void wake_log_readers(LogOwner owner) = 0;
};

class Gateway final : public ClientCalls, private kj::TaskSet::ErrorHandler {
 public:
  /// Who waits still is told that nobody will answer.
  ~Gateway() noexcept override;
  /// `first_token`: what its commands are numbered from. Where there are several gateways, answers
  /// find their way back by it.
  Gateway(GatewayPort& port, kj::Timer& timer, QueryReplica& replica,
          std::uint64_t first_token = 1);

  // From clients.
  kj::Promise<std::vector<Reply>> submit(const Identity& identity, std::vector<Request> requests,
                                         RequestId id) override;
  kj::Promise<std::optional<Error>> query(const Identity& identity, Query query,
                                          SendPage send) override;
  kj::Promise<WaitAnswer> wait(const Identity& identity, WaitFor wanted) override;
  kj::Promise<Result<LogAnswer>> read_logs(const Identity& identity, LogQuery query,
                                           Duration wait) override;

  // From clients by HTTP.
  /// What a trial's present run has measured; its search hears of it when it is a validation that
  /// it follows. Fulfilled when all of it is on stable storage. Errors: as report_trial of the
  /// core; kFailedPrecondition also when another value was reported there.
  kj::Promise<std::optional<Error>> report(const Identity& identity, MetricReport report);
  /// Does what lines of logs set off: reports as above, matches through the core. Fulfilled when
  /// all of it is durable, or refused for good; the error is one that passes (kUnavailable,
  /// kResourceExhausted), if there is one.
  kj::Promise<std::optional<Error>> act_upon(std::vector<LogFinding> findings);
  /// True as soon as the run is asked to stop; false when it has not been for so long. Errors:
  /// kNotFound: it is not the present run.
  kj::Promise<Result<bool>> wait_stop(const Identity& identity, TrialRun run, kj::Duration timeout);
  /// Errors: kPermissionDenied: the job, or its run, that the token was given to has ended.
  Status check_token(const TokenClaims& claims) const;
  const ClusterState& state() const { return replica_.state(); }
  /// Why the core takes no new work at present; nullopt: it does.
  const std::optional<Error>& refusal() const { return refusal_; }
  void set_refusal(std::optional<Error> why) { refusal_ = std::move(why); }
  kj::Promise<Result<std::string>> blob(BlobId id) { return port_.blob(id); }
  /// Once, when the replica stands where the journal does, and of one gateway alone: from now on it
  /// sees to it that what experiments keep no longer is collected.
  void begin() {
    is_collecting_ = true;
    collector_.begin();
  }
  /// Runs a promise to its end; what it answers is its own business.
  void detach(kj::Promise<void> promise) { tasks_.add(kj::mv(promise)); }

  // From the core, in the order in which it said them.
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
  /// With what history knows of jobs that they depend on.
  kj::Promise<std::vector<Reply>> send_or_ask(Command command);
  kj::Promise<Command> with_past(Command command, std::vector<JobId> jobs);
  // Lists of jobs, slice by slice (list_calls.cc).
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
  /// What the search compares the trial by; null: it is not in this report.
  const MetricValue* searched_value(const MetricReport& report) const;
  /// A validation of an experiment that the searcher metric has not been reported of.
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
  /// Shared with the promises that clients hold: they may be dropped after the gateway is.
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
