// What the tasks of a trial wrote, line by line, as a stream that may follow the trial to its end.
// The log store answers page by page; lines are formatted here and written one page at a time.
// Filters go along with the question, so that only lines that match are read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "text/json_text.h"
#include "text/utf8.h"
#include "text/web_time.h"
#include "trials/log_text.h"

namespace muster::api {
namespace {

// How long the core holds a question of one who follows.
constexpr Duration kTimeout = Duration::seconds(30);
// A page that is formatted in one turn of HTTP's thread.
constexpr std::size_t kLinesPerPage = 1'000;
constexpr std::array kLevels{LogLevel::kUnspecified, LogLevel::kTrace,   LogLevel::kDebug,
                             LogLevel::kInfo,        LogLevel::kWarning, LogLevel::kError,
                             LogLevel::kCritical};

struct LogWish {
  LogQuery query;
  std::string task;  ///< not empty: lines are shown as a task's
  bool is_followed = false;
  std::size_t lines_left = SIZE_MAX;
};

Status fill_filter(const HttpRequest& request, LogFilter& filter) {
  for (const std::string& rank : request.parameters("rankIds")) {
    // Rank 0 is a rank, though no other id may be 0.
    filter.ranks.push_back(rank == "0" ? 0U : TRY(parse_id(rank, "a rank")));
  }
  for (const std::string& name : request.parameters("levels")) {
    const auto level = std::ranges::find(kLevels, name, log_level_name);
    if (level == kLevels.end())
      return fail(ErrorCode::kInvalidArgument, fmt::format("levels: '{}' is not known", name),
                  "write LOG_LEVEL_INFO");
    filter.levels.push_back(*level);
  }
  for (const std::string& name : request.parameters("stdtypes")) {
    // Slurm has no more streams than these two.
    if (name != "stdout" && name != "stderr")
      return fail(ErrorCode::kInvalidArgument, fmt::format("stdtypes: '{}' is not known", name),
                  "");
    filter.streams.push_back(name == "stdout" ? LogStream::kStdout : LogStream::kStderr);
  }
  // Determined's agents and containers are not ours: a filter that is ignored would show too much.
  for (const char* name : {"agentIds", "containerIds", "sources"}) {
    if (request.has(name))
      return fail(ErrorCode::kUnimplemented, fmt::format("logs cannot be filtered by {} yet", name),
                  "filter by rankIds, levels, stdtypes or searchText");
  }
  for (const std::string& name : request.parameters("allocationIds")) {
    const auto run = parse_task_name(name);
    // An allocation without a run's number is a task.
    if (!run || run->run == 0)
      return fail(ErrorCode::kNotFound, fmt::format("there is no allocation {}", name), "");
    filter.runs.push_back(run->run);
  }
  if (const auto text = request.parameter("timestampAfter"); !text.empty())
    filter.first_time = TRY(parse_web_time(text));
  if (const auto text = request.parameter("timestampBefore"); !text.empty())
    filter.last_time = TRY(parse_web_time(text));
  filter.text = request.parameter("searchText");
  filter.is_regex = TRY(flag_parameter(request, "enableRegex")).value_or(false);
  return {};
}

Result<LogWish> wish_of(const HttpRequest& request, bool is_task) {
  LogWish wish;
  TrialId trial;
  if (is_task) {
    wish.task = request.arguments[0];
    const auto run = parse_task_name(wish.task);
    // A task's name has its trial's number in it.
    if (!run) return fail(ErrorCode::kNotFound, fmt::format("there is no task {}", wish.task), "");
    trial = run->trial;
  } else {
    trial = TrialId(TRY(parse_id(request.arguments[0], "a trial")));
  }
  wish.query.owner = {LogOwnerKind::kTrial, trial.value()};
  TRY(fill_filter(request, wish.query.filter));
  const std::int64_t limit = TRY(number_parameter(request, "limit", 0));
  if (limit > 0) wish.lines_left = static_cast<std::size_t>(limit);
  wish.is_followed = TRY(flag_parameter(request, "follow")).value_or(false);
  wish.query.is_backward = TRY(direction_of(request)) == Direction::kDescending;
  // From the end: the newest lines come first.
  if (wish.query.is_backward) wish.query.from = kLastLogLine;
  if (wish.query.is_backward && wish.is_followed) {
    return fail(ErrorCode::kInvalidArgument, "logs cannot be followed backwards",
                "follow in ascending order");
  }
  return wish;
}

/// The line as Determined's client prints it.
std::string message_of(const LogLine& line, std::uint32_t trial, const std::string& text) {
  constexpr std::string_view kPrefix = "LOG_LEVEL_";
  // Without its prefix, as Determined's client prints it.
  const std::string_view level = log_level_name(line.level).substr(kPrefix.size());
  const std::string shown = line.level == LogLevel::kUnspecified ? "" : fmt::format("{}: ", level);
  // The trial's number where Determined has the beginning of a container's id.
  return fmt::format("[{}] {:08x} [rank={}] || {}{}\n", web_time_text(line.time), trial, line.rank,
                     shown, text);
}

Json line_json(const LogLine& line, const LogWish& wish) {
  // Tasks write bytes: JSON must be UTF-8.
  const std::string text = fmt::format("{}{}", continuation_mark(line), valid_utf8(line.text));
  Json::Object out{{"id", std::to_string(line.id)},
                   {"timestamp", web_time_text(line.time)},
                   {"level", std::string(log_level_name(line.level))},
                   {"message", message_of(line, wish.query.owner.id, text)},
                   {"log", text + "\n"},
                   {"rankId", line.rank},
                   {"stdtype", line.stream == LogStream::kStdout ? "stdout" : "stderr"},
                   {"source", "task"},
                   {"runId", line.run}};
  if (wish.task.empty()) {
    out.push_back({"trialId", wish.query.owner.id});
  } else {
    out.push_back({"taskId", wish.task});
  }
  return out;
}

/// Reads page by page, as fast as the client takes them.
class LogLines {
 public:
  LogLines(ApiPort& port, Caller caller, LogWish wish)
      : port_(port), caller_(std::move(caller)), wish_(std::move(wish)) {}

  kj::Promise<Result<LogAnswer>> read() {
    wish_.query.lines_max = std::min(kLinesPerPage, wish_.lines_left);
    return port_.read_logs(
        caller_, wish_.query,
        std::exchange(is_begun_, true) && wish_.is_followed ? kTimeout : Duration());
  }
  kj::Promise<void> write(kj::AsyncOutputStream& out, LogAnswer answer) {
    text_.clear();
    for (const LogLine& line : answer.page.lines)
      text_ += json_text(Json::Object{{"result", line_json(line, wish_)}}) + "\n";
    wish_.lines_left -= answer.page.lines.size();
    wish_.query.from = answer.page.next;
    // While following an empty page is the end only once the trial is over.
    const bool is_last =
        answer.page.is_end && (!wish_.is_followed || (answer.is_over && answer.page.lines.empty()));
    const bool is_done = is_last || wish_.lines_left == 0;
    auto written =
        text_.empty() ? kj::Promise<void>(kj::READY_NOW) : out.write(text_.data(), text_.size());
    if (is_done) return written;
    return written.then([this] { return read(); })
        .then([this, &out](Result<LogAnswer> next) -> kj::Promise<void> {
          if (next.has_value()) return write(out, std::move(next).value());
          // The stream has begun: an error can only be a line in it.
          text_ = error_reply(next.error()).body + "\n";
          return out.write(text_.data(), text_.size());
        });
  }

 private:
  ApiPort& port_;
  Caller caller_;
  LogWish wish_;
  bool is_begun_ =
      false;  ///< the first page does not wait: it says at once whether there is such a trial
  std::string text_;
};

/// The first page says whether there is such a trial, before a stream begins.
kj::Promise<HttpReply> stream(ApiPort& port, HttpRequest request, bool is_task) {
  auto wish = wish_of(request, is_task);
  if (!wish.has_value()) return error_reply(wish.error());
  auto lines = std::make_shared<LogLines>(port, request.caller, std::move(wish).value());
  return lines->read().then([lines](Result<LogAnswer> first) -> HttpReply {
    if (!first.has_value()) return error_reply(first.error());
    HttpReply reply;
    reply.stream = [lines, first = std::move(first).value()](kj::AsyncOutputStream& out) {
      return lines->write(out, first);
    };
    return reply;
  });
}

/// What the lines of a trial may be filtered by.
kj::Promise<HttpReply> fields(ApiPort&, HttpRequest) {
  HttpReply reply;
  // Only what lines can be filtered by here.
  const Json values =
      Json::Object{{"agentIds", Json::Array{}},      {"allocationIds", Json::Array{}},
                   {"containerIds", Json::Array{}},  {"rankIds", Json::Array{}},
                   {"sources", Json::Array{"task"}}, {"stdtypes", Json::Array{"stdout", "stderr"}}};
  reply.body = json_text(Json::Object{{"result", values}}) + "\n";
  return reply;
}

}  // namespace

void add_log_routes(Router& router) {
  std::vector<std::string> names{
      "limit",        "follow",        "orderBy",        "rankIds",        "levels",
      "stdtypes",     "searchText",    "enableRegex",    "agentIds",       "sources",
      "containerIds", "allocationIds", "timestampAfter", "timestampBefore"};
  router.add(
      Method::kGet, "/api/v1/trials/{trial}/logs", "Lines that a trial's tasks wrote",
      [](ApiPort& port, HttpRequest request) { return stream(port, std::move(request), false); },
      names);
  router.add(
      Method::kGet, "/api/v1/tasks/{task}/logs", "Lines that a task wrote",
      [](ApiPort& port, HttpRequest request) { return stream(port, std::move(request), true); },
      std::move(names));
  router.add(Method::kGet, "/api/v1/trials/{trial}/logs/fields",
             "What its lines may be filtered by", fields, {"follow"});
  router.add(Method::kGet, "/api/v1/tasks/{task}/logs/fields", "What its lines may be filtered by",
             fields, {"follow"});
}

}  // namespace muster::api
