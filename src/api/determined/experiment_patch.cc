// A PATCH says what is to be; the core's request says what changes. Absent fields stay, and
// numbers of which only some are given are filled up from what is known.

#include "api/determined/experiment_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/http/fields.h"
#include "api/http/replies.h"
#include "trials/experiment_form.h"

namespace muster::api {
namespace {

/// A member that is an object; null: it is left out. Errors: kInvalidArgument.
Result<const Json*> section(const Json& body, std::string_view name) {
  const Json* found = field(body, name);
  if (found != nullptr && found->object() == nullptr)
    return fail(wrong(fmt::format("{} is not an object", name)));
  return found;
}

/// A member of `section` that is a whole number of 64 bits. Errors: kInvalidArgument.
Result<std::optional<std::int64_t>> whole_in(const Json& section, std::string_view of,
                                             std::string_view name) {
  const Json* found = field(section, name);
  if (found == nullptr) return std::optional<std::int64_t>();
  const auto value = whole_of(*found);
  if (!value) return fail(wrong(fmt::format("{}.{} is not a whole number", of, name)));
  return value;
}

Status update_resources(const Json& resources, const ExperimentSpec& spec,
                        UpdateExperiment& update) {
  if (const auto priority = TRY(whole_in(resources, "resources", "priority"))) {
    // What is no priority at all is refused with all others that are not.
    update.priority =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(*priority, 0, UINT32_MAX));
  }
  if (const Json* weight = field(resources, "weight")) {
    if (!weight->number()) return fail(wrong("resources.weight is not a number"));
    update.weight = *weight->number();
  }
  if (const auto slots = TRY(whole_in(resources, "resources", "maxSlots"))) {
    if (*slots < 1)
      return fail(ErrorCode::kInvalidArgument, "resources.maxSlots: give a number from 1",
                  "pause the experiment to give it none");
    // max_slots counts slots and a search counts trials: both bounds are set.
    update.max_concurrent = trials_at_once(*slots, spec);
    update.max_slots = static_cast<std::uint32_t>(std::min<std::int64_t>(*slots, UINT32_MAX));
  }
  return {};
}

Result<CheckpointRetention> retention_of(const Json& storage, CheckpointRetention retention) {
  const std::pair<const char*, std::uint32_t*> fields[] = {
      {"saveExperimentBest", &retention.experiment_best},
      {"saveTrialBest", &retention.trial_best},
      {"saveTrialLatest", &retention.trial_latest}};
  for (const auto& [name, out] : fields) {
    const auto value = TRY(whole_in(storage, "checkpointStorage", name));
    if (!value) continue;
    if (*value < 0 || *value > INT32_MAX)
      return fail(wrong(fmt::format("checkpointStorage.{}: give a number from 0", name)));
    *out = static_cast<std::uint32_t>(*value);
  }
  return retention;
}

}  // namespace

Result<UpdateExperiment> experiment_update(const Json& body, ExperimentId id,
                                           const PatchedExperiment& known) {
  UpdateExperiment update;
  update.experiment = id;
  // Types first: text_field() treats a value of another type as absent.
  TRY(check_texts(body, {"name", "description", "notes", "visibility"}));
  TRY(check_text_lists(body, {"labels"}));
  update.name = text_field(body, "name");
  update.description = text_field(body, "description");
  update.notes = text_field(body, "notes");
  // The list replaces all labels: what is known and not in it goes.
  if (const auto labels = texts_field(body, "labels")) {
    update.add_labels = *labels;
    for (const std::string& label : known.labels.labels) {
      if (std::ranges::find(*labels, label) == labels->end()) update.remove_labels.push_back(label);
    }
  }
  // The three numbers are one value of the core's.
  if (const Json* storage = TRY(section(body, "checkpointStorage")))
    update.retention = TRY(retention_of(*storage, known.retention));
  if (const Json* resources = TRY(section(body, "resources")))
    TRY(update_resources(*resources, known.spec, update));
  if (const auto name = text_field(body, "visibility")) {
    update.visibility = visibility_named(*name);
    if (!update.visibility)
      return fail(
          wrong(fmt::format("visibility: '{}' is none of private, project, cluster", *name)));
  }
  return update;
}

}  // namespace muster::api
