// The queue as experiments stand in it. Source: Determined 0.38, job queue.
// Experiments stand for the jobs of their trials: the list is of those that have trials left, and
// a change is a change of the experiment, not of a place in Slurm's queue.
#include <fmt/format.h>

#include <algorithm>

#include "api/determined/experiment_json.h"
#include "api/determined/names.h"
#include "api/determined/submissions.h"
#include "api/determined/workspace_ids.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "state/views.h"

namespace muster::api {
namespace {

// One that has a trial that runs counts as scheduled, though more of its trials wait.
std::string queue_state(const ClusterState& state, const Experiment& experiment) {
  return view_of(experiment, state, QueryDetail::kBrief).trials.running > 0 ? "STATE_SCHEDULED"
                                                                            : "STATE_QUEUED";
}

/// An experiment in the queue, as Determined shows it: the trials that run or wait.
Json queued_json(const ClusterState& state, const Experiment& experiment) {
  const ExperimentView view = view_of(experiment, state, QueryDetail::kFull);
  const std::uint32_t slots = experiment.spec->slots_per_trial;
  Json full = Json::Object{
      {"jobId", std::to_string(experiment.id.value())},
      {"entityId", std::to_string(experiment.id.value())},
      {"type", "TYPE_EXPERIMENT"},
      {"name", experiment.labels.name},
      {"username", experiment.spec->user_name},
      {"userId", user_number(experiment.spec->user)},
      {"submissionTime", time_json(experiment.submit_time)},
      {"resourcePool", pool_of(state, *experiment.spec)},
      // Trials save a checkpoint and go on later: preemptible in Determined's sense.
      {"isPreemptible", true},
      {"priority", experiment.share.priority},
      {"weight", experiment.share.weight},
      // Slots of what runs and of what waits: what the experiment still asks for.
      {"requestedSlots", slots * (view.trials.running + view.trials.queued)},
      {"allocatedSlots", slots * view.trials.running},
      {"progress", experiment.progress},
      {"workspaceId", workspace_ids_of(state.catalog(), experiment.labels).workspace},
      // jobsAhead is not counted: it would be the planner's to say.
      {"summary", Json::Object{{"state", queue_state(state, experiment)}, {"jobsAhead", 0}}}};
  return Json::Object{{"full", std::move(full)}};
}

/// Whether its trials run (or wait), as the request asks for.
bool is_wanted(const HttpRequest& request, const std::vector<std::string>& states,
               const ClusterState& state, const Experiment& experiment) {
  const std::string_view pool = request.parameter("resourcePool");
  if (!pool.empty() && pool != pool_of(state, *experiment.spec)) return false;
  // A state that is not named lets everything through.
  return states.empty() ||
         std::ranges::find(states, queue_state(state, experiment)) != states.end();
}

kj::Promise<HttpReply> queue(ApiPort& port, HttpRequest request) {
  return look<std::vector<Json>>(
             port, request.caller,
             [request](const ClusterState& state) -> Result<std::vector<Json>> {
               std::vector<Json> all;
               const auto states =
                   TRY(words_parameter(request, "states",
                                       {"STATE_UNSPECIFIED", "STATE_QUEUED", "STATE_SCHEDULED",
                                        "STATE_SCHEDULED_BACKFILLED"}));
               for (const auto& [id, experiment] : state.experiments().experiments()) {
                 if (experiment.open_trials > 0 && is_wanted(request, states, state, experiment))
                   all.push_back(queued_json(state, experiment));
               }
               return all;
             })
      .then([request](Result<std::vector<Json>> all) -> HttpReply {
        if (!all.has_value()) return error_reply(all.error());
        if (const Status sorted = sort_list<Json>(request, *all, {}); !sorted.has_value())
          return error_reply(sorted.error());
        return list_reply(request, "jobs", *all, [](const Json& job) { return job; });
      });
}

/// One change of an experiment's place. Errors: kUnimplemented for what experiments have not.
Result<UpdateExperiment> update_of(const Json& change) {
  UpdateExperiment update;
  const std::string job = text_field(change, "jobId").value_or("");
  update.experiment = ExperimentId(TRY(parse_id(job, "a job")));
  for (const char* name : {"resourcePool", "aheadOf", "behindOf"}) {
    if (const Json* value = field(change, name); value != nullptr && !value->is_null()) {
      return fail(ErrorCode::kUnimplemented,
                  fmt::format("{} of an experiment cannot be changed", name),
                  "give it a priority or a weight");
    }
  }
  // Beyond the numbers that are priorities the core refuses it.
  if (const Json* said = field(change, "priority")) {
    const auto priority = whole_of(*said);
    if (!priority) return fail(wrong("priority is not a whole number"));
    update.priority =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(*priority, 0, UINT32_MAX));
  }
  if (const Json* weight = field(change, "weight")) {
    if (!weight->number()) return fail(wrong("weight is not a number"));
    update.weight = weight->number();
  }
  return update;
}

/// The first of the refusals; of several changes it says which was refused.
std::optional<Error> first_refusal(const std::vector<ExperimentId>& changed,
                                   const Refusals& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i]) continue;
    Error error = *answers[i];
    if (changed.size() > 1)
      error.message = fmt::format("job {}: {}", changed[i].value(), error.message);
    return error;
  }
  return std::nullopt;
}

/// Each change by itself: one that is refused keeps none of the others back. What cannot be read is
/// refused with all of them.
kj::Promise<HttpReply> update_queue(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const Json* list = field(*body, "updates");
  if (list == nullptr || list->array() == nullptr)
    return error_reply(wrong("updates: a list is missing"));
  if (const Status size = check_list_size(list->array()->size(), "updates"); !size.has_value())
    return error_reply(size.error());
  std::vector<Request> updates;
  std::vector<ExperimentId> changed;
  for (const Json& change : *list->array()) {
    auto update = update_of(change);
    if (!update.has_value()) return error_reply(update.error());
    changed.push_back(update->experiment);
    updates.emplace_back(std::move(update).value());
  }
  return submit_each(port, request.caller, std::move(updates))
      .then([changed = std::move(changed)](const Refusals& answers) {
        return done_or(first_refusal(changed, answers));
      });
}

}  // namespace

void add_queue_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/job-queues-v2", "Experiments with trials that run or wait",
             queue, list_parameters({"resourcePool", "states", "orderBy"}));
  router.add(Method::kPost, "/api/v1/job-queues", "Change priority or weight of experiments",
             update_queue);
}

}  // namespace muster::api
