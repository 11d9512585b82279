// A write goes through names (groups of the caller, for a minute), prepare (what needs no state),
// history where dependencies have left memory, and then the core. The promise is fulfilled by
// on_reply, which the core sends after the batch that the replica has applied before (on_update):
// who has an answer reads what it says.
#include "gateway/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "access/experiment_access.h"
#include "access/job_access.h"
#include "admission/filter_lists.h"
#include "base/hash.h"
#include "engine/event_job.h"
#include "gateway/past_dependencies.h"
#include "platform/config/prepare_experiment.h"
#include "records/page_codec.h"
#include "workload/requests/job_requests.h"

namespace muster {
namespace {

constexpr kj::Duration kWaitMax = 30 * kj::SECONDS;
/// Whose groups changed is believed after so long.
constexpr kj::Duration kNamesLife = 60 * kj::SECONDS;
constexpr std::size_t kNamesMax = 10'000;
constexpr std::size_t kLogLinesMax = 10'000;
/// Lists for sacct that one user has under way: each holds some hundred rows.
constexpr std::size_t kHistoriesOfUserMax = 64;
constexpr Duration kLogWaitMax = Duration::seconds(30);
/// What a trial wrote last may follow its end: a node sends no more at once than the controller has
/// room for.
constexpr Duration kLastLinesArrive = Duration::milliseconds(500);

bool is_question(const PreparedRequest& request) {
  const auto* submit = get_if<PreparedSubmit>(&request);
  return submit != nullptr && submit->is_test_only;
}

bool has_configuration(const Request& request) {
  return holds_alternative<CreateExperiment>(request) ||
         holds_alternative<ContinueExperiment>(request);
}

std::vector<Reply> refusals(std::size_t count, const Error& error) {
  Reply reply;
  reply.error = error;
  return std::vector<Reply>(count, reply);
}

/// What a script that counts no steps says instead: its time metric, where that is a whole number.
std::int64_t steps_of(const ReportTrial& message, const ClusterState& state) {
  const Trial* trial = message.steps > 0 ? nullptr : state.experiments().find(message.trial);
  if (trial == nullptr) return static_cast<std::int64_t>(message.steps);
  const std::string& time_metric = state.experiments().find(trial->experiment)->spec->time_metric;
  const auto found = std::ranges::find(message.metrics, time_metric, &NamedNumber::name);
  const bool is_whole = found != message.metrics.end() && found->value >= 0 &&
                        // Below 1e15 a double holds every whole number.
                        found->value < 1e15 && found->value == std::floor(found->value);
  return is_whole ? static_cast<std::int64_t>(found->value) : 0;
}

/// A validation as the metric store has it. Without steps its content is what tells it from others.
MetricReport metric_report_of(const ReportTrial& message, const ClusterState& state) {
  MetricReport report;
  report.trial = message.trial;
  report.run = message.run;
  report.group = "validation";
  report.steps_completed = steps_of(message, state);
  report.report_time = state.time();
  Hasher content;
  for (const NamedNumber& number : message.metrics) {
    report.metrics.push_back({number.name, number.value});
    content.add(number.name).add(std::bit_cast<std::uint64_t>(number.value));
  }
  // A repeat then has the same key and changes nothing.
  if (report.steps_completed == 0) report.key = fmt::format("{:016x}", content.digest());
  return report;
}

}  // namespace

Gateway::~Gateway() noexcept {
  // Dropping a fulfiller tells its client that nobody will answer; the maps are shared with the
  // promises.
  waiters_->clear();
  stop_waiters_->clear();
}

Gateway::Gateway(GatewayPort& port, kj::Timer& timer, QueryReplica& replica,
                 std::uint64_t first_token)
    : port_(port),
      timer_(timer),
      replica_(replica),
      next_token_(first_token),
      turns_(timer),
      histories_(kHistoriesOfUserMax),
      collector_(
          replica.state(), timer,
          [this](auto questions) { return port_.measure(std::move(questions)); },
          [this](PreparedRequest request) {
            Command command;
            command.token = next_token_++;
            // The collector acts as an operator: it speaks for no user.
            command.identity.is_operator = true;
            command.requests.push_back(std::move(request));
            return send(std::move(command));
          },
          [this](kj::Promise<void> promise) { detach(kj::mv(promise)); }) {}

kj::Promise<std::vector<Reply>> Gateway::submit(const Identity& identity,
                                                std::vector<Request> requests, RequestId id) {
  // A report is stored in the metric store first, in whichever way it comes (trial_calls.cc).
  if (const auto* report_only =
          requests.size() == 1 ? get_if<ReportTrial>(&requests.front()) : nullptr) {
    return report(identity, metric_report_of(*report_only, replica_.state()))
        .then([](std::optional<Error> error) {
          Reply reply;
          reply.error = std::move(error);
          return std::vector<Reply>{std::move(reply)};
        });
  }
  return submit_checked(identity, std::move(requests), id);
}

kj::Promise<std::vector<Reply>> Gateway::submit_checked(const Identity& identity,
                                                        std::vector<Request> requests,
                                                        RequestId id) {
  if (const auto known = names_.find(identity.user);
      known != names_.end() && timer_.now() - known->second.since < kNamesLife) {
    return submit_named(identity, std::move(requests), id, known->second.names);
  }
  return port_.names(identity.user, identity.group)
      .then([this, identity, id, requests = std::move(requests)](CallerNames names) mutable {
        // A full cache is dropped whole: names are asked for again.
        if (names_.size() >= kNamesMax) names_.clear();
        names_[identity.user] = KnownNames{names, timer_.now()};
        return submit_named(identity, std::move(requests), id, names);
      });
}

Result<PreparedRequest> Gateway::prepare_one(Request request, const Identity& identity,
                                             const CallerNames& names) {
  const auto* fork = get_if<CreateExperiment>(&request);
  const Experiment* parent = fork == nullptr ? nullptr : state().experiments().find(fork->parent);
  // Before the configuration is looked at: of one that is closed there was little to build upon.
  if (parent != nullptr) TRY(access::check_readable(state(), *parent, identity));
  if (const auto* more = get_if<ContinueExperiment>(&request))
    return prepare_continuation(*more, state());
  return prepare(std::move(request), identity, names, state().settings(), environments_);
}

kj::Promise<std::vector<Reply>> Gateway::submit_named(const Identity& identity,
                                                      std::vector<Request> requests, RequestId id,
                                                      const CallerNames& names) {
  const std::size_t count = requests.size();
  if (std::ranges::any_of(requests, has_configuration)) {
    if (count == 1) return submit_configured(identity, std::move(requests.front()), id, names);
    return refusals(count,
                    Error{ErrorCode::kInvalidArgument, "a request about experiments stands alone",
                          "make several requests of it"});
  }
  Command command = begin_command(identity, id, names);
  for (Request& request : requests) {
    auto prepared = prepare_one(std::move(request), identity, names);
    if (!prepared.has_value()) return refusals(count, prepared.error());
    // One bad request of a batch refuses all: nothing has been sent.
    command.requests.push_back(std::move(prepared).value());
  }
  // A dependency may name a job that has left memory: history knows how it ended.
  std::vector<JobId> past = past_jobs(state(), port_.now(), command.requests);
  if (past.empty()) return send_or_ask(std::move(command));
  return with_past(std::move(command), std::move(past)).then([this](Command decided) {
    return send_or_ask(std::move(decided));
  });
}

/// A configuration takes milliseconds to read: in turns with whoever else asks for long work, and
/// others are served in between.
kj::Promise<std::vector<Reply>> Gateway::submit_configured(const Identity& identity,
                                                           Request request, RequestId id,
                                                           const CallerNames& names) {
  // Shared with the work, which may run after this call has returned, or never.
  auto given = std::make_shared<Request>(std::move(request));
  auto prepared = std::make_shared<std::optional<Result<PreparedRequest>>>();
  const auto read = [this, given, prepared, identity, names] {
    prepared->emplace(prepare_one(std::move(*given), identity, names));
    // All of a turn: a configuration takes as long as a portion of a list.
    return ListTurns::kCostMax;
  };
  return turns_.run(identity.user, read)
      .then([this, prepared, identity, id, names]() -> kj::Promise<std::vector<Reply>> {
        if (!(*prepared)->has_value()) return refusals(1, (*prepared)->error());
        Command command = begin_command(identity, id, names);
        command.requests.push_back(std::move(**prepared).value());
        return send(std::move(command));
      });
}

Command Gateway::begin_command(const Identity& identity, RequestId id, const CallerNames& names) {
  Command command;
  command.token = next_token_++;
  command.identity = identity;
  command.identity.groups = names.groups;
  command.request = id;
  return command;
}

kj::Promise<Command> Gateway::with_past(Command command, std::vector<JobId> jobs) {
  Query query;
  query.kind = QueryKind::kHistory;
  query.detail = QueryDetail::kBrief;
  query.is_steps = false;
  // Any time but unset, which would mean the usual span of sacct.
  query.since = TimePoint::from_microseconds(1);
  query.until = TimePoint::never();
  for (const JobId job : jobs)
    query.filter.jobs.push_back(JobSelector{job, {}, false, std::nullopt});
  struct Known {
    std::vector<PastEnd> ended;
    bool is_whole = true;
  };
  auto known = std::make_shared<Known>();
  const auto collect = [known](const std::string& bytes) -> kj::Promise<void> {
    const auto page = records::decode_page(bytes);
    known->is_whole = known->is_whole && page.has_value();
    if (page.has_value())
      std::ranges::transform(page->jobs, std::back_inserter(known->ended), past_end_of);
    return kj::READY_NOW;
  };
  const Identity identity = command.identity;
  return query_history(identity, std::move(query), collect)
      .then([known, command = std::move(command),
             jobs = std::move(jobs)](std::optional<Error> error) mutable {
        // Half of an array says nothing: the terms stay undecided then, and the core says so.
        if (!error && known->is_whole) decide_past_terms(command.requests, jobs, known->ended);
        return std::move(command);
      });
}

kj::Promise<std::vector<Reply>> Gateway::send_or_ask(Command command) {
  const std::size_t count = command.requests.size();
  if (std::ranges::any_of(command.requests, is_question)) {
    if (count == 1) return ask(std::move(command));
    return refusals(count,
                    Error{ErrorCode::kInvalidArgument, "a job that is only tested stands alone",
                          "make several requests of it"});
  }
  return send(std::move(command));
}

// The same way back as a command's, by its token.
kj::Promise<std::vector<Reply>> Gateway::ask(Command question) {
  auto paf = kj::newPromiseAndFulfiller<std::vector<Reply>>();
  replies_[question.token] = kj::mv(paf.fulfiller);
  port_.forecast(std::move(question));
  return kj::mv(paf.promise);
}

kj::Promise<std::vector<Reply>> Gateway::send(Command command) {
  auto paf = kj::newPromiseAndFulfiller<std::vector<Reply>>();
  replies_[command.token] = kj::mv(paf.fulfiller);
  port_.command(std::move(command));
  return kj::mv(paf.promise);
}

/// Of experiments that the batch deletes. Requires: it is not applied yet.
std::vector<TrialId> Gateway::deleted_trials(const EventBatch& batch) const {
  std::vector<TrialId> trials;
  for (const Event& event : batch.events) {
    const auto* deleted = get_if<ExperimentDeleted>(&event.body);
    if (deleted == nullptr) continue;
    const auto& all = state().experiments().find(deleted->experiment)->trials;
    trials.insert(trials.end(), all.begin(), all.end());
  }
  return trials;
}

void Gateway::on_reply(std::uint64_t token, std::vector<Reply> replies) {
  const auto found = replies_.find(token);
  if (found == replies_.end()) return;
  found->second->fulfill(std::move(replies));
  replies_.erase(found);
}

void Gateway::on_update(const DurableUpdate& update) {
  // Before the batch is applied: afterwards the experiment is gone.
  std::vector<TrialId> deleted = deleted_trials(*update.batch);
  replica_.apply(*update.batch);
  // One gateway alone collects; others would ask the core for the same.
  if (is_collecting_) {
    if (!deleted.empty()) port_.forget_trials(std::move(deleted));
    collector_.on_batch(*update.batch);
  }
  if (!waiters_->empty()) wake_waiters(*update.batch);
  if (!stop_waiters_->empty()) wake_stop_waiters(*update.batch);
  // A trial's end wakes those who follow its output: they ask again, and hear that it is over.
  for (const Event& event : update.batch->events) {
    const auto* ended = get_if<TrialEnded>(&event.body);
    if (ended != nullptr) port_.wake_log_readers({LogOwnerKind::kTrial, ended->trial.value()});
  }
}

void Gateway::wake_waiters(const EventBatch& batch) {
  for (const Event& event : batch.events) {
    const JobId job = job_of(event.body);
    const auto waiting = waiters_->find(job);
    if (waiting == waiters_->end()) continue;
    for (auto waiter = waiting->second.begin(); waiter != waiting->second.end();) {
      // Judged by the state after the whole batch: an event in its midst may be undone by a later
      // one.
      auto answer = answer_now(waiter->second.wanted);
      if (!answer) {
        ++waiter;
        continue;
      }
      waiter->second.fulfiller->fulfill(std::move(*answer));
      waiter = waiting->second.erase(waiter);
    }
    if (waiting->second.empty()) waiters_->erase(waiting);
  }
}

std::optional<WaitAnswer> Gateway::answer_now(const WaitFor& wanted) const {
  WaitAnswer answer;
  const Job* job = replica_.state().jobs().find(wanted.what.job);
  if (job == nullptr) {
    answer.error = Error{ErrorCode::kNotFound, "Invalid job id specified", ""};
    return answer;
  }
  // A job that is in another attempt has ended the one that was asked about.
  const bool is_past = job->attempt > wanted.what.attempt || job->is_over();
  const StepState* step = job->run != nullptr && job->attempt == wanted.what.attempt
                              ? job->run->find_step(wanted.what.step)
                              : nullptr;
  // The number is known and another launch's: waiting for it would wait for a stranger.
  if (step != nullptr && wanted.launch_key != 0 &&
      job->run->launch_key_of(*step) != wanted.launch_key) {
    answer.error = requests::number_is_anothers(step->id);
    return answer;
  }
  // Who knows its key has seen it: of this run, or of one of a lost branch of the state.
  if (step == nullptr && wanted.launch_key != 0 && !is_past) {
    answer.error = Error{
        ErrorCode::kNotFound,
        fmt::format("step {}.{} is not there any more", wanted.what.job.value(), wanted.what.step),
        "it ended long ago, or was of a state of which an older copy was put back"};
    return answer;
  }
  const bool is_met = wanted.until == WaitUntil::kStarted
                          ? is_past || job->holds_resources() || is_finished(job->state)
                      : wanted.until == WaitUntil::kEnded
                          ? is_past
                          : is_past || (step != nullptr && !step->is_running());
  // Nothing yet: the next event of the job asks again.
  if (!is_met) return std::nullopt;
  answer.job = replica_.job_view(*job, QueryDetail::kFull);
  if (step != nullptr) {
    StepView view;
    view.id = step->id;
    view.state = step->state;
    view.exit = step->exit;
    view.detail = step->detail;
    answer.step = std::move(view);
  }
  return answer;
}

kj::Promise<WaitAnswer> Gateway::wait(const Identity&, WaitFor wanted) {
  auto paf = kj::newPromiseAndFulfiller<WaitAnswer>();
  if (auto answer = answer_now(wanted)) return std::move(*answer);
  const JobId job = wanted.what.job;
  const std::uint64_t token = next_token_++;
  (*waiters_)[job].emplace(token, Waiter{wanted, kj::mv(paf.fulfiller)});
  // Runs when the promise is dropped, answered or not: no waiter outlives its client.
  auto forget = kj::defer([waiters = waiters_, job, token] {
    const auto waiting = waiters->find(job);
    if (waiting == waiters->end()) return;
    waiting->second.erase(token);
    if (waiting->second.empty()) waiters->erase(waiting);
  });
  // An empty answer: nothing yet.
  auto timeout = timer_.afterDelay(kWaitMax).then([] { return WaitAnswer{}; });
  return paf.promise.exclusiveJoin(kj::mv(timeout)).attach(kj::mv(forget));
}

namespace {

/// Pages on their way at once: the client reads one while the next travels.
constexpr int kPagesInFlight = 3;

/// Sends pages in order.
struct PageStream {
  Pages pages;
  // Each lane sends the next page when its last was received.
  SendPage send;
  std::size_t next = 0;
  kj::Promise<void> lane() {
    if (next == pages->size()) return kj::READY_NOW;
    return send((*pages)[next++]).then([this] { return lane(); });
  }
};

kj::Promise<std::optional<Error>> send_pages(Pages pages, SendPage send) {
  auto stream = kj::heap<PageStream>(PageStream{std::move(pages), std::move(send)});
  auto lanes = kj::heapArrayBuilder<kj::Promise<void>>(kPagesInFlight);
  for (int i = 0; i < kPagesInFlight; ++i) lanes.add(stream->lane());
  return kj::joinPromises(lanes.finish())
      .then([]() -> std::optional<Error> { return std::nullopt; })
      .attach(kj::mv(stream));
}

}  // namespace

kj::Promise<std::optional<Error>> Gateway::query(const Identity& identity, Query query,
                                                 SendPage send) {
  // Sorted once, so that conditions look names up.
  if (const Status sorted = sort_lists(query.filter); !sorted.has_value())
    return std::optional<Error>(sorted.error());
  if (query.kind == QueryKind::kHistory)
    return query_history(identity, std::move(query), std::move(send));
  if (query.kind == QueryKind::kJobs && query.detail == QueryDetail::kWhy)
    return query_why(identity, std::move(query), std::move(send));
  if (query.kind == QueryKind::kJobs || query.kind == QueryKind::kSteps)
    return query_jobs(identity, std::move(query), std::move(send));
  if (query.kind == QueryKind::kToken) return send_token(identity, query, std::move(send));
  if (query.kind == QueryKind::kBatchScript) return query_script(identity, query, std::move(send));
  auto pages = replica_.answer(identity, query);
  if (!pages.has_value()) return std::optional<Error>(pages.error());
  return send_pages(std::move(pages).value(), std::move(send));
}

kj::Promise<std::optional<Error>> Gateway::query_script(const Identity& identity,
                                                        const Query& query, SendPage send) {
  const Job* job = query.filter.jobs.empty()
                       ? nullptr
                       : replica_.state().jobs().find(query.filter.jobs.front().job);
  if (job == nullptr)
    return std::optional<Error>(Error{ErrorCode::kNotFound, "Invalid job id specified", ""});
  // Source: scontrol(1), write batch_script: for the owner and operators.
  if (!access::may_control(*job, identity)) {
    return std::optional<Error>(
        Error{ErrorCode::kPermissionDenied, "Access/permission denied", ""});
  }
  if (job->spec->script.value() == 0) {
    return std::optional<Error>(Error{ErrorCode::kNotFound, "job has no batch script", ""});
  }
  return port_.blob(job->spec->script)
      .then([send](Result<std::string> bytes) -> kj::Promise<std::optional<Error>> {
        if (!bytes.has_value()) return std::optional<Error>(bytes.error());
        Page page;
        page.bytes = std::move(bytes).value();
        return send(records::encode_page(page)).then([]() -> std::optional<Error> {
          return std::nullopt;
        });
      });
}

kj::Promise<Result<LogAnswer>> Gateway::read_logs(const Identity& identity, LogQuery query,
                                                  Duration wait) {
  const Trial* trial = query.owner.kind == LogOwnerKind::kTrial
                           ? replica_.state().experiments().find(TrialId(query.owner.id))
                           : nullptr;
  if (trial == nullptr)
    return Result<LogAnswer>(
        fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", query.owner.id)));
  const Status readable =
      access::check_readable(state(), *state().experiments().find(trial->experiment), identity);
  if (!readable.has_value()) return Result<LogAnswer>(fail(readable.error()));
  const bool is_over = trial->is_over();
  query.lines_max = std::min(query.lines_max, kLogLinesMax);
  // Bounds of a page, whatever the client asks for.
  query.bytes_max = std::min(query.bytes_max, LogQuery().bytes_max);
  wait = std::min(wait, is_over ? kLastLinesArrive : kLogWaitMax);
  return port_.read_logs(std::move(query), wait)
      .then([is_over](Result<LogPage> page) -> Result<LogAnswer> {
        if (!page.has_value()) return fail(page.error());
        return LogAnswer{std::move(page).value(), is_over};
      });
}

}  // namespace muster
