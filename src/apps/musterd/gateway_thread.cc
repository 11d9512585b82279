#include <kj/async-io.h>
#include <kj/async-unix.h>

#include <unordered_map>

#include "apps/musterd/threads.h"
#include "wire/rpc_server.h"

namespace muster::daemon {
namespace {

/// A command's own calls last no longer: what it is given for them no list has.
constexpr Duration kSessionMax = Duration::hours(12);
/// Clients that are still there connect again; who waits or holds an allocation is heard more
/// often.
constexpr Duration kIdleLimit = Duration::seconds(120);

/// Questions to other threads by token, until their answer comes back.
template <class T>
class Pending {
 public:
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
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, kj::Own<kj::PromiseFulfiller<T>>> waiting_;
};

class GatewayThread final : public GatewayPort {
 public:
  ~GatewayThread() noexcept override = default;
  GatewayThread(Channels& channels, QueryReplica& replica, kj::AsyncIoContext& io,
                const DaemonOptions& options)
      : channels_(channels),
        options_(options),
        replica_(replica),
        gateway_(*this, io.provider->getTimer(), replica),
        observer_(io.unixEventPort, channels.gateway.fd(),
                  kj::UnixEventPort::FdObserver::OBSERVE_READ) {}

  Gateway& gateway() { return gateway_; }

  kj::Promise<void> pump() {
    return observer_.whenBecomesReadable().then([this] {
      for (ToGateway& message : channels_.gateway.take()) {
        std::visit([this](auto& body) { receive(body); }, message);
      }
      return pump();
    });
  }

  TimePoint now() override { return cluster_now(); }
  void command(Command command) override { channels_.core.push(std::move(command)); }
  void forecast(Command command) override {
    channels_.planner.push(ForecastAsked{std::move(command)});
  }
  kj::Promise<std::map<JobId, Reasons>> explain(std::vector<JobId> jobs) override {
    auto [token, promise] = reasons_.open();
    channels_.planner.push(ExplainAsked{std::move(jobs), token});
    return kj::mv(promise);
  }
  kj::Promise<Result<HistorySlice>> history(UserId user, HistoryListing listing) override {
    auto [token, promise] = histories_.open();
    channels_.history.push(HistoryQuery{user, std::move(listing), token});
    return kj::mv(promise);
  }
  kj::Promise<Result<std::string>> blob(BlobId id) override {
    auto [token, promise] = blobs_.open();
    channels_.journal.push(FetchBlob{id, token});
    return kj::mv(promise);
  }
  kj::Promise<CallerNames> names(UserId user, GroupId group) override {
    auto [token, promise] = names_.open();
    channels_.lookup.push(NamesQuery{user, group, token});
    return kj::mv(promise);
  }
  kj::Promise<Result<std::string>> token(TokenOwner owner, TimePoint until) override {
    if (options_.http.listen.empty()) {
      return Result<std::string>(fail(ErrorCode::kFailedPrecondition, "HTTP is not served here",
                                      "set MusterHttp=HOST:PORT in slurm.conf"));
    }
    auto [token, promise] = tokens_.open();
    const TimePoint now = cluster_now();
    const TimePoint latest = now + Duration::hours(24) * options_.http.token_days;
    const TimePoint end = std::min(until, latest);
    const TimePoint day =
        end_of_day(end) > latest ? end_of_day(end) - Duration::hours(24) : end_of_day(end);
    channels_.tokens.push(TokenTask{
        [this, token = token, owner = std::move(owner), end, day, now](TokenStore& store) {
          Result<std::string> text = std::string();
          if (end <= now + kSessionMax) {
            text = store.session(owner, end, now);
          } else {
            text = store.issue(owner, TokenKind::kMade, day, now);
          }
          channels_.gateway.push(GatewayTask{
              [this, token, text = std::move(text)](Gateway&) { tokens_.close(token, text); }});
        }});
    return kj::mv(promise);
  }
  kj::Promise<Result<ReportOutcome>> store_report(MetricReport report) override {
    auto [token, promise] = reports_.open();
    channels_.metrics.push(StoreReport{std::move(report), token});
    return kj::mv(promise);
  }
  void begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) override {
    channels_.metrics.push(BeginMetrics{trial, run, resumed_from_steps});
  }
  kj::Promise<void> measure(std::function<void(MetricStore&)> read) override {
    auto [token, promise] = measures_.open();
    channels_.metrics.push(
        MetricTask{[this, token = token, read = std::move(read)](MetricStore& store) {
          read(store);
          channels_.gateway.push(
              GatewayTask{[this, token](Gateway&) { measures_.close(token, true); }});
        }});
    return promise.ignoreResult();
  }
  void forget_trials(std::vector<TrialId> trials) override {
    ExpiredLogs logs;
    for (const TrialId trial : trials) logs.owners.push_back({LogOwnerKind::kTrial, trial.value()});
    channels_.logs.push(std::move(logs));
    channels_.metrics.push(MetricTask{[trials = std::move(trials)](MetricStore& store) {
      // What a full disk keeps is out of every answer all the same: the trials are gone.
      for (const TrialId trial : trials)
        [[maybe_unused]] const Status ignored = store.delete_trial(trial);
    }});
  }
  kj::Promise<Result<LogPage>> read_logs(LogQuery query, Duration wait) override {
    auto [token, promise] = pages_.open();
    channels_.logs.push(LogRead{std::move(query), wait, token});
    return kj::mv(promise);
  }
  void wake_log_readers(LogOwner owner) override { channels_.logs.push(LogWake{owner}); }

 private:
  void receive(ReportStored& stored) { reports_.close(stored.token, std::move(stored.outcome)); }
  void receive(GatewayTask& task) { task.run(gateway_); }
  void receive(LogFindings& found) {
    gateway_.keep(gateway_.act_upon(std::move(found.findings))
                      .then([this, token = found.token](std::optional<Error> error) {
                        channels_.logs.push(FindingsDone{token, std::move(error)});
                      }));
  }
  void receive(DurableUpdate& update) { gateway_.on_update(update); }
  void receive(CommandAnswer& note) { gateway_.on_reply(note.token, std::move(note.replies)); }
  void receive(PlanReported& note) { replica_.set_report(std::move(note.report)); }
  void receive(DiskStatus& note) {
    replica_.set_disk_warning(note.refusal ? note.refusal->text() : "");
    gateway_.set_refusal(std::move(note.refusal));
  }
  void receive(ClockStatus& note) { replica_.set_clock_warning(std::move(note.warning)); }
  void receive(NodeLoads& facts) { replica_.set_node_loads(std::move(facts.facts)); }
  void receive(HistoryAnswer& answer) { histories_.close(answer.token, std::move(answer.slice)); }
  void receive(ExplainAnswer& answer) { reasons_.close(answer.token, std::move(answer.reasons)); }
  void receive(BlobAnswer& answer) { blobs_.close(answer.token, std::move(answer.bytes)); }
  void receive(NamesAnswer& answer) { names_.close(answer.token, std::move(answer.names)); }

  void receive(PageAnswer& answer) { pages_.close(answer.token, std::move(answer.page)); }

  Channels& channels_;
  const DaemonOptions& options_;
  QueryReplica& replica_;
  Gateway gateway_;
  kj::UnixEventPort::FdObserver observer_;
  Pending<std::map<JobId, Reasons>> reasons_;
  Pending<Result<HistorySlice>> histories_;
  Pending<Result<std::string>> blobs_;
  Pending<CallerNames> names_;
  Pending<Result<ReportOutcome>> reports_;
  Pending<Result<LogPage>> pages_;
  Pending<bool> measures_;
  Pending<Result<std::string>> tokens_;
};

}  // namespace

void run_gateway(Channels& channels, QueryReplica& replica, const DaemonOptions& options,
                 int listen_fd) {
  auto io = kj::setupAsyncIo();
  GatewayThread thread(channels, replica, io, options);
  thread.gateway().begin();
  ServerOptions server_options;
  server_options.operators = options.operators;
  server_options.idle_limit = kIdleLimit;
  server_options.quota = client_limits(open_files_max());
  RpcServer server(io, listen_fd, &thread.gateway(), nullptr, server_options);
  thread.pump().wait(io.waitScope);
}

}  // namespace muster::daemon
