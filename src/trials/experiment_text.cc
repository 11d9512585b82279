// The names are Determined's where it has the state; the sentences are for `muster` and for the
// web page, which show the same text.

#include "trials/experiment_text.h"

#include <fmt/format.h>

#include "text/json_reader.h"

namespace muster {
namespace {

std::string ordinal(std::uint32_t number) {
  const std::uint32_t last = number % 10;
  // 11th, 12th and 13th.
  const bool is_teen = number % 100 / 10 == 1;
  return fmt::format("{}{}", number,
                     is_teen || last == 0 || last > 3 ? "th"
                     : last == 1                      ? "st"
                     : last == 2                      ? "nd"
                                                      : "rd");
}

}  // namespace

Result<Json> config_with_seed(const ExperimentSpec& spec) {
  auto config = parse_json(spec.config);
  // The text was accepted once: anything else than an object means a damaged store.
  if (!config.has_value() || config->object() == nullptr)
    return fail(ErrorCode::kCorruption, "the experiment's configuration is no object", "");
  Json& reproducibility = config->member("reproducibility");
  if (reproducibility.object() == nullptr) reproducibility = Json(Json::Object{});
  // The seed that was drawn at submission is written into the configuration, so that a copy of the
  // experiment repeats it.
  Json& seed = reproducibility.member("experiment_seed");
  if (spec.seed != 0)
    seed = static_cast<std::int64_t>(spec.seed);  // 0: of an imported one that names none
  return config;
}

std::string_view experiment_state_name(ExperimentState state) {
  switch (state) {
    case ExperimentState::kActive: return "ACTIVE";
    case ExperimentState::kPaused: return "PAUSED";
    case ExperimentState::kStoppingCanceled: return "STOPPING_CANCELED";
    case ExperimentState::kStoppingKilled: return "STOPPING_KILLED";
    case ExperimentState::kStoppingError: return "STOPPING_ERROR";
    case ExperimentState::kCompleted: return "COMPLETED";
    case ExperimentState::kCanceled: return "CANCELED";
    case ExperimentState::kError: return "ERROR";
    case ExperimentState::kDeleting: return "DELETING";
    case ExperimentState::kDeleteFailed: return "DELETE_FAILED";
  }
  return "";
}

std::string_view trial_state_name(TrialState state) {
  switch (state) {
    case TrialState::kActive: return "ACTIVE";
    case TrialState::kCompleted: return "COMPLETED";
    case TrialState::kCanceled: return "CANCELED";
    case TrialState::kError: return "ERROR";
  }
  return "";
}

std::string_view stop_call_name(StopCall call) {
  switch (call) {
    case StopCall::kPreempt: return "preempt";
    case StopCall::kPause: return "pause";
    case StopCall::kRung: return "rung";
    case StopCall::kSearch: return "search";
    case StopCall::kCancel: return "cancel";
  }
  return "";
}

std::string stop_reason_text(const StopReason& reason) {
  // kRungCut has its own sentence below, with numbers that no other cause has.
  switch (reason.cause) {
    case StopCause::kTrained: return "trained in full";
    case StopCause::kReplaced:
      return fmt::format("replaced by a copy of a better one: {} of {}", ordinal(reason.rank + 1),
                         reason.count);
    case StopCause::kSearchOver: return "the search is over";
    case StopCause::kClosed: return "closed by its search";
    case StopCause::kRungCut: break;
  }
  return fmt::format("cut at rung {}: {} of {}, the best {} {} on", reason.rung,
                     ordinal(reason.rank + 1), reason.count, reason.cut,
                     reason.cut == 1 ? "goes" : "go");
}

std::string trial_end_text(const TrialView& trial) {
  if (trial.state == TrialState::kActive) return "";
  // The most specific reason comes first: a search's own, a message of the run, the state.
  if (trial.stop) return stop_reason_text(*trial.stop);
  if (!trial.detail.empty()) return trial.detail;
  if (trial.state == TrialState::kCanceled) return "cancelled";
  if (trial.state == TrialState::kError) return "failed";
  if (trial.target) return fmt::format("ended at {:.6g} of {}", trial.units, *trial.target);
  return trial.metric ? fmt::format("ended by itself at {:.6g}", trial.units)
                      : "ended by itself, without a report";
}

}  // namespace muster
