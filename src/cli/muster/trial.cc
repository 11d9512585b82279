// muster trial VERB: what can be done with one trial.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/console.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/session.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"
#include "cli/muster/downloads.h"
#include "cli/muster/experiment_tables.h"
#include "cli/muster/log_commands.h"
#include "cli/muster/profile_text.h"
#include "text/json_text.h"

namespace muster::cli {
namespace {

/// In the order of their numbers here. Errors: kNotFound.
Result<std::vector<TrialView>> find_trials(Session& session,
                                           const std::vector<std::uint32_t>& numbers) {
  Query query;
  query.kind = QueryKind::kTrials;
  for (const std::uint32_t number : numbers) query.trials.emplace_back(number);
  const Page page = TRY(session.query(query));
  std::vector<TrialView> found;
  for (const std::uint32_t number : numbers) {
    // In the order in which they were asked for.
    const auto one = std::ranges::find(page.trials, TrialId(number), &TrialView::id);
    if (one == page.trials.end())
      return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", number),
                  "see muster experiment describe");
    found.push_back(*one);
  }
  return found;
}

std::string cell(const Json& object, const char* name) { return number_cell(object.find(name)); }

/// What each metric came to; by group.
Status print_summary(Web& web, const std::string& path) {
  const Json answer = TRY(web.get(path));
  const Json* trial = answer.find("trial");
  const Json* groups = trial == nullptr ? nullptr : trial->find("summaryMetrics");
  std::vector<Row> rows;
  // The summaries come by group, as HTTP names them: avg_metrics are those of training.
  for (const Json::Member& group :
       groups == nullptr || groups->object() == nullptr ? Json::Object() : *groups->object()) {
    if (group.value.object() == nullptr) continue;
    const std::string name = group.name == "avg_metrics"          ? "training"
                             : group.name == "validation_metrics" ? "validation"
                                                                  : group.name;
    for (const Json::Member& metric : *group.value.object()) {
      const Json& sum = metric.value;
      rows.push_back({name, metric.name, cell(sum, "count"), cell(sum, "last"), cell(sum, "mean"),
                      cell(sum, "min"), cell(sum, "max")});
    }
  }
  print(table_text({"GROUP", "METRIC", "REPORTS", "LAST", "MEAN", "LEAST", "GREATEST"}, rows));
  return {};
}

/// A line for each report of training or validation, in the order of steps.
Status print_reports(Web& web, const std::string& path) {
  std::vector<Row> rows;
  for (const Json& workload : TRY(all_items(web, path, "workloads"))) {
    // A workload is one of the two kinds.
    for (const char* kind : {"training", "validation"}) {
      const Json* report = workload.find(kind);
      const Json* metrics = report == nullptr ? nullptr : report->find("metrics");
      const Json* values = metrics == nullptr ? nullptr : metrics->find("avgMetrics");
      if (values == nullptr || values->object() == nullptr) continue;
      for (const Json::Member& metric : *values->object())
        rows.push_back(
            {cell(*report, "totalBatches"), kind, metric.name, cell(*values, metric.name.c_str())});
    }
  }
  print(table_text({"STEPS", "GROUP", "METRIC", "VALUE"}, rows));
  return {};
}

/// Of the metric that its search follows.
MetricCurves curve_of(Session& session, const TrialView& trial) {
  Query query;
  query.kind = QueryKind::kExperiments;
  query.detail = QueryDetail::kBrief;
  query.experiments = {trial.experiment};
  const auto page = session.query(query);
  // A curve is an ornament: without it the rest is shown.
  if (!page.has_value() || page->experiments.empty()) return {};
  return metric_curves(session, {trial}, page->experiments.front().spec->metric);
}

int run_describe(const Words& words) {
  std::vector<std::uint32_t> numbers;
  bool is_json = false;
  bool has_summary = false;
  bool has_metrics = false;
  CommandParser parser(
      "Shows all that is known of trials: how far each is, what ended it, and the lines of its "
      "logs that matched policies.",
      "muster trial describe");
  parser.add_option("TRIAL", numbers, "their numbers; see muster experiment describe").required();
  parser.add_flag("--metrics-summary", has_summary,
                  "also each metric's last, least and greatest value");
  parser.add_flag("--metrics", has_metrics,
                  "also what was reported of training and validation, step by step");
  parser.add_flag(
      "--json", is_json,
      "as JSON, a line for each; with --metrics what was reported is its \"workloads\"");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial describe");
  Session session(console);
  const auto trials = find_trials(session, numbers);
  if (!trials.has_value()) return console.fail(trials.error());
  Web web(session);
  // Only where it is asked: most of what is known comes without HTTP.
  if (const Status open = has_summary || has_metrics ? web.open() : Status(); !open.has_value())
    return console.fail(open.error());
  for (const TrialView& trial : *trials) {
    const std::string path = fmt::format("trials/{}", trial.id.value());
    const std::string reports = path + "/workloads";
    if (is_json) {
      if (!has_metrics) {
        if (const int code = print_json(console, session, path); code != 0) return code;
        continue;
      }
      auto shown = web.get(path);
      if (!shown.has_value()) return console.fail(shown.error());
      auto all = all_items(web, reports, "workloads");
      if (!all.has_value()) return console.fail(all.error());
      shown->member("workloads") = Json::Array(std::move(all).value());
      print(json_text(*shown) + "\n");
      continue;
    }
    print(
        trial_text(trial, show_context(session.cluster().cluster_name), curve_of(session, trial)));
    for (const Status& shown : {has_summary ? print_summary(web, path) : Status(),
                                has_metrics ? print_reports(web, reports) : Status()}) {
      if (!shown.has_value()) return console.fail(shown.error());
    }
  }
  return 0;
}

int run_set(const Words& words) {
  SetLogRetention set;
  std::uint32_t number = 0;
  CommandParser parser("Changes what may be changed of a trial at any time.", "muster trial set");
  parser.add_option("TRIAL", number, "its number").required();
  parser
      .add_option("--log-retention", set.days,
                  "days that its logs are kept after its experiment's end; -1: for ever")
      .range(-1, 32767)
      .required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial set");
  set.trial = TrialId(number);
  Session session(console);
  const auto reply = session.submit_one(set);
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

int run_profile(const Words& words) {
  std::uint32_t number = 0;
  CommandParser parser(
      "Shows what a trial's machine did while it trained: CPU, memory, disk, network and GPUs. For "
      "trials with profiling: {enabled: true}, or "
      "that turn the profiler on themselves.",
      "muster trial profile");
  parser.add_option("TRIAL", number, "its number; see muster experiment describe").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial profile");
  Session session(console);
  if (const auto known = find_trials(session, {number}); !known.has_value())
    return console.fail(known.error());
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  Profile profile;
  for (const char* group : kProfileGroups) {
    std::string lines;
    const std::string path =
        fmt::format("trials/metrics/trial_metrics?trialIds={}&group={}", number, group);
    // Streamed by the API as one JSON document for each line.
    const Status read =
        web.stream(path, "application/json", [&lines](std::string_view bytes) -> Status {
          lines += bytes;
          return {};
        });
    if (!read.has_value()) return console.fail(read.error());
    if (const Status taken = profile.add(group, lines); !taken.has_value())
      return console.fail(taken.error());
  }
  // A profile is metrics of groups of their own: without profiling there are none.
  if (profile.is_empty()) {
    return console.fail({ErrorCode::kNotFound, fmt::format("trial {} has no profile", number),
                         "write profiling: {enabled: true} in the experiment's file"});
  }
  print(profile.text());
  return 0;
}

int run_kill(const Words& words) {
  std::vector<std::uint32_t> numbers;
  CommandParser parser("Ends trials at once; their experiments go on.", "muster trial kill");
  parser.add_option("TRIAL", numbers, "their numbers; see muster experiment describe").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster trial kill");
  Session session(console);
  const auto trials = find_trials(session, numbers);
  if (!trials.has_value()) return console.fail(trials.error());
  CancelJobs cancel;
  for (const TrialView& trial : *trials) cancel.filter.jobs.push_back({trial.job, {}, false, {}});
  // One that has ended is no failure: it is what was wanted.
  cancel.is_lenient = true;
  const auto reply = session.submit_one(cancel);
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

constexpr std::array kVerbs{
    CommandRow{"describe", run_describe,
               "show one with what its logs set off, and its metrics if asked"},
    CommandRow{"download", run_trial_download,
               "get the files of its best or its latest checkpoint"},
    CommandRow{"kill", run_kill, "end it"},
    CommandRow{"logs", run_trial_logs, "show what its tasks wrote"},
    CommandRow{"profile", run_profile, "show what its machine did meanwhile"},
    CommandRow{"set", run_set, "how long its logs are kept"}};

}  // namespace

int run_trial(const Words& words) { return run_verb("muster trial", kVerbs, words); }

}  // namespace muster::cli
