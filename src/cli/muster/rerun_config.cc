// The configuration of a rerun: the stored one with everything fixed that was chosen when it ran,
// its seed, its source checkpoint, and for one trial its hyperparameters and length.

#include "cli/muster/rerun_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/json_reader.h"
#include "trials/experiment_text.h"

namespace muster::cli {
namespace {

constexpr std::array<std::string_view, 3> kUnits{"batches", "epochs", "records"};

Json& section(Json& config, const char* name) {
  Json& found = config.member(name);
  if (found.object() == nullptr) found = Json(Json::Object{});
  return found;
}

/// What a single trial keeps of its experiment's searcher.
Json single_searcher(const ExperimentSpec& spec, const TrialView& trial) {
  Json searcher = Json::Object{// Determined's default unit.
                               {"name", "single"},
                               {"metric", spec.metric},
                               {"smaller_is_better", spec.smaller_is_better}};
  const std::string unit = spec.time_metric.empty() ? "batches" : spec.time_metric;
  const bool is_unit = std::ranges::find(kUnits, unit) != kUnits.end();
  // Part of a unit cannot be configured.
  const bool is_counted = is_unit && trial.units >= 1;
  // As much as it trained, rather than as much as it might have.
  if (is_counted && !spec.time_metric.empty()) {
    searcher.member("max_length") = Json::Object{{unit, static_cast<std::int64_t>(trial.units)}};
  } else if (spec.trial_length > 0) {
    searcher.member("max_length") =
        Json::Object{{is_unit ? unit : "batches", static_cast<std::int64_t>(spec.trial_length)}};
  } else if (!spec.time_metric.empty()) {
    searcher.member("time_metric") = spec.time_metric;
  }
  return searcher;
}

}  // namespace

Result<Json> rerun_of(const ExperimentSpec& spec) {
  Json config = TRY(config_with_seed(spec));
  if (Json& searcher = section(config, "searcher");
      searcher.find("source_trial_id") != nullptr && !spec.source_checkpoint.empty()) {
    searcher.member("source_trial_id") = Json();  // that trial may have another checkpoint by now
    searcher.member("source_checkpoint_uuid") = spec.source_checkpoint;
  }
  return config;
}

Result<Json> rerun_of(const ExperimentSpec& spec, const TrialView& trial) {
  Json config = TRY(rerun_of(spec));
  config.member("hyperparameters") = TRY(parse_json(trial.hparams));
  config.member("searcher") = single_searcher(spec, trial);
  // A clone's trial began with a checkpoint of another: so does its rerun.
  if (!trial.source.empty())
    section(config, "searcher").member("source_checkpoint_uuid") = trial.source;
  // The trial's own seed, not one drawn from the experiment's.
  section(config, "reproducibility").member("trial_seed") = static_cast<std::int64_t>(trial.seed);
  return config;
}

}  // namespace muster::cli
