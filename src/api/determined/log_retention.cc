// For how long the logs of trials are kept: asked and set.
// The request says days of the logs themselves; when an experiment ended, and whether the logs of
// one trial are kept longer, is known by the core.
#include "platform/rules/log_retention.h"

#include <fmt/format.h>

#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"

namespace muster::api {
namespace {

/// Errors: kInvalidArgument: the body has no numDays.
Result<std::int32_t> days_of(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  const auto days = whole_field(body, "numDays");
  if (!days || *days < INT32_MIN || *days > INT32_MAX)
    return fail(wrong("numDays: give a number of days, -1 for ever"));
  return static_cast<std::int32_t>(*days);
}

/// Of an experiment, or of one trial.
kj::Promise<HttpReply> retain(ApiPort& port, HttpRequest request, bool is_trial) {
  const auto id = parse_id(request.arguments[0], is_trial ? "a trial" : "an experiment");
  if (!id.has_value()) return error_reply(id.error());
  const auto days = days_of(request);
  if (!days.has_value()) return error_reply(days.error());
  SetLogRetention set{ExperimentId(is_trial ? 0 : *id), TrialId(is_trial ? *id : 0), *days};
  return submit_one(port, request.caller, set);
}

/// Each experiment by itself: one that is refused keeps none of the others back.
kj::Promise<HttpReply> retain_many(ApiPort& port, HttpRequest request) {
  const auto days = days_of(request);
  if (!days.has_value()) return error_reply(days.error());
  // It was parsed for the days already, and is an object.
  const Json body = *body_of(request);
  if (const Status plain =
          refuse_fields(body, {"filters"}, "name the experiments in experimentIds");
      !plain.has_value())
    return error_reply(plain.error());
  const auto ids = ids_field(body, "experimentIds");
  if (!ids.has_value()) return error_reply(ids.error());
  // All of a project would be too much for a forgotten field.
  if (ids->empty()) return error_reply(wrong("experimentIds: name the experiments"));
  if (const Status size = check_list_size(ids->size(), "experimentIds"); !size.has_value())
    return error_reply(size.error());
  std::vector<Request> all;
  for (const std::uint32_t id : *ids)
    all.emplace_back(SetLogRetention{ExperimentId(id), TrialId(), *days});
  return submit_each(port, request.caller, std::move(all)).then([ids = *ids](const Refusals& each) {
    Json::Array results;
    for (std::size_t i = 0; i < each.size(); ++i)
      results.emplace_back(Json::Object{{"id", ids[i]}, {"error", each[i] ? each[i]->text() : ""}});
    return json_reply(Json::Object{{"results", std::move(results)}});
  });
}

kj::Promise<HttpReply> remaining(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a trial");
  if (!id.has_value()) return error_reply(id.error());
  return look<std::int32_t>(port, request.caller,
                            [id = TrialId(*id),
                             now = port.now()](const ClusterState& state) -> Result<std::int32_t> {
                              const Trial* trial = state.experiments().find(id);
                              if (trial == nullptr)
                                return fail(ErrorCode::kNotFound,
                                            fmt::format("there is no trial {}", id.value()), "");
                              return remaining_log_days(state, *trial, now);
                            })
      .then([](Result<std::int32_t> days) {
        return days.has_value() ? json_reply(Json::Object{{"remainingDays", *days}})
                                : error_reply(days.error());
      });
}

}  // namespace

void add_log_retention_routes(Router& router) {
  router.add(
      Method::kPut, "/api/v1/experiments/{experiment}/retain_logs",
      "For how many days the logs of its trials are kept",
      [](ApiPort& port, HttpRequest request) { return retain(port, std::move(request), false); });
  router.add(
      Method::kPut, "/api/v1/trials/{trial}/retain_logs", "For how many days its logs are kept",
      [](ApiPort& port, HttpRequest request) { return retain(port, std::move(request), true); });
  router.add(Method::kPut, "/api/v1/projects/{project}/experiments/retain_logs",
             "The same for several experiments", retain_many);
  router.add(Method::kGet, "/api/v1/trials/{trial}/remaining_log_retention_days",
             "For how many days its logs are still kept", remaining);
}

}  // namespace muster::api
