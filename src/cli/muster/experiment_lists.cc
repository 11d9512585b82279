// What belongs to an experiment, in lists; and its labels.
#include <fmt/format.h>

#include <array>
#include <map>

#include "cli/lib/command_parser.h"
#include "cli/lib/commands.h"
#include "cli/lib/local_zone.h"
#include "cli/lib/text_table.h"
#include "cli/lib/web.h"
#include "cli/muster/experiment_commands.h"
#include "cli/muster/experiment_tables.h"
#include "text/web_time.h"

namespace muster::cli {
namespace {

/// A checkpoint as HTTP has it.
Row checkpoint_row(const Json& one, const ShowContext& context) {
  const Json* training = one.find("training");
  const Json* metadata = one.find("metadata");
  const auto in = [](const Json* object, const char* name) {
    return number_cell(object == nullptr ? nullptr : object->find(name));
  };
  const std::string state = text_of(one, "state");
  const auto time = parse_web_time(text_of(one, "reportTime"));
  return {text_of(one, "uuid"), in(training, "trialId"), in(metadata, "steps_completed"),
          in(training, "searcherMetric"),
          // STATE_COMPLETED shows as COMPLETED.
          state.substr(std::string_view("STATE_").size()),
          time.has_value() ? context.time(*time, "-") : "-"};
}

int change_labels(const Words& words, bool is_added) {
  std::uint32_t number = 0;
  std::vector<std::string> labels;
  const std::string name = fmt::format("muster experiment label {}", is_added ? "add" : "remove");
  CommandParser parser(
      is_added ? "Adds labels to an experiment." : "Takes labels away from an experiment.", name);
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_option("LABEL", labels, "one or more").required();
  if (const auto code = parser.parse(words)) return *code;
  const Console console(name);
  UpdateExperiment update;
  update.experiment = ExperimentId(number);
  (is_added ? update.add_labels : update.remove_labels) = labels;
  Session session(console);
  const auto reply = session.submit_one(update);
  if (!reply.has_value()) return console.fail(reply.error());
  return reply->error ? console.fail(*reply->error) : 0;
}

constexpr std::array kLabelVerbs{
    CommandRow{"add", [](const Words& words) { return change_labels(words, true); }, "add some"},
    CommandRow{"remove|rm", [](const Words& words) { return change_labels(words, false); },
               "take some away"}};

}  // namespace

int run_experiment_label(const Words& words) {
  return run_verb("muster experiment label", kLabelVerbs, words);
}

namespace {

/// Requires: one of those that --sort takes.
TrialOrder trial_order_named(const std::string& name) {
  if (name == "metric") return TrialOrder::kMetric;
  return name == "at" ? TrialOrder::kUnits : TrialOrder::kId;
}

}  // namespace

int run_experiment_list_trials(const Words& words) {
  std::uint32_t number = 0;
  bool is_json = false;
  std::string order = "id";
  std::uint32_t top = 0;
  CommandParser parser(
      "Shows the trials of an experiment: what each has reached, and why it waits or stopped.",
      "muster experiment list-trials");
  parser.add_option("EXPERIMENT", number, "its number").required();
  auto sort =
      parser
          .add_option("--sort", order,
                      "id (as they were made), metric (the best first), at (the furthest first)")
          .one_of({"id", "metric", "at"});
  auto limit =
      parser.add_option("--top", top, "so many, the best first unless --sort says otherwise")
          .range(1U, UINT32_MAX);
  parser.add_flag("--json", is_json, "as JSON");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment list-trials");
  Session session(console);
  // JSON is HTTP's answer as it comes.
  if (is_json && sort.count() + limit.count() > 0)
    return console.fail(
        Error{ErrorCode::kInvalidArgument, "--sort and --top order the table", "leave out --json"});
  if (is_json) return print_json(console, session, fmt::format("experiments/{}/trials", number));
  // The first of anything else would be arbitrary.
  if (limit.count() > 0 && sort.count() == 0) order = "metric";
  Query query;
  query.kind = QueryKind::kTrials;
  query.detail = QueryDetail::kFull;
  query.experiments = {ExperimentId(number)};
  const auto page = session.query(query);
  if (!page.has_value()) return console.fail(page.error());
  // For the direction of the metric.
  query.kind = QueryKind::kExperiments;
  query.detail = QueryDetail::kBrief;
  const auto found = session.query(query);
  if (!found.has_value()) return console.fail(found.error());
  const bool smaller_is_better =
      found->experiments.empty() || found->experiments.front().spec->smaller_is_better;
  const std::vector<TrialView> shown =
      ordered_trials(page->trials, trial_order_named(order), smaller_is_better, top);
  const bool is_known = !found->experiments.empty();
  print(trial_table(
      shown, is_known ? metric_curves(session, shown, found->experiments.front().spec->metric)
                      : MetricCurves()));
  return 0;
}

int run_experiment_list_checkpoints(const Words& words) {
  std::uint32_t number = 0;
  std::uint32_t best = 0;
  bool is_json = false;
  CommandParser parser("Shows the checkpoints of an experiment with the searcher's metric.",
                       "muster experiment list-checkpoints");
  parser.add_option("EXPERIMENT", number, "its number").required();
  parser.add_option("--best", best, "so many, the best first").range(1U, UINT32_MAX);
  parser.add_flag("--json", is_json, "as JSON");
  if (const auto code = parser.parse(words)) return *code;
  const Console console("muster experiment list-checkpoints");
  Session session(console);
  std::string path = fmt::format("experiments/{}/checkpoints", number);
  if (best != 0)
    path +=
        fmt::format("?sortByAttr=SORT_BY_SEARCHER_METRIC&states=STATE_COMPLETED&limit={}", best);
  if (is_json) return print_json(console, session, path);
  Web web(session);
  if (const Status open = web.open(); !open.has_value()) return console.fail(open.error());
  const auto found = web.get(path);
  if (!found.has_value()) return console.fail(found.error());
  const ShowContext context = show_context(session.cluster().cluster_name);
  std::vector<Row> rows;
  for (const Json& one : items_of(*found, "checkpoints"))
    rows.push_back(checkpoint_row(one, context));
  print(table_text({"UUID", "TRIAL", "STEPS", "METRIC", "STATE", "REPORTED"}, rows));
  return 0;
}

}  // namespace muster::cli
