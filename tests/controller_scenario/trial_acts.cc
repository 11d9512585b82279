// What the scripts of trials tell the controller.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "tests/controller_scenario/acts.h"

namespace muster::scenario {
namespace {

tl::unexpected<Error> wrong_report(const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, what);
}

Result<double> read_metric(const std::string& text) {
  if (text == "nan") return std::nan("");
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return wrong_report(text + " is no number");
  return value;
}

/// The run that speaks: the present one unless `run` says another.
std::uint32_t run_of(const World& world, const Trial& trial, const Options& options) {
  const Job* job = world.state().jobs().find(trial.job);
  return options.count("run", job == nullptr ? 0 : run_number(*job));
}

Result<Request> read_report(const World& world, const Trial& trial, const Options& options) {
  ReportTrial report;
  report.trial = trial.id;
  report.run = run_of(world, trial, options);
  report.steps = options.count("steps");
  for (const auto& [key, value] : options.all()) {
    if (key == "run" || key == "steps" || key == "by") continue;
    const double number = TRY(read_metric(value));
    report.metrics.push_back({key, number});
  }
  return Request(std::move(report));
}

Result<Request> read_checkpoint(const World& world, const Trial& trial, const Options& options) {
  const std::string state = options.get("state", "completed");
  Checkpoint checkpoint;
  checkpoint.uuid = options.name(2);
  checkpoint.trial = trial.id;
  checkpoint.run = run_of(world, trial, options);
  checkpoint.steps_completed = options.count("steps");
  checkpoint.state = state == "active" ? CheckpointState::kActive : CheckpointState::kCompleted;
  checkpoint.metadata = checkpoint.resources = "{}";
  if (checkpoint.uuid.empty()) return wrong_report("trial NUMBER checkpoint UUID");
  return Request(RecordCheckpoint{std::move(checkpoint), false});
}

Result<Request> read_word(const World& world, const Trial& trial, const Options& options) {
  const std::string& verb = options.name(1);
  if (verb == "reports") return read_report(world, trial, options);
  if (verb == "checkpoint") return read_checkpoint(world, trial, options);
  const std::uint32_t run = run_of(world, trial, options);
  if (verb == "invalid") return Request(FlagTrial{trial.id, run});
  if (verb == "session") return Request(RecordRun{trial.id, run, RunSignal::kSession});
  if (verb == "acknowledges")
    return Request(RecordRun{trial.id, run, RunSignal::kStopAcknowledged});
  return wrong_report("unknown word " + verb);
}

}  // namespace

Status act_trial(World& world, const Options& options) {
  std::int64_t number = 0;
  if (!read_number(options.name(0), number)) return wrong_report("trial NUMBER VERB");
  const TrialId id(static_cast<std::uint32_t>(number));
  const Trial* trial = world.state().experiments().find(id);
  if (trial == nullptr) return wrong_report("no trial " + options.name(0));
  const Experiment& experiment = *world.state().experiments().find(trial->experiment);
  const User* user = find_user(options.get("by", experiment.spec->user_name));
  if (user == nullptr) return wrong_report("nobody has that name");
  Request request = TRY(read_word(world, *trial, options));
  world.ask(std::move(request), *user);
  return {};
}

}  // namespace muster::scenario
