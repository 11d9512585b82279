#include "tests/controller_scenario/fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/slurm/record_text.h"
#include "slurm/time_text.h"
#include "state/views.h"
#include "tests/scenario_text.h"
#include "text/time_zone.h"
#include "text/words.h"
#include "trials/experiment_text.h"

namespace muster::scenario {
namespace {

const FixedZone kUtc;

cli::ShowContext context_at(TimePoint now) {
  cli::ShowContext context;
  context.now = now;
  context.zone = &kUtc;
  context.cluster = "muster";
  return context;
}

/// Where the key of a word ends: at "=", after letters and what scontrol's keys have beside them.
std::size_t key_end(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  const bool is_key = std::ranges::all_of(word.substr(0, equals), [](char c) {
    const char low = to_lower(c);
    return (low >= 'a' && low <= 'z') || c == '/' || c == ':' || c == '_';
  });
  return is_key ? equals : 0;
}

std::string number_text(double value) { return fmt::format("{}", value); }
std::string number_text(const std::optional<double>& value) {
  return value ? number_text(*value) : "none";
}
std::string yes_no(bool value) { return value ? "yes" : "no"; }

}  // namespace

Fields fields_of_record(std::string_view record) {
  Fields fields;
  for (const std::string_view line : split(record, '\n')) {
    std::string* last = nullptr;
    for (const std::string_view word : split_words(line, ' ')) {
      const std::size_t end = key_end(word);
      if (end == 0 && last == nullptr) continue;
      if (end == 0) {
        *last += fmt::format(" {}", word);
        continue;
      }
      const auto [place, is_new] = fields.try_emplace(std::string(word.substr(0, end)));
      last = &place->second;
      *last += fmt::format("{}{}", is_new ? "" : ";", word.substr(end + 1));
    }
  }
  return fields;
}

Fields job_fields(const JobView& job, TimePoint now) {
  return fields_of_record(cli::job_record(job, context_at(now), true, false));
}

Fields step_fields(const StepView& step, TimePoint now) {
  Fields fields = fields_of_record(cli::step_record(step, context_at(now), false));
  fields["ExitCode"] = fmt::format("{}:{}", step.exit.code(), step.exit.signal());
  return fields;
}

Fields node_fields(const World& world, NodeIndex node) {
  NodeView view = view_of(node, world.state());
  view.last_contact = world.now();
  if (const PlanReport* report = world.report()) {
    view.is_planned = std::ranges::binary_search(report->planned_nodes, node);
  }
  Fields fields = fields_of_record(cli::node_record(view, context_at(world.now()), true, false));
  fields["Reason"] = view.status.reason.empty() ? "none" : view.status.reason;
  return fields;
}

Fields partition_fields(const World& world, const PartitionConfig& partition) {
  return fields_of_record(cli::partition_record(view_of(partition, world.state()), false));
}

Fields experiment_fields(const World& world, const Experiment& experiment) {
  const ExperimentView view = view_of(experiment, world.state(), QueryDetail::kFull);
  return {{"state", std::string(experiment_state_name(view.state))},
          {"name", view.labels.name},
          {"archived", yes_no(view.labels.is_archived)},
          {"detail", view.detail.empty() ? "none" : view.detail},
          {"progress", number_text(view.progress)},
          {"trials", std::to_string(view.trials.total())},
          {"queued", std::to_string(view.trials.queued)},
          {"running", std::to_string(view.trials.running)},
          {"waiting", std::to_string(view.trials.waiting)},
          {"completed", std::to_string(view.trials.completed)},
          {"canceled", std::to_string(view.trials.canceled)},
          {"errored", std::to_string(view.trials.errored)},
          {"best_trial", std::to_string(view.best_trial.value())},
          {"best_metric", number_text(view.best_metric)}};
}

Fields trial_fields(const World& world, const Trial& trial) {
  const TrialView view = view_of(trial, world.state());
  return {{"state", std::string(trial_state_name(view.state))},
          {"job", std::to_string(view.job.value())},
          {"job_state", std::string(job_state_name(view.job_state))},
          {"runs", std::to_string(view.runs)},
          {"restarts", std::to_string(view.restarts)},
          {"metric", number_text(view.metric)},
          {"best", number_text(view.best_metric)},
          {"units", number_text(view.units)},
          {"target", view.target ? std::to_string(*view.target) : "none"},
          {"waiting", yes_no(view.is_waiting)},
          {"stop", view.stop ? stop_reason_text(*view.stop) : "none"},
          {"stopping", view.stopping ? std::string(stop_call_name(*view.stopping)) : "none"},
          {"detail", view.detail.empty() ? "none" : view.detail},
          {"checkpoints", std::to_string(view.checkpoints)},
          {"latest", view.latest_checkpoint.empty() ? "none" : view.latest_checkpoint},
          {"source", view.source.empty() ? "none" : view.source},
          {"hparams", view.hparams}};
}

Fields checkpoint_fields(const Checkpoint& checkpoint) {
  static constexpr std::string_view kStates[] = {"ACTIVE", "COMPLETED", "ERROR", "DELETED",
                                                 "PARTIALLY_DELETED"};
  return {{"state", std::string(kStates[static_cast<std::size_t>(checkpoint.state)])},
          {"trial", std::to_string(checkpoint.trial.value())},
          {"run", std::to_string(checkpoint.run)},
          {"steps", std::to_string(checkpoint.steps_completed)}};
}

std::string wanted_text(const std::string& wanted) {
  std::int64_t seconds = 0;
  if (!wanted.starts_with('@') || !read_number(std::string_view(wanted).substr(1), seconds))
    return wanted;
  return iso_time_text(testing::at(seconds), kUtc);
}

bool is_as_wanted(const std::string& wanted, const std::string& found) {
  if (wanted.starts_with('~')) return found.find(wanted.substr(1)) != std::string::npos;
  if (wanted.starts_with('!')) return wanted_text(wanted.substr(1)) != found;
  return wanted_text(wanted) == found;
}

}  // namespace muster::scenario
