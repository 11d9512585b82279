// A command's connection to the controller. What changes something is sent with a request id and
// repeated until it is answered, so that a restart of the controller in between is not seen; what
// only asks gives up soon.

#include "cli/lib/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "cli/lib/local_zone.h"
#include "cli/lib/signals.h"
#include "env/posix/conf_files.h"
#include "text/words.h"

namespace muster::cli {
namespace {

// Longer than a controller takes to come up again.
constexpr Duration kSubmitTimeout = Duration::seconds(60);
/// How long a controller that has taken a connection may be silent.
constexpr Duration kAnswerTimeout = Duration::seconds(60);
// A script that polls squeue should hear soon that nobody answers.
constexpr Duration kQueryTimeout = Duration::seconds(5);
constexpr Duration kRetryPause = Duration::milliseconds(100);

/// Nearly all of a long file is lines of nodes and partitions, which say nothing to a client.
bool may_matter(std::string_view line) {
  // In lower case or upper: keys of slurm.conf are compared without it.
  for (const std::string_view record : {"NodeName", "PartitionName", "NodeSet", "DownNodes"}) {
    if (equal_ignoring_case(line.substr(0, record.size()), record)) return false;
  }
  return true;
}

}  // namespace

ClusterAddress scan_conf(const std::string& path, std::string_view text,
                         const IncludeReader& read_include) {
  ClusterAddress found;
  found.conf = path;
  // A client must work with a file that daemons refuse.
  std::vector<ConfFinding> mistakes;  // the daemons speak of them
  for (const ConfLine& line : read_conf_lines(path, text, read_include, mistakes, may_matter)) {
    for (const auto& [key, value] : line.pairs) {
      if (equal_ignoring_case(key, "ClusterName")) found.cluster_name = lower(value);
      if (equal_ignoring_case(key, "MusterController")) found.controller = value;
      if (equal_ignoring_case(key, "KillOnBadExit")) found.kills_on_bad_exit = value == "1";
      // 65533 is the most that Slurm takes, 30 s its default.
      if (equal_ignoring_case(key, "KillWait"))
        found.kill_wait = Duration::seconds(parse_whole32(value, 65533).value_or(30));
    }
  }
  // Without MusterController the socket lies beside the file.
  if (found.controller.empty()) {
    const auto slash = path.rfind('/');
    found.controller =
        "unix:" + (slash == std::string::npos ? std::string(".") : path.substr(0, slash)) +
        "/controller.sock";
  }
  return found;
}

ClusterAddress find_cluster() {
  const std::string_view ours = environment_value("MUSTER_CONF");
  // SLURM_CONF is what Slurm's programs go by: it wins.
  const std::string named(
      environment_value("SLURM_CONF").empty() ? ours : environment_value("SLURM_CONF"));
  Words paths = {"/etc/muster/slurm.conf", "/etc/slurm/slurm.conf"};
  // A file that was named is the only one that is looked at.
  if (!named.empty()) paths = {named};
  std::string missing = "no configuration was found";
  for (const std::string& path : paths) {
    const auto text = read_conf_file(path);
    if (text.has_value()) return scan_conf(path, *text, include_reader(path));
    missing += fmt::format("{} {}", path == paths.front() ? ":" : " and", text.error().text());
  }
  // Without a file the first place says where the socket would be.
  ClusterAddress none = scan_conf(paths.front(), "");
  none.conf.clear();
  none.missing = missing + "; SLURM_CONF must name a slurm.conf, as eval \"$(muster env)\" lets it";
  return none;
}

JobId own_job() {
  const std::string_view id = environment_value("SLURM_JOB_ID");
  // SLURM_JOBID is the older name, which scripts still set. Source: sbatch(1), OUTPUT ENVIRONMENT
  // VARIABLES.
  return JobId(parse_whole32(id.empty() ? environment_value("SLURM_JOBID") : id).value_or(0));
}

Error no_controller() {
  return Error{ErrorCode::kUnavailable, std::string(kNoAnswer) + " (connect failure)", "",
               ErrorCause::kNoAnswer};
}

namespace {

/// Not for calls that the controller keeps open until something happens.
template <class Call>
auto wait_for_room(ControllerClient& connection, Call&& call) {
  // A full controller leaves requests unread: then this ends the wait.
  connection.set_timeout(kAnswerTimeout);
  auto answer = call();
  connection.set_timeout(Duration());
  return answer;
}

}  // namespace

Session::Session(const Console& console)
    : console_(console), cluster_(find_cluster()), io_(kj::setupAsyncIo()) {}
Session::~Session() = default;

ControllerClient* Session::client() {
  if (client_ == nullptr) {
    auto made = ControllerClient::connect(*io_, cluster_.controller);
    if (made.has_value()) client_ = std::move(made).value();
  }
  return client_.get();
}

void Session::sleep(Duration duration) {
  io_->provider->getTimer()
      .afterDelay(duration.microseconds() * kj::MICROSECONDS)
      .wait(io_->waitScope);
}

/// Calls until it is answered, or until the timeout. A lost connection is made anew; nobody there
/// at all without any configuration file is answered at once, because nothing is going to come up.
template <class T>
Result<T> Session::persist(Duration timeout,
                           const std::function<Result<T>(ControllerClient&)>& call) {
  const TimePoint deadline = clock_now() + timeout;
  for (bool is_printed = false;;) {
    Error why = no_controller();
    if (ControllerClient* connection = client()) {
      // A captured signal would else be looked at only after the call.
      const auto ending = ended_by_signal();
      Result<T> answer = call(*connection);
      // Only unavailability is worth another attempt: every other error would come again.
      if (answer.has_value() || answer.error().code != ErrorCode::kUnavailable) return answer;
      if (answer.error().cause == ErrorCause::kNoAnswer) why = answer.error();
      // The connection is in doubt: the next attempt makes a new one.
      drop();
    }
    // Without a configuration there is no cluster that could come up. The cause has a line of its
    // own: commands print Slurm's text alone of an answer that does not come.
    if (cluster_.conf.empty() && !std::exchange(is_cause_told_, true))
      console_.error(cluster_.missing);
    if (cluster_.conf.empty() || clock_now() >= deadline) return muster::fail(why);
    // Said once, and not by queries, whose callers expect their answer alone.
    if (!is_printed && timeout > kQueryTimeout) {
      console_.say(fmt::format("{}, retrying", why.message));
      is_printed = true;
    }
    pause();
  }
}

/// Until the next attempt.
void Session::pause() {
  const auto ending = ended_by_signal();
  sleep(kRetryPause);
}

/// While it is held the process ends by the signals that end it, as if it had not captured them.
kj::Promise<void> Session::ended_by_signal() {
  if (ending_signals_.empty()) return kj::NEVER_DONE;
  return any_signal(io_->unixEventPort, ending_signals_)
      .then([](int number) {
        // Back to the default action, unblocked, and then raised: the parent sees a death by this
        // signal.
        ::signal(number, SIG_DFL);
        sigset_t alone;
        ::sigemptyset(&alone);
        ::sigaddset(&alone, number);
        ::pthread_sigmask(SIG_UNBLOCK, &alone, nullptr);
        ::raise(number);
      })
      .eagerlyEvaluate(nullptr);
}

Result<std::vector<Reply>> Session::submit(const std::vector<Request>& requests) {
  // One id for all attempts: the controller does a repeated request once.
  const RequestId id = fresh_request_id();
  return persist<std::vector<Reply>>(kSubmitTimeout, [&](ControllerClient& connection) {
    return wait_for_room(connection, [&] { return connection.submit(requests, id); });
  });
}

Result<Reply> Session::submit_one(const Request& request) {
  auto replies = TRY(submit({request}));
  if (replies.size() != 1)
    return muster::fail(ErrorCode::kInternal, "the controller gave no reply");
  return std::move(replies.front());
}

Result<Page> Session::query(const Query& query, std::optional<Error>* damage) {
  return persist<Page>(kQueryTimeout, [&](ControllerClient& connection) -> Result<Page> {
    Page all;
    const auto gather = [&all](Page page) {
      // A first page is taken whole: most answers are one page.
      if (all.jobs.empty() && !page.jobs.empty()) {
        all.jobs.swap(page.jobs);
        all.jobs.reserve(all.jobs.size() * 2);
      }
      std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(all.jobs));
      std::move(page.steps.begin(), page.steps.end(), std::back_inserter(all.steps));
      std::move(page.experiments.begin(), page.experiments.end(),
                std::back_inserter(all.experiments));
      std::move(page.trials.begin(), page.trials.end(), std::back_inserter(all.trials));
      std::move(page.checkpoints.begin(), page.checkpoints.end(),
                std::back_inserter(all.checkpoints));
      std::move(page.documents.begin(), page.documents.end(), std::back_inserter(all.documents));
      std::move(page.nodes.begin(), page.nodes.end(), std::back_inserter(all.nodes));
      std::move(page.partitions.begin(), page.partitions.end(), std::back_inserter(all.partitions));
      if (page.settings) all.settings = std::move(page.settings);
      all.bytes += page.bytes;
      if (page.ping) all.ping = std::move(page.ping);
    };
    const Status told = wait_for_room(connection, [&] { return connection.query(query, gather); });
    // Damage of the stored history concerns part of an answer: who can show the rest asks for it.
    if (!told.has_value() && (damage == nullptr || told.error().code != ErrorCode::kCorruption))
      return fail(told.error());
    if (!told.has_value()) *damage = told.error();
    return all;
  });
}

Result<std::vector<TrialView>> Session::trials(ExperimentId experiment) {
  Query query;
  query.kind = QueryKind::kTrials;
  query.experiments = {experiment};
  Page page = TRY(this->query(query));
  return std::move(page.trials);
}

Result<LogAnswer> Session::read_logs(const LogQuery& query, Duration wait) {
  return persist<LogAnswer>(
      // With a wait the controller may hold the question for up to that long.
      wait == Duration() ? kQueryTimeout : kSubmitTimeout,
      [&](ControllerClient& connection) { return connection.read_logs(query, wait); });
}

/// One attempt.
Result<PingView> Session::ping_within(Duration limit) {
  const auto begin = std::chrono::steady_clock::now();
  // The time for connecting counts.
  if (client_ == nullptr)
    client_ = TRY(ControllerClient::connect(*io_, cluster_.controller, limit));
  const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  // 0 would mean no limit.
  const Duration left = limit - Duration::microseconds(taken.count());
  client_->set_timeout(std::max(left, Duration::milliseconds(1)));
  Query query;
  query.kind = QueryKind::kPing;
  std::optional<PingView> ping;
  const Status told = client_->query(query, [&ping](Page page) {
    if (page.ping) ping = std::move(page.ping);
  });
  client_->set_timeout(Duration());
  if (told.has_value() && ping) return std::move(*ping);
  drop();
  return muster::fail(told.has_value() ? no_controller() : told.error());
}

Status Session::await_epoch_after(Epoch before, Duration limit) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::microseconds(limit.microseconds());
  for (;;) {
    // By the clock, as each attempt may itself take long.
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now());
    if (left.count() <= 0) break;
    const auto ping = ping_within(Duration::microseconds(left.count()));
    // A later epoch: this run began after the request was answered.
    if (ping.has_value() && ping->epoch > before) return {};
    pause();
  }
  return muster::fail(ErrorCode::kDeadlineExceeded,
                      fmt::format("the controller was told to start anew and has not answered "
                                  "within {} s",
                                  limit.seconds()),
                      "its log says what keeps it");
}

Status Session::query_jobs(const Query& query, const std::function<void()>& begin,
                           const std::function<void(JobView&)>& visit) {
  return persist<void>(kQueryTimeout, [&](ControllerClient& connection) -> Status {
    // A repeated call brings every job again: the caller drops what it has gathered.
    begin();
    return wait_for_room(connection, [&] { return connection.query_jobs(query, visit); });
  });
}

Result<WaitAnswer> Session::wait_for(const WaitFor& wanted) {
  for (;;) {
    auto answer = persist<WaitAnswer>(
        kSubmitTimeout, [&](ControllerClient& connection) { return connection.wait(wanted); });
    // An answer without anything says that the controller's own wait is over: it is asked again.
    if (!answer.has_value() || answer->job || answer->step || answer->error) return answer;
  }
}

}  // namespace muster::cli
