// A question to another thread is a token and a promise: the answer comes back into this host's
// inbox with the token. Tokens of the two hosts begin at numbers far apart, so that an answer finds
// its host (Channels::asker).
#include "apps/musterd/gateway_host.h"

#include <algorithm>

#include "apps/musterd/cluster_time.h"
#include "platform/rules/log_retention.h"

namespace muster::daemon {
namespace {

/// A command's own calls last no longer: what it is given for them no list has.
constexpr Duration kSessionMax = Duration::hours(12);
constexpr kj::Duration kRest = 20 * kj::MILLISECONDS;

}  // namespace

GatewayHost::GatewayHost(Channels& channels, Channel<ToGateway>& inbox, std::uint64_t first_token,
                         QueryReplica& replica, kj::AsyncIoContext& io, const HttpSettings& http)
    : channels_(channels),
      inbox_(inbox),
      http_(http),
      replica_(replica),
      gateway_(*this, io.provider->getTimer(), replica, first_token + 1),
      timer_(io.provider->getTimer()),
      observer_(io.unixEventPort, inbox.fd(), kj::UnixEventPort::FdObserver::OBSERVE_READ),
      reasons_(first_token),
      histories_(first_token),
      blobs_(first_token),
      names_(first_token),
      tokens_(first_token),
      reports_(first_token),
      measures_(first_token),
      pages_(first_token),
      works_(first_token) {}
GatewayHost::~GatewayHost() noexcept = default;

kj::Promise<void> GatewayHost::pump(std::function<bool()> is_alone) {
  if (is_alone != nullptr) is_alone_ = std::move(is_alone);
  return observer_.whenBecomesReadable()
      .then([this] { return is_alone_ != nullptr && is_alone_() ? rest() : kj::READY_NOW; })
      .then([this] {
        catch_up();
        return pump();
      });
}

kj::Promise<void> GatewayHost::rest() {
  auto woken = kj::newPromiseAndFulfiller<void>();
  woken_ = kj::mv(woken.fulfiller);
  return timer_.afterDelay(kRest).exclusiveJoin(kj::mv(woken.promise));
}

void GatewayHost::catch_up() {
  // Everything at once: the eventfd wakes again only for what comes into an empty channel.
  for (ToGateway& message : inbox_.receive_all())
    visit([this](auto& body) { receive(body); }, message);
  if (woken_.get() != nullptr) woken_->fulfill();
}

kj::Promise<void> GatewayHost::work(std::function<void()> computation) {
  auto [token, promise] = works_.open();
  // In turn, however much each of them has to do.
  next_worker_ = (next_worker_ + 1) % channels_.background.size();
  channels_.background[next_worker_].push(BackgroundWork{std::move(computation), token});
  return promise.ignoreResult();
}

TimePoint GatewayHost::now() { return cluster_now(); }
void GatewayHost::command(Command command) { channels_.core.push(std::move(command)); }
void GatewayHost::forecast(Command command) {
  channels_.planner.push(ForecastAsked{std::move(command)});
}
kj::Promise<std::map<JobId, Reasons>> GatewayHost::explain(std::vector<JobId> jobs) {
  auto [token, promise] = reasons_.open();
  channels_.planner.push(ExplainAsked{std::move(jobs), token});
  return kj::mv(promise);
}
kj::Promise<Result<HistorySlice>> GatewayHost::history(UserId user, HistoryListing listing) {
  auto [token, promise] = histories_.open();
  channels_.history.push(HistoryQuery{user, std::move(listing), token});
  return kj::mv(promise);
}
kj::Promise<Result<std::string>> GatewayHost::blob(BlobId id) {
  auto [token, promise] = blobs_.open();
  // Blobs lie in the journal.
  channels_.journal.push(FetchBlob{id, token});
  return kj::mv(promise);
}
kj::Promise<CallerNames> GatewayHost::names(UserId user, GroupId group) {
  // A name service may take seconds: a thread of its own asks it.
  auto [token, promise] = names_.open();
  channels_.lookup.push(NamesQuery{user, group, token});
  return kj::mv(promise);
}

kj::Promise<Result<TokenAnswer>> GatewayHost::ask_tokens(TokenQuestion question) {
  auto [token, promise] = tokens_.open();
  channels_.tokens.push(TokensAsked{std::move(question), token});
  return kj::mv(promise);
}

kj::Promise<Result<std::string>> GatewayHost::token(TokenOwner owner, TimePoint until) {
  // Where HTTP is configured and cannot listen, nobody answers for the tokens either.
  if (!channels_.is_http_served) {
    return Result<std::string>(fail(ErrorCode::kFailedPrecondition, "HTTP is not served here",
                                    channels_.http_warning.empty()
                                        ? "set MusterHttp=HOST:PORT in slurm.conf"
                                        : channels_.http_warning));
  }
  const TimePoint now = cluster_now();
  // No longer than tokens may last here.
  const TimePoint latest = now + Duration::hours(24) * http_.token_days;
  const TimePoint end = std::min(until, latest);
  // Until the end of a day, so that equal requests of one day give the same token.
  const TimePoint day =
      end_of_day(end) > latest ? end_of_day(end) - Duration::hours(24) : end_of_day(end);
  TokenQuestion question = IssueToken{owner, TokenKind::kMade, day, now};
  // Short ones are for a command's own calls and stand in no list.
  if (end <= now + kSessionMax) question = IssueSession{std::move(owner), end, now};
  return ask_tokens(std::move(question)).then([](Result<TokenAnswer> made) -> Result<std::string> {
    if (!made.has_value()) return fail(made.error());
    return std::get<std::string>(std::move(made).value());
  });
}

kj::Promise<Result<ReportOutcome>> GatewayHost::store_report(MetricReport report) {
  auto [token, promise] = reports_.open();
  channels_.metrics.push(StoreReport{std::move(report), token});
  return kj::mv(promise);
}
void GatewayHost::begin_metrics(TrialId trial, std::uint32_t run, std::int64_t resumed_from_steps) {
  channels_.metrics.push(BeginMetrics{trial, run, resumed_from_steps});
}
kj::Promise<Result<MetricAnswers>> GatewayHost::measure(std::vector<MetricQuestion> questions) {
  auto [token, promise] = measures_.open();
  channels_.metrics.push(MetricsAsked{std::move(questions), token});
  return kj::mv(promise);
}
void GatewayHost::forget_trials(std::vector<TrialId> trials) {
  // Both stores have something of a deleted trial.
  ExpiredLogs logs;
  for (const TrialId trial : trials) logs.owners.push_back({LogOwnerKind::kTrial, trial.value()});
  channels_.logs.push(std::move(logs));
  channels_.metrics.push(ForgetMetrics{std::move(trials)});
}
kj::Promise<Result<LogPage>> GatewayHost::read_logs(LogQuery query, Duration wait) {
  auto [token, promise] = pages_.open();
  channels_.logs.push(LogRead{std::move(query), wait, token});
  return kj::mv(promise);
}
void GatewayHost::wake_log_readers(LogOwner owner) { channels_.logs.push(LogWake{owner}); }

// ---- what other threads say ----

void GatewayHost::receive(DurableUpdate& update) { gateway_.on_update(update); }
void GatewayHost::receive(CommandAnswer& answer) {
  gateway_.on_reply(answer.token, std::move(answer.replies));
}
void GatewayHost::receive(PlanReported& reported) {
  replica_.set_report(std::move(reported.report));
}
void GatewayHost::receive(NodeLoads& loads) { replica_.set_node_loads(std::move(loads.loads)); }
void GatewayHost::receive(DiskStatus& status) {
  replica_.set_disk_warning(status.refusal ? status.refusal->text() : "");
  gateway_.set_refusal(std::move(status.refusal));
}
void GatewayHost::receive(ClockStatus& status) {
  replica_.set_clock_warning(std::move(status.warning));
}
void GatewayHost::receive(ExpiredLogsAsked&) {
  // By this gateway's state: the log thread has none of its own.
  channels_.logs.push(ExpiredLogs{expired_logs(gateway_.state(), cluster_now())});
}
void GatewayHost::receive(LogFindings& found) {
  gateway_.detach(gateway_.act_upon(std::move(found.findings))
                      .then([this, token = found.token](std::optional<Error> error) {
                        channels_.logs.push(FindingsDone{token, std::move(error)});
                      }));
}
void GatewayHost::receive(HistoryAnswer& answer) {
  histories_.close(answer.token, std::move(answer.slice));
}
void GatewayHost::receive(ExplainAnswer& answer) {
  reasons_.close(answer.token, std::move(answer.reasons));
}
void GatewayHost::receive(BlobAnswer& answer) {
  blobs_.close(answer.token, std::move(answer.bytes));
}
void GatewayHost::receive(NamesAnswer& answer) {
  names_.close(answer.token, std::move(answer.names));
}
void GatewayHost::receive(TokensAnswer& answer) {
  tokens_.close(answer.token, std::move(answer.answer));
}
void GatewayHost::receive(ReportStored& stored) {
  reports_.close(stored.token, std::move(stored.outcome));
}
void GatewayHost::receive(MetricsAnswer& answer) {
  measures_.close(answer.token, std::move(answer.answers));
}
void GatewayHost::receive(PageAnswer& answer) {
  pages_.close(answer.token, std::move(answer.page));
}
void GatewayHost::receive(WorkDone& done) { works_.close(done.token, true); }

}  // namespace muster::daemon
