// Logs page by page: a page is a chunk of the store, and is printed before the next is asked for,
// so that a log of any size costs the memory of one page.

#include "cli/muster/log_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/lib/command_parser.h"
#include "cli/lib/session.h"
#include "cli/muster/log_options.h"

namespace muster::cli {
namespace {

// The controller holds a question for so long and answers when a line comes.
constexpr Duration kFollowWait = Duration::seconds(30);
/// A page is about a chunk of the store, which is decompressed as a whole.
constexpr std::size_t kPageLines = 10'000;
/// How soon a line of any of an experiment's trials is shown.
constexpr Duration kRoundPause = Duration::milliseconds(200);
/// What a trial wrote last may come after its end.
constexpr Duration kLastLinesArrive = Duration::milliseconds(500);

LogQuery query_of(std::uint32_t trial, const LogFilter& filter) {
  LogQuery query;
  query.owner = {LogOwnerKind::kTrial, trial};
  query.filter = filter;
  return query;
}

/// Shows lines as pages of them come.
class LogPrinter {
 public:
  LogPrinter(bool is_plain, ShowContext context)
      : is_plain_(is_plain), context_(std::move(context)) {}
  void show(const std::vector<LogLine>& lines, const std::string& prefix = "") const {
    for (const LogLine& line : lines) {
      const std::string text = prefix + log_line_text(line, is_plain_, context_);
      // Only terminals obey control sequences: a file gets the bytes as they were written.
      print(is_terminal_ ? harmless_text(text) : text);
    }
    if (!lines.empty()) std::fflush(stdout);
  }

 private:
  bool is_plain_;
  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  ShowContext context_;
};

/// The newest lines that match, the oldest first. `next`: where what comes after them will be.
Result<std::vector<LogLine>> newest_lines(Session& session, LogQuery query, std::size_t count,
                                          std::uint64_t& next) {
  query.is_backward = true;
  query.from = kLastLogLine;
  // The store's last line, whatever matches: what is followed afterwards begins behind it.
  LogQuery last = query;
  last.filter = LogFilter();
  last.lines_max = 1;
  const LogAnswer end = TRY(session.read_logs(last, Duration()));
  next = end.page.lines.empty() ? 0 : end.page.lines.front().id + 1;
  std::vector<LogLine> lines;
  // A page may have few matches, or none.
  while (lines.size() < count) {
    query.lines_max = count - lines.size();
    LogAnswer answer = TRY(session.read_logs(query, Duration()));
    std::ranges::move(answer.page.lines, std::back_inserter(lines));
    if (answer.page.is_end) break;
    query.from = answer.page.next;
  }
  std::erase_if(lines, [&](const LogLine& line) {
    return line.id >= next;
  });  // written meanwhile: it comes again
  std::ranges::reverse(lines);
  return lines;
}

/// From `query.from` to the end, or with `wait` to the end of the trial.
Status show_lines(Session& session, LogQuery query, std::size_t count, Duration wait,
                  const LogPrinter& printer, const std::string& prefix = "") {
  for (std::size_t shown = 0; shown < count;) {
    query.lines_max = std::min(count - shown, kPageLines);
    const LogAnswer answer = TRY(session.read_logs(query, wait));
    printer.show(answer.page.lines, prefix);
    shown += answer.page.lines.size();
    query.from = answer.page.next;
    // While following, an empty page is the end only once the trial has ended.
    if (answer.page.is_end && (wait == Duration() || (answer.is_over && answer.page.lines.empty())))
      break;
  }
  return {};
}

/// The lines of all trials of an experiment, each trial's in order, as they are written.
class ExperimentFollower {
 public:
  ExperimentFollower(Session& session, ExperimentId experiment, const LogFilter& filter,
                     const LogPrinter& printer)
      : session_(session), experiment_(experiment), filter_(filter), printer_(printer) {}

  Status run() {
    while (true) {
      // Asked before the trials: lines that come in between are seen by the next round.
      const bool is_over = TRY(is_experiment_over());
      const std::vector<TrialView> trials = TRY(session_.trials(experiment_));
      bool has_more = false;
      for (const TrialView& trial : trials) {
        const bool is_left = TRY(show(trial));
        has_more = has_more || is_left;
      }
      if (is_over && !has_more) return {};
      session_.sleep(kRoundPause);
    }
  }

 private:
  struct ReadPosition {
    std::uint64_t next = 0;
    std::uint32_t runs = 0;   ///< when it was looked at last
    bool is_over = false;     ///< likewise
    bool is_drained = false;  ///< nothing was left, and nothing runs that could write more
    TimePoint over_since;     ///< set once it has ended
  };

  Result<bool> is_experiment_over() {
    Query query;
    query.kind = QueryKind::kExperiments;
    query.experiments = {experiment_};
    const Page page = TRY(session_.query(query));
    return is_final(page.experiments.front().state);
  }

  /// True: there may be more of the trial later.
  Result<bool> show(const TrialView& trial) {
    ReadPosition& place = positions_[trial.id];
    const bool is_over = trial.state != TrialState::kActive;
    const bool is_idle = is_over || trial.job_state == JobState::kPending;
    // Nothing can have been added: a round over hundreds of trials asks only about those that run.
    if (place.is_drained && is_idle && place.runs == trial.runs && place.is_over == is_over)
      return !is_over;
    const TimePoint now = clock_now();
    // The trial's end is by the cluster's clock, which may be ahead of this one.
    if (is_over && !place.over_since.is_set()) place.over_since = std::min(trial.end_time, now);
    LogQuery query = query_of(trial.id.value(), filter_);
    query.from = place.next;
    bool is_empty = true;
    for (bool is_end = false; !is_end;) {
      const LogAnswer answer = TRY(session_.read_logs(query, Duration()));
      printer_.show(answer.page.lines, fmt::format("trial {} | ", trial.id.value()));
      is_empty = is_empty && answer.page.lines.empty();
      query.from = place.next = answer.page.next;
      is_end = answer.page.is_end;
    }
    // The last lines take their way through agent and store.
    const bool is_steady = !is_over || now - place.over_since > kLastLinesArrive;
    place.is_drained = is_idle && is_empty && is_steady && place.runs == trial.runs;
    place.runs = trial.runs;
    place.is_over = is_over;
    return !is_over || !place.is_drained;
  }

  Session& session_;
  ExperimentId experiment_;
  const LogFilter& filter_;
  const LogPrinter& printer_;
  std::map<TrialId, ReadPosition> positions_;
};

}  // namespace

int run_trial_logs(const Words& words) {
  LogOptions options;
  std::uint32_t trial = 0;
  std::size_t head = 0;
  std::size_t tail = 0;
  CommandParser parser("Shows what a trial's tasks wrote, all ranks in the order in which it came.",
                       "muster trial logs");
  parser.add_option("TRIAL", trial, "its number; see muster experiment describe").required();
  options.add_to(parser);
  auto first = parser.add_option("--head", head, "the first N lines").positive();
  parser.add_option("--tail", tail, "the last N lines; with -f what follows them too")
      .positive()
      .excludes(first);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial logs");
  Session session(console);
  const ShowContext context = show_context(session.cluster().cluster_name);
  const auto filter = options.filter(context);
  if (!filter.has_value()) return console.fail(filter.error());
  const LogPrinter printer(options.is_plain, context);
  LogQuery query = query_of(trial, *filter);
  if (tail > 0) {
    const auto lines = newest_lines(session, query, tail, query.from);
    if (!lines.has_value()) return console.fail(lines.error());
    printer.show(*lines);
    if (!options.is_followed) return 0;
  }
  // Everything is no count: SIZE_MAX.
  const Status shown = show_lines(session, query, head > 0 ? head : SIZE_MAX,
                                  options.is_followed ? kFollowWait : Duration(), printer);
  return shown.has_value() ? 0 : console.fail(shown.error());
}

int run_experiment_logs(const Words& words) {
  LogOptions options;
  std::uint32_t experiment = 0;
  CommandParser parser(
      "Shows what an experiment's trials wrote, one after the other; with -f as it comes.",
      "muster experiment logs");
  parser.add_option("EXPERIMENT", experiment, "its number").required();
  options.add_to(parser);
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment logs");
  Session session(console);
  const ShowContext context = show_context(session.cluster().cluster_name);
  const auto filter = options.filter(context);
  if (!filter.has_value()) return console.fail(filter.error());
  const LogPrinter printer(options.is_plain, context);
  if (options.is_followed) {
    const Status followed =
        ExperimentFollower(session, ExperimentId(experiment), *filter, printer).run();
    return followed.has_value() ? 0 : console.fail(followed.error());
  }
  const auto trials = session.trials(ExperimentId(experiment));
  if (!trials.has_value()) return console.fail(trials.error());
  for (const TrialView& trial : *trials) {
    const std::string prefix = fmt::format("trial {} | ", trial.id.value());
    const Status shown = show_lines(session, query_of(trial.id.value(), *filter), SIZE_MAX,
                                    Duration(), printer, prefix);
    if (!shown.has_value()) return console.fail(shown.error());
  }
  return 0;
}

}  // namespace muster::cli
