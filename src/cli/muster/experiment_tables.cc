// Texts of experiments and trials for people. Names, notes and logs are whatever users wrote: each
// text passes printable_lines or table_text before it reaches a terminal.

#include "cli/muster/experiment_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "cli/lib/text_table.h"
#include "model/reason.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/printable_text.h"
#include "trials/experiment_text.h"

namespace muster::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.0f}%", share * 100); }

/// As many digits as tell trials apart; `muster trial describe` has them all.
void shorten(Json& value) {
  if (Json::Object* object = value.object()) {
    for (Json::Member& member : *object) shorten(member.value);
  } else if (Json::Array* items = value.array()) {
    for (Json& item : *items) shorten(item);
  } else if (const auto number = value.number();
             number && value.whole() == nullptr && std::isfinite(*number)) {
    // Through text, as rounding in decimal is wanted.
    value = Json(std::strtod(fmt::format("{:.5g}", *number).c_str(), nullptr));
  }
}

/// "lr: 0.1, net: {depth: 3}": the object without its braces and quotes of names, cut where it is
/// long.
std::string hparams_text(const std::string& json) {
  constexpr std::size_t kMost = 60;
  auto parsed = parse_json(json);
  if (parsed.has_value()) shorten(*parsed);
  std::string text = parsed.has_value() ? json_text(*parsed) : json;
  text = text.size() > 2 ? text.substr(1, text.size() - 2) : "";
  std::erase(text, '"');
  if (text.size() > kMost) text = text.substr(0, kMost - 3) + "...";
  return text;
}

std::string why(const TrialView& trial) {
  // The order is that of importance: how it ended, why it stops, what its code said.
  if (trial.state != TrialState::kActive) return trial_end_text(trial);
  if (trial.stop) return stop_reason_text(*trial.stop);
  if (!trial.detail.empty()) return trial.detail;
  if (trial.is_waiting) return fmt::format("waits at {}", trial.target.value_or(0));
  if (trial.job_state != JobState::kPending) return "";
  // As squeue has it; `muster why` says more.
  return fmt::format("({})", pending_reason_word(trial.job_reason));
}

std::string counts_text(const TrialCounts& trials) {
  std::string text;
  const auto add = [&](std::uint32_t count, const char* word) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  };
  add(trials.running, "running");
  add(trials.queued, "queued");
  add(trials.waiting, "waiting");
  add(trials.completed, "completed");
  add(trials.canceled, "canceled");
  add(trials.errored, "failed");
  return text.empty() ? "no trials yet" : text;
}

}  // namespace

std::string trial_condition(const TrialView& trial) {
  if (trial.state != TrialState::kActive) return std::string(trial_state_name(trial.state));
  if (trial.stopping) return "STOPPING";
  if (trial.job_state == JobState::kRunning || trial.job_state == JobState::kSuspended)
    return std::string(job_state_name(trial.job_state));
  if (trial.job_reason == PendingReason::kJobHeldUser || trial.is_waiting) return "WAITING";
  // Neither pending nor running: the job has ended and the trial's state follows.
  return trial.job_state == JobState::kPending ? "QUEUED" : "ENDING";
}

std::string experiment_table(const std::vector<ExperimentView>& experiments,
                             const ShowContext& context) {
  std::vector<Row> rows;
  for (const ExperimentView& one : experiments) {
    rows.push_back({std::to_string(one.id.value()), one.labels.name, one.spec->user_name,
                    std::string(experiment_state_name(one.state)), percent(one.progress),
                    one.spec->searcher, std::to_string(one.trials.total()),
                    one.best_trial.value() == 0 ? "-" : fmt::format("{:.6g}", one.best_metric),
                    context.time(one.submit_time, "-")});
  }
  return table_text(
      {"ID", "NAME", "USER", "STATE", "DONE", "SEARCHER", "TRIALS", "BEST", "SUBMITTED"}, rows,
      terminal_paint());
}

namespace {

/// What it has used, where there is a limit to it.
std::string budget_text(const ExperimentView& experiment) {
  const ExperimentBudget& budget = experiment.spec->budget;
  // Times are in microseconds.
  constexpr double kHour = 3600e6;
  std::string text;
  if (budget.slot_time != Duration()) {
    text += fmt::format("  Used: {:.3g} of {:g} GPU-hours\n",
                        static_cast<double>(experiment.used_slot_time.microseconds()) / kHour,
                        static_cast<double>(budget.slot_time.microseconds()) / kHour);
  }
  if (budget.wall_time != Duration())
    text += fmt::format("  At most: {:g} hours\n",
                        static_cast<double>(budget.wall_time.microseconds()) / kHour);
  return text;
}

/// Lines after the first stand below it.
std::string indented(std::string_view text) {
  std::string out;
  for (const char c : text) {
    // Notes are of several lines, and of whatever bytes their author chose.
    if (c == '\n') {
      out += "\n    ";
    } else {
      out += c == '\t' || static_cast<unsigned char>(c) >= 0x20 ? c : ' ';
    }
  }
  return out;
}

}  // namespace

std::string experiment_text(const ExperimentView& experiment, const ShowContext& context) {
  std::string text =
      fmt::format("Experiment {} ({}) of {}: {}, {} done\n", experiment.id.value(),
                  experiment.labels.name, experiment.spec->user_name,
                  experiment_state_name(experiment.state), percent(experiment.progress));
  if (!experiment.detail.empty()) text += fmt::format("  {}\n", experiment.detail);
  if (!experiment.labels.description.empty())
    text += fmt::format("  {}\n", indented(experiment.labels.description));
  if (!experiment.labels.notes.empty())
    text += fmt::format("  Notes: {}\n", indented(experiment.labels.notes));
  if (!experiment.labels.labels.empty())
    text += fmt::format("  Labels: {}\n", fmt::join(experiment.labels.labels, ", "));
  text +=
      fmt::format("  Search: {}, {} in {} is better\n", experiment.spec->searcher,
                  experiment.spec->smaller_is_better ? "less" : "more", experiment.spec->metric);
  text += fmt::format("  Trials: {}\n", counts_text(experiment.trials));
  if (experiment.best_trial.value() != 0) {
    text += fmt::format("  Best: {:.6g} by trial {}\n", experiment.best_metric,
                        experiment.best_trial.value());
  }
  if (experiment.spec->parent.value() != 0)
    text += fmt::format("  Forked from: experiment {}\n", experiment.spec->parent.value());
  text += budget_text(experiment);
  text += fmt::format("  Submitted: {}", context.time(experiment.submit_time, "-"));
  if (experiment.end_time.is_set())
    text += fmt::format(", ended: {}", context.time(experiment.end_time, "-"));
  text += fmt::format("\n  Readers: {}\n",
                      kVisibilityNames[static_cast<std::size_t>(experiment.labels.visibility)]);
  if (!experiment.spec->run_folder.empty())
    text += fmt::format("  Folder: {}\n", experiment.spec->run_folder);
  return printable_lines(text);
}

std::string trial_table(const std::vector<TrialView>& trials, const MetricCurves& curves) {
  const auto curve_of = [&](TrialId id) {
    const auto found = curves.find(id);
    return found == curves.end() ? "" : found->second;
  };
  Row headings{"TRIAL", "JOB", "STATE", "RUNS", "METRIC", "AT", "BEST", "HYPERPARAMETERS", "WHY"};
  // By its heading, so that a new column does not move the curve.
  const auto place = static_cast<std::ptrdiff_t>(std::ranges::find(headings, "HYPERPARAMETERS") -
                                                 headings.begin());
  if (!curves.empty()) headings.insert(headings.begin() + place, "CURVE");
  std::vector<Row> rows;
  for (const TrialView& trial : trials) {
    rows.push_back({std::to_string(trial.id.value()), std::to_string(trial.job.value()),
                    trial_condition(trial), std::to_string(trial.runs),
                    trial.metric ? fmt::format("{:.6g}", *trial.metric) : "-",
                    trial.metric ? fmt::format("{:g}", trial.units) : "-",
                    trial.best_metric ? fmt::format("{:.6g}", *trial.best_metric) : "-",
                    hparams_text(trial.hparams), why(trial)});
    if (!curves.empty()) rows.back().insert(rows.back().begin() + place, curve_of(trial.id));
  }
  return table_text(headings, rows, terminal_paint());
}

std::vector<TrialView> ordered_trials(std::vector<TrialView> trials, TrialOrder order,
                                      bool smaller_is_better, std::size_t top) {
  // NaN is no better than nothing.
  const auto rank = [&](const TrialView& trial) {
    const bool has_metric = trial.best_metric && !std::isnan(*trial.best_metric);
    double value = 0;
    if (order == TrialOrder::kMetric && has_metric)
      value = smaller_is_better ? *trial.best_metric : -*trial.best_metric;
    if (order == TrialOrder::kUnits) value = -trial.units;
    // Those without a metric come last, whichever direction is better; ties by id.
    return std::tuple(order == TrialOrder::kMetric && !has_metric, value, trial.id);
  };
  std::ranges::sort(trials, {}, rank);
  if (top != 0 && trials.size() > top) trials.resize(top);
  return trials;
}

std::string trial_text(const TrialView& trial, const ShowContext& context,
                       const MetricCurves& curves) {
  std::string text =
      fmt::format("Trial {} of experiment {}: {}, job {}, run {}", trial.id.value(),
                  trial.experiment.value(), trial_condition(trial), trial.job.value(), trial.runs);
  text += trial.restarts > 0 ? fmt::format(", {} restarts\n", trial.restarts) : "\n";
  if (const std::string reason = why(trial); !reason.empty()) text += fmt::format("  {}\n", reason);
  text += fmt::format("  Hyperparameters: {}\n  Slots: {}\n", trial.hparams, trial.slots);
  const auto curve = curves.find(trial.id);
  if (trial.metric)
    text += fmt::format("  Metric: {:.6g} at {:g}{}\n", *trial.metric, trial.units,
                        curve == curves.end() ? "" : "  " + curve->second);
  if (trial.best_metric) text += fmt::format("  Best: {:.6g}\n", *trial.best_metric);
  text += fmt::format("  Submitted: {}", context.time(trial.submit_time, "-"));
  if (trial.end_time.is_set())
    text += fmt::format(", ended: {}", context.time(trial.end_time, "-"));
  text += trial.folder.empty() ? "\n" : fmt::format("\n  Folder: {}\n", trial.folder);
  if (trial.checkpoints > 0)
    text += fmt::format("  Checkpoints: {}, the latest {}\n", trial.checkpoints,
                        trial.latest_checkpoint);
  if (trial.log_retention_days >= 0)
    text += fmt::format("  Logs are kept for {} days after the experiment's end\n",
                        trial.log_retention_days);
  for (const LogMatch& match : trial.log_matches) {
    constexpr std::array kActions{"labels the run", "forbids another try", "excludes the node"};
    text += fmt::format("  Log policy \"{}\" {}: run {} on {} wrote: {}\n", match.policy,
                        kActions[static_cast<std::size_t>(match.action)], match.run, match.node,
                        match.line);
  }
  return printable_lines(text);
}

std::string progress_line(const ExperimentView& experiment) {
  std::string line = fmt::format("{} {:>4}  {}", experiment_state_name(experiment.state),
                                 percent(experiment.progress), counts_text(experiment.trials));
  if (experiment.best_trial.value() != 0) {
    line += fmt::format("; best {} {:.6g} (trial {})", printable(experiment.spec->metric),
                        experiment.best_metric, experiment.best_trial.value());
  }
  return line;
}

}  // namespace muster::cli
