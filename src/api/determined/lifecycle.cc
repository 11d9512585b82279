// Experiments after their end: continued, deleted, and what of their checkpoints goes.
// Continuing and deleting are the core's to decide: here are only their words. What another
// retention would delete is worked out from the same rules as the deletion itself, on measured
// values.
#include <fmt/format.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "api/determined/checkpoint_json.h"
#include "api/determined/experiment_json.h"
#include "api/determined/names.h"
#include "api/determined/submissions.h"
#include "api/determined/trial_json.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "gateway/collector.h"
#include "platform/requests/collection.h"
#include "trials/checkpoint_text.h"

namespace muster::api {
namespace {

kj::Promise<HttpReply> continue_experiment(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const auto id = id_field(*body, "id");
  if (!id.has_value()) return error_reply(id.error());
  if (!*id) return error_reply(wrong("id: which experiment?"));
  // Over the configuration with which it ran.
  if (const Status text = check_texts(*body, {"overrideConfig"}); !text.has_value())
    return error_reply(text.error());
  ContinueExperiment more{ExperimentId(**id), text_field(*body, "overrideConfig").value_or("")};
  return submit_one(port, request.caller, more)
      .then([&port, caller = request.caller,
             id = more.experiment](HttpReply reply) -> kj::Promise<HttpReply> {
        if (reply.status != 200) return reply;
        return show_experiment(port, caller, id);
      });
}

kj::Promise<HttpReply> delete_experiment(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "an experiment");
  if (!id.has_value()) return error_reply(id.error());
  return submit_one(port, request.caller,
                    ControlExperiments{ExperimentVerb::kDelete, {ExperimentId(*id)}});
}

struct Preview {
  RatingTask task;
  std::vector<CheckpointDetails> details;  ///< of each of the task's checkpoints
  std::vector<bool> is_needed;             ///< of each: it stays, whatever is kept beside it
};

Result<CheckpointRetention> retention_of(const HttpRequest& request) {
  const auto number = [&](std::string_view name) -> Result<std::uint32_t> {
    const std::int64_t value = TRY(number_parameter(request, name, 0));
    if (value < 0 || value > INT32_MAX)
      return fail(wrong(fmt::format("{}: give a number from 0", name)));
    return static_cast<std::uint32_t>(value);
  };
  CheckpointRetention retention;
  retention.experiment_best = TRY(number("save_experiment_best"));
  retention.trial_best = TRY(number("save_trial_best"));
  retention.trial_latest = TRY(number("save_trial_latest"));
  return retention;
}

Json preview_json(const CheckpointDetails& details) {
  const Checkpoint& one = details.checkpoint;
  Json row =
      Json::Object{{"UUID", one.uuid},
                   {"TrialID", one.trial.value()},
                   {"StepsCompleted", one.steps_completed},
                   {"State", std::string(checkpoint_state_name(one.state))},
                   {"ReportTime", time_json(one.report_time)},
                   {"Resources", resources_json(one)},
                   {"ValidationMetrics",
                    details.validation ? metrics_json(*details.validation) : Json(Json::Object{})}};
  if (details.validation)
    row.member("step") =
        Json::Object{{"validation", Json::Object{{"metrics", metrics_json(*details.validation)}}}};
  return row;
}

/// With what was measured at each of its checkpoints.
kj::Promise<Result<Preview>> rated(ApiPort& port, Preview preview) {
  // One trip to the store for ratings and for what is shown.
  std::vector<MetricQuestion> questions = rating_questions(preview.task);
  for (const CheckpointDetails& one : preview.details) add_questions(one, questions);
  return port.measure(std::move(questions))
      .then(
          [preview = std::move(preview)](Result<MetricAnswers> answers) mutable -> Result<Preview> {
            if (!answers.has_value()) return fail(answers.error());
            fill_in_ratings(preview.task, *answers);
            for (CheckpointDetails& one : preview.details) fill_in(one, *answers);
            return std::move(preview);
          });
}

/// Which checkpoints another retention would delete.
kj::Promise<HttpReply> preview_collection(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "an experiment");
  const auto retention = retention_of(request);
  // Both are read before either is refused: the first mistake is enough.
  if (!id.has_value()) return error_reply(id.error());
  if (!retention.has_value()) return error_reply(retention.error());
  return look<Preview>(
             port, request.caller,
             [id = ExperimentId(*id),
              identity = request.caller.identity](const ClusterState& state) -> Result<Preview> {
               const Experiment* experiment = state.experiments().find(id);
               if (experiment == nullptr)
                 return fail(ErrorCode::kNotFound,
                             fmt::format("there is no experiment {}", id.value()), "");
               // Readers of the experiment alone: names of files are in it.
               TRY(access::check_readable(state, *experiment, identity));
               Preview preview{rating_task(state, *experiment), {}, {}};
               const requests::ProtectedCheckpoints kept(state);
               for (const RatedCheckpoint& one : preview.task.checkpoints) {
                 preview.details.push_back(TRY(details_of(state, one.uuid)));
                 preview.is_needed.push_back(
                     kept.needed_elsewhere(preview.details.back().checkpoint).has_value());
               }
               return preview;
             })
      .then([&port, retention = *retention](Result<Preview> preview) -> kj::Promise<HttpReply> {
        if (!preview.has_value()) return error_reply(preview.error());
        return rated(port, std::move(preview).value())
            .then([retention](Result<Preview> full) -> HttpReply {
              if (!full.has_value()) return error_reply(full.error());
              // What the same rules would delete that delete in truth.
              Json::Array rows;
              // Whole objects, as the page shows what would be lost.
              for (const std::string& uuid :
                   unretained(full->task.checkpoints, retention, full->task.smaller_is_better)) {
                const auto found = std::ranges::find(
                    full->details, uuid,
                    [](const CheckpointDetails& one) { return one.checkpoint.uuid; });
                if (!full->is_needed[static_cast<std::size_t>(found - full->details.begin())])
                  rows.push_back(preview_json(*found));
              }
              return json_reply(Json::Object{{"checkpoints", std::move(rows)},
                                             {"metric_name", full->task.metric}});
            });
      });
}

kj::Promise<HttpReply> delete_checkpoints(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  if (const Status list = check_text_lists(*body, {"checkpointUuids"}); !list.has_value())
    return error_reply(list.error());
  const auto uuids = texts_field(*body, "checkpointUuids");
  if (!uuids) return error_reply(wrong("checkpointUuids: a list is missing"));
  return submit_one(port, request.caller, DeleteCheckpoints{*uuids});
}

}  // namespace

void add_lifecycle_routes(Router& router) {
  router.add(Method::kPost, "/api/v1/experiments/continue", "Continue an experiment that has ended",
             continue_experiment);
  router.add(Method::kDelete, "/api/v1/experiments/{experiment}",
             "Delete an experiment with all that is stored of it", delete_experiment);
  router.add(Method::kGet, "/experiments/{experiment}/preview_gc",
             "Checkpoints that another retention would delete", preview_collection,
             {"save_experiment_best", "save_trial_best", "save_trial_latest"});
  router.add(Method::kDelete, "/api/v1/checkpoints", "Delete checkpoints", delete_checkpoints);
}

}  // namespace muster::api
