// A gateway on a thread of its own, with messages to the other threads and back. The thread of the
// command line's clients has one, that of HTTP another, each over a replica of its own, so that
// neither waits for the other.
#pragma once

#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "apps/musterd/messages.h"
#include "gateway/gateway.h"
#include "slurm/conf/slurm_conf.h"

namespace muster::daemon {

/// Questions to other threads, by token, until their answer comes back.
template <class T>
class Pending {
 public:
  /// Numbers tokens from behind `first`.
  explicit Pending(std::uint64_t first) : last_(first) {}
  std::pair<std::uint64_t, kj::Promise<T>> open() {
    auto paf = kj::newPromiseAndFulfiller<T>();
    const std::uint64_t token = ++last_;
    waiting_[token] = kj::mv(paf.fulfiller);
    return {token, kj::mv(paf.promise)};
  }
  void close(std::uint64_t token, T value) {
    const auto found = waiting_.find(token);
    if (found == waiting_.end()) return;
    found->second->fulfill(std::move(value));
    waiting_.erase(found);
  }

 private:
  std::uint64_t last_;
  std::unordered_map<std::uint64_t, kj::Own<kj::PromiseFulfiller<T>>> waiting_;
};

class GatewayHost final : public GatewayPort {
 public:
  /// `inbox`: what other threads answer, for tokens behind `first_token` (messages.h). Lifetime:
  /// all that is referred to outlives it.
  GatewayHost(Channels& channels, Channel<ToGateway>& inbox, std::uint64_t first_token,
              QueryReplica& replica, kj::AsyncIoContext& io, const HttpSettings& http);
  ~GatewayHost() noexcept override;

  Gateway& gateway() { return gateway_; }
  /// Handles what other threads say, without end. `is_alone`, where given: true while nobody is
  /// there who could ask; then what comes may wait some milliseconds for more, so that a burst of
  /// changes costs a thread that nobody needs a few turns.
  kj::Promise<void> pump(std::function<bool()> is_alone = nullptr);
  /// Handles what other threads have said until now, for whoever asks now. A pump that waits goes
  /// on.
  void catch_up();
  /// Runs a computation over values of its own on a worker.
  kj::Promise<void> work(std::function<void()> computation);

  TimePoint now() override;
  void command(Command command) override;
  void forecast(Command command) override;
  kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId> jobs) override;
  kj::Promise<Result<HistorySlice>> history(UserId user, HistoryListing listing) override;
  kj::Promise<Result<std::string>> blob(BlobId id) override;
  kj::Promise<CallerNames> names(UserId user, GroupId group) override;
  kj::Promise<Result<TokenAnswer>> ask_tokens(TokenQuestion question) override;
  kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint until) override;
  kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) override;
  void begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) override;
  kj::Promise<Result<MetricAnswers>> measure(std::vector<MetricQuestion> questions) override;
  void forget_trials(std::vector<TrialId> trials) override;
  kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) override;
  void wake_log_readers(LogOwner owner) override;

 private:
  kj::Promise<void> rest();
  void receive(DurableUpdate& update);
  void receive(CommandAnswer& answer);
  void receive(PlanReported& reported);
  void receive(NodeLoads& loads);
  void receive(DiskStatus& status);
  void receive(ClockStatus& status);
  void receive(ExpiredLogsAsked& asked);
  void receive(LogFindings& found);
  void receive(HistoryAnswer& answer);
  void receive(ExplainAnswer& answer);
  void receive(BlobAnswer& answer);
  void receive(NamesAnswer& answer);
  void receive(TokensAnswer& answer);
  void receive(ReportStored& stored);
  void receive(MetricsAnswer& answer);
  void receive(PageAnswer& answer);
  void receive(WorkDone& done);

  Channels& channels_;
  Channel<ToGateway>& inbox_;
  const HttpSettings& http_;
  QueryReplica& replica_;
  Gateway gateway_;
  kj::Timer& timer_;
  kj::UnixEventPort::FdObserver observer_;
  std::function<bool()> is_alone_;
  kj::Own<kj::PromiseFulfiller<void>> woken_;  ///< of the last rest
  Pending<std::map<JobId, Reasons>> reasons_;
  Pending<Result<HistorySlice>> histories_;
  Pending<Result<std::string>> blobs_;
  Pending<CallerNames> names_;
  Pending<Result<TokenAnswer>> tokens_;
  Pending<Result<ReportOutcome>> reports_;
  Pending<Result<MetricAnswers>> measures_;
  Pending<Result<LogPage>> pages_;
  Pending<bool> works_;
  std::size_t next_worker_ = 0;
};

}  // namespace muster::daemon
