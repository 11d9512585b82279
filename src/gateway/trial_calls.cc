// What runs of trials say and ask: reports of metrics, requests to stop; and the tokens of HTTP's
// callers.
#include <fmt/format.h>
#include <kj/vector.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "gateway/gateway.h"
#include "records/page_codec.h"
#include "store/metrics/metric_store.h"

namespace muster {
namespace {

constexpr std::string_view kSearchedGroup = "validation";
/// Who speaks for a run whose output is read.
const Identity kOperator{UserId(0), GroupId(0), true};

std::optional<Error> refusal_of(ReportOutcome outcome, const MetricReport& report) {
  switch (outcome) {
    case ReportOutcome::kStored:
    case ReportOutcome::kRepeated: return std::nullopt;
    case ReportOutcome::kConflict:
      return Error{ErrorCode::kFailedPrecondition,
                   fmt::format("{} metrics of {} steps were reported with other values",
                               report.group, report.steps_completed),
                   "the first report is kept; report each point of the training once"};
    case ReportOutcome::kStale:
      return Error{ErrorCode::kFailedPrecondition,
                   fmt::format("invalid run id, {} (reported) is not the newest", report.run),
                   "another run of the trial has taken over", ErrorCause::kStaleRun};
    case ReportOutcome::kInvalid:
      return Error{
          ErrorCode::kInvalidArgument, "the report is not valid",
          fmt::format("a group has a name without a full stop, steps are not negative, each metric "
                      "has a name without control characters and stands once, and a run "
                      "reports at most {} different metrics; what belongs to single batches goes "
                      "into batchMetrics",
                      kRunMetricsMax)};
  }
  return std::nullopt;
}

/// Numbers alone: what else a report holds is of no use to a search.
std::vector<NamedNumber> numbers_of(const MetricReport& report) {
  std::vector<NamedNumber> numbers;
  for (const Metric& metric : report.metrics) {
    if (const double* value = std::get_if<double>(&metric.value))
      numbers.push_back({metric.name, *value});
  }
  return numbers;
}

bool changes_stop(const EventBody& body, JobId& job) {
  return visit(
      [&job](const auto& event) {
        using Body = std::decay_t<decltype(event)>;
        constexpr bool kDoes = std::is_same_v<Body, StopRequested> ||
                               std::is_same_v<Body, JobEnding> || std::is_same_v<Body, JobRequeued>;
        if constexpr (kDoes) job = event.job;
        return kDoes;
      },
      body);
}

}  // namespace

/// What an imported trial had reported where it ran: nothing is decided by it any more.
kj::Promise<std::optional<Error>> Gateway::import_report(const Identity& identity,
                                                         MetricReport report) {
  if (!identity.is_operator) return std::optional<Error>(access::not_allowed());
  auto stored = port_.store_report(report);
  return stored.then([report = std::move(report)](Result<ReportOutcome> outcome) {
    return outcome.has_value() ? refusal_of(*outcome, report)
                               : std::optional<Error>(outcome.error());
  });
}

kj::Promise<std::optional<Error>> Gateway::report(const Identity& identity, MetricReport report) {
  const Trial* imported = state().experiments().find(report.trial);
  if (imported != nullptr && !imported->imported_from.empty())
    return import_report(identity, std::move(report));
  const auto trial = access::find_running(state(), report.trial, report.run, identity);
  if (!trial.has_value()) return std::optional<Error>(trial.error());
  if (auto wrong = wrong_for_search(report)) return wrong;  // before it is stored
  begin_metrics(report);
  // Durable before the search hears of it, and answered last: what was answered is neither lost nor
  // unheard.
  auto stored = port_.store_report(report);
  return stored.then([this, identity, report = std::move(report)](
                         Result<ReportOutcome> outcome) -> kj::Promise<std::optional<Error>> {
    if (!outcome.has_value()) return std::optional<Error>(outcome.error());
    if (auto refused = refusal_of(*outcome, report)) return refused;
    return report_to_search(identity, report);
  });
}

/// What earlier runs reported beyond the checkpoint that this one goes on from is no part of the
/// trial any more.
void Gateway::begin_metrics(const MetricReport& report) {
  // Told once a run.
  std::uint32_t& begun = begun_[report.trial];
  if (begun >= report.run) return;
  begun = report.run;
  const auto& checkpoints = state().checkpoints().of(report.trial);
  // The newest whole one of an earlier run is what this run goes on from.
  const auto found =
      std::find_if(checkpoints.rbegin(), checkpoints.rend(), [&](const CheckpointRef& checkpoint) {
        return checkpoint->state == CheckpointState::kCompleted && checkpoint->run < report.run;
      });
  if (found == checkpoints.rend())
    return;  // where it goes on from is its own business: its first report says it
  port_.begin_metrics(report.trial, report.run,
                      static_cast<std::int64_t>((*found)->steps_completed));
}

const MetricValue* Gateway::searched_value(const MetricReport& report) const {
  const Trial* trial = state().experiments().find(report.trial);
  if (report.group != kSearchedGroup || trial == nullptr) return nullptr;
  const auto found = std::ranges::find(
      report.metrics, state().experiments().find(trial->experiment)->spec->metric, &Metric::name);
  return found == report.metrics.end() ? nullptr : &found->value;
}

bool Gateway::is_first_validation(const MetricReport& report) const {
  const Trial* trial = state().experiments().find(report.trial);
  if (report.group != kSearchedGroup || trial == nullptr) return false;
  const auto& trials = state().experiments().find(trial->experiment)->trials;
  // The first validation goes to the core even without the metric, which may be misnamed.
  return std::ranges::none_of(
      trials, [&](TrialId id) { return state().experiments().find(id)->metric.has_value(); });
}

std::optional<Error> Gateway::wrong_for_search(const MetricReport& report) const {
  const MetricValue* value = searched_value(report);
  if (value == nullptr || std::holds_alternative<double>(*value)) return std::nullopt;
  const Trial& trial = *state().experiments().find(report.trial);
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("the searcher metric {} is not a number",
                           state().experiments().find(trial.experiment)->spec->metric),
               "the search compares trials by it"};
}

kj::Promise<std::optional<Error>> Gateway::report_to_search(const Identity& identity,
                                                            const MetricReport& report) {
  if (searched_value(report) == nullptr && !is_first_validation(report))
    return std::optional<Error>();
  ReportTrial message{report.trial, report.run, static_cast<std::uint64_t>(report.steps_completed),
                      numbers_of(report)};
  std::vector<Request> requests;
  requests.emplace_back(std::move(message));
  // Without a request id: a repeat of the same report changes nothing in the core.
  return submit_checked(identity, std::move(requests), RequestId())
      .then([](std::vector<Reply> replies) { return replies.front().error; });
}

kj::Promise<std::optional<Error>> Gateway::record_match(RecordLogMatch match) {
  Command command;
  command.token = next_token_++;
  command.identity = kOperator;
  command.requests.emplace_back(std::move(match));
  return send(std::move(command)).then([](std::vector<Reply> replies) {
    return replies.front().error;
  });
}

kj::Promise<std::optional<Error>> Gateway::act_upon(std::vector<LogFinding> findings) {
  kj::Vector<kj::Promise<std::optional<Error>>> all(findings.size());
  for (LogFinding& finding : findings) {
    auto* match = get_if<RecordLogMatch>(&finding);
    all.add(match != nullptr ? record_match(std::move(*match))
                             : report(kOperator, std::move(std::get<MetricReport>(finding))));
  }
  return kj::joinPromises(all.releaseAsArray())
      .then([](kj::Array<std::optional<Error>> errors) -> std::optional<Error> {
        // Only a failure that may pass is told: all findings are acted upon again then, and what
        // was done already changes nothing.
        for (std::optional<Error>& error : errors) {
          const bool is_passing = error && (error->code == ErrorCode::kUnavailable ||
                                            error->code == ErrorCode::kResourceExhausted);
          if (is_passing) return std::move(error);
        }
        return std::nullopt;
      });
}

std::optional<Result<bool>> Gateway::stop_answer(const Identity& identity, TrialRun run) const {
  const auto trial = access::find_running(state(), run.trial, run.run, identity);
  if (!trial.has_value()) return fail(trial.error());
  const Job& job = *state().jobs().find((*trial)->job);
  if (job.run->stop) return true;
  if (is_finished(job.state))
    return fail(ErrorCode::kFailedPrecondition,
                fmt::format("run {} of trial {} is over", run.run, run.trial.value()), "");
  return std::nullopt;
}

kj::Promise<Result<bool>> Gateway::wait_stop(const Identity& identity, TrialRun run,
                                             kj::Duration timeout) {
  if (auto answer = stop_answer(identity, run)) return std::move(*answer);
  if (timeout == 0 * kj::SECONDS) return Result<bool>(false);
  const JobId job = state().experiments().find(run.trial)->job;
  auto paf = kj::newPromiseAndFulfiller<Result<bool>>();
  const std::uint64_t token = next_token_++;
  (*stop_waiters_)[job].emplace(token, StopWaiter{identity, run, kj::mv(paf.fulfiller)});
  auto forget = kj::defer([waiters = stop_waiters_, job, token] {
    const auto waiting = waiters->find(job);
    if (waiting == waiters->end()) return;
    waiting->second.erase(token);
    if (waiting->second.empty()) waiters->erase(waiting);
  });
  // False when the time is over: the run asks again.
  auto late = timer_.afterDelay(timeout).then([]() -> Result<bool> { return false; });
  return paf.promise.exclusiveJoin(kj::mv(late)).attach(kj::mv(forget));
}

void Gateway::wake_stop_waiters(const EventBatch& batch) {
  for (const Event& event : batch.events) {
    JobId job;
    if (!changes_stop(event.body, job)) continue;
    const auto waiting = stop_waiters_->find(job);
    if (waiting == stop_waiters_->end()) continue;
    for (auto& [token, waiter] : waiting->second) {
      if (auto answer = stop_answer(waiter.identity, waiter.run))
        waiter.fulfiller->fulfill(std::move(*answer));
    }
  }
}

Status Gateway::check_token(const TokenClaims& claims) const {
  // Of users it is the token store that says which are valid.
  if (claims.scope == TokenScope::kUser) return {};
  const Job* job = state().jobs().find(claims.job);
  // A task's token is of one run; an owner's lasts as long as the job.
  const bool is_alive = job != nullptr && !job->is_over() &&
                        (claims.scope != TokenScope::kTask || run_number(*job) == claims.run);
  if (is_alive) return {};
  return fail(ErrorCode::kPermissionDenied, "invalid token",
              "the run that it was given to has ended");
}

kj::Promise<std::optional<Error>> Gateway::send_token(const Identity& identity, const Query& query,
                                                      SendPage send) {
  return port_.names(identity.user, identity.group)
      .then([this, identity, query](CallerNames names) {
        return port_.token({identity.user, identity.group, names.user}, query.until);
      })
      .then(
          [send = std::move(send)](Result<std::string> token) -> kj::Promise<std::optional<Error>> {
            if (!token.has_value()) return std::optional<Error>(token.error());
            Page page;
            page.bytes = std::move(token).value();
            return send(records::encode_page(page)).then([]() -> std::optional<Error> {
              return std::nullopt;
            });
          });
}

}  // namespace muster
