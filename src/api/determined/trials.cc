// Trials as people look at them.
// A trial is shown with what was measured of it: its latest and best reports and a summary of each
// metric, asked for together. Series and streams of reports are read as they are sent.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/determined/checkpoint_list.h"
#include "api/determined/measured.h"
#include "api/determined/names.h"
#include "api/determined/report_stream.h"
#include "api/determined/submissions.h"
#include "api/determined/trial_json.h"
#include "api/http/fields.h"
#include "api/http/list_order.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "text/json_reader.h"
#include "text/json_text.h"

namespace muster::api {
namespace {

// More points than any page draws.
constexpr std::size_t kPointsMax = 10'000;

kj::Promise<HttpReply> show_trial(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a trial");
  if (!id.has_value()) return error_reply(id.error());
  return look<TrialDetails>(
             port, request.caller,
             [trial = TrialId(*id)](const ClusterState& state) { return details_of(state, trial); })
      .then([&port](Result<TrialDetails> details) -> kj::Promise<HttpReply> {
        if (!details.has_value()) return error_reply(details.error());
        // One trial, by the same way as many.
        return measured(port, std::vector{std::move(details).value()})
            .then([&port](Result<std::vector<TrialDetails>> full) {
              return full.has_value()
                         ? json_reply(Json::Object{{"trial", trial_json(port, full->front())}})
                         : error_reply(full.error());
            });
      });
}

kj::Promise<HttpReply> kill_trial(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a trial");
  if (!id.has_value()) return error_reply(id.error());
  // A trial ends with its job, which is what can be cancelled.
  return look<JobId>(port, request.caller,
                     [trial = TrialId(*id)](const ClusterState& state) -> Result<JobId> {
                       const Trial* found = state.experiments().find(trial);
                       if (found == nullptr)
                         return fail(ErrorCode::kNotFound,
                                     fmt::format("there is no trial {}", trial.value()), "");
                       return found->job;
                     })
      .then([&port, caller = request.caller](Result<JobId> job) -> kj::Promise<HttpReply> {
        if (!job.has_value()) return error_reply(job.error());
        CancelJobs cancel;
        cancel.filter.jobs.push_back({*job, {}, false, {}});
        // Lenient: a trial that has ended is what was wanted.
        cancel.is_lenient = true;
        return submit_one(port, caller, std::move(cancel));
      });
}

kj::Promise<HttpReply> list_checkpoints(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a trial");
  if (!id.has_value()) return error_reply(id.error());
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  using All = std::vector<CheckpointDetails>;
  return look<All>(port, shared->caller,
                   [trial = TrialId(*id)](const ClusterState& state) -> Result<All> {
                     // An unknown trial is an error and no empty list.
                     if (state.experiments().find(trial) == nullptr) {
                       return fail(ErrorCode::kNotFound,
                                   fmt::format("there is no trial {}", trial.value()), "");
                     }
                     All all;
                     for (const CheckpointRef& checkpoint : state.checkpoints().of(trial))
                       all.push_back(details_of(state, *checkpoint));
                     return all;
                   })
      .then([&port, shared](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return checkpoint_list(port, shared, std::move(all).value());
      });
}

// ---- series ----

struct SeriesWish {
  std::vector<TrialId> trials;
  std::vector<std::pair<std::string, std::string>> metrics;  ///< group, name
  std::int64_t first = 0;
  std::int64_t last = INT64_MAX;
  std::size_t points = 1'000;
};

Result<SeriesWish> series_wish_of(const HttpRequest& request) {
  SeriesWish wish;
  // Each of them is looked up: an unknown one is an error, not a gap.
  for (const std::string& text : request.parameters("trialIds"))
    wish.trials.emplace_back(TRY(parse_id(text, "a trial")));
  std::string group(request.parameter("group"));
  const auto type = TRY(
      word_parameter(request, "metricType", {"METRIC_TYPE_TRAINING", "METRIC_TYPE_VALIDATION"}));
  // A group that is named goes before the older field.
  if (group.empty()) group = type && *type == 0 ? "training" : "validation";
  for (const std::string& name : request.parameters("metricNames"))
    wish.metrics.emplace_back(group, name);
  for (const std::string& id : request.parameters("metricIds")) {
    const std::size_t dot = id.find('.');
    // "validation.loss": the group before the first dot, as names may have more.
    if (dot == id.npos)
      return fail(ErrorCode::kInvalidArgument, fmt::format("metricIds: '{}' is not GROUP.NAME", id),
                  "");
    wish.metrics.emplace_back(id.substr(0, dot), id.substr(dot + 1));
  }
  wish.first = TRY(number_parameter(request, "startBatches", 0));
  const std::int64_t last = TRY(number_parameter(request, "endBatches", 0));
  // 0 is no bound.
  if (last > 0) wish.last = last;
  const std::int64_t points = TRY(number_parameter(request, "maxDatapoints", 1'000));
  wish.points = std::clamp<std::size_t>(static_cast<std::size_t>(std::max<std::int64_t>(points, 5)),
                                        5, kPointsMax);
  return wish;
}

/// A trial with the series that were asked for.
struct SampledTrial {
  TrialDetails details;
  std::shared_ptr<const SeriesWish> wish;
  std::vector<SampledSeries> series = {};  ///< one for each of the wish's metrics
};
void add_questions(const SampledTrial& trial, std::vector<MetricQuestion>& questions) {
  add_questions(trial.details, questions);
  const SeriesWish& wish = *trial.wish;
  for (const auto& [group, name] : wish.metrics) {
    questions.emplace_back(
        // In the order of the wish: answers come in the order of questions.
        SampleQuestion{{trial.details.view.id, group, name, wish.first, wish.last}, wish.points});
  }
}
void fill_in(SampledTrial& trial, MetricAnswers& answers) {
  fill_in(trial.details, answers);
  for (std::size_t i = 0; i < trial.wish->metrics.size(); ++i)
    trial.series.push_back(answers.next<SampleQuestion>());
}

Json series_json(const SampledTrial& trial) {
  // By group, as Determined's series are.
  std::map<std::string, Json::Array> groups;
  for (std::size_t i = 0; i < trial.series.size(); ++i) {
    const auto& [group, name] = trial.wish->metrics[i];
    for (const SampledPoint& point : trial.series[i].points) {
      groups[group].emplace_back(Json::Object{{"batches", point.steps_completed},
                                              {"values", Json::Object{{name, point.value}}},
                                              {"time", time_json(point.report_time)}});
    }
  }
  Json::Array metrics;
  for (auto& [group, data] : groups) {
    const std::string type = group == "training"     ? "METRIC_TYPE_TRAINING"
                             : group == "validation" ? "METRIC_TYPE_VALIDATION"
                                                     // A group of another kind has no type of its
                                                     // own.
                                                     : "METRIC_TYPE_UNSPECIFIED";
    metrics.emplace_back(Json::Object{{"group", group}, {"type", type}, {"data", std::move(data)}});
  }
  return Json(std::move(metrics));
}

kj::Promise<HttpReply> time_series(ApiPort& port, HttpRequest request) {
  auto wish = series_wish_of(request);
  if (!wish.has_value()) return error_reply(wish.error());
  auto shared = std::make_shared<const SeriesWish>(std::move(wish).value());
  using All = std::vector<SampledTrial>;
  return look<All>(port, request.caller,
                   [shared](const ClusterState& state) -> Result<All> {
                     All all;
                     for (const TrialId id : shared->trials)
                       all.push_back({TRY(details_of(state, id)), shared});
                     return all;
                   })
      .then([&port](Result<All> all) -> kj::Promise<HttpReply> {
        if (!all.has_value()) return error_reply(all.error());
        return measured(port, std::move(all).value()).then([&port](Result<All> full) -> HttpReply {
          if (!full.has_value()) return error_reply(full.error());
          Json::Array trials;
          for (const SampledTrial& one : *full) {
            trials.emplace_back(Json::Object{{"trial", trial_json(port, one.details)},
                                             {"metrics", series_json(one)}});
          }
          return json_reply(Json::Object{{"trials", std::move(trials)}});
        });
      });
}

// ---- all reports of some trials, as a stream ----

kj::Promise<HttpReply> stream_reports(ApiPort& port, HttpRequest request, std::string group) {
  std::vector<TrialId> trials;
  for (const std::string& text : request.parameters("trialIds")) {
    const auto id = parse_id(text, "a trial");
    if (!id.has_value()) return error_reply(id.error());
    trials.emplace_back(*id);
  }
  HttpReply reply;
  // Nothing is read before the client takes it.
  reply.stream = report_lines(port, std::move(trials), std::move(group));
  return reply;
}

}  // namespace

void add_trial_routes(Router& router) {
  router.add(Method::kGet, "/api/v1/trials/time-series",
             "Metrics of trials over their steps, downsampled", time_series,
             {"trialIds", "metricNames", "metricIds", "metricType", "group", "startBatches",
              "endBatches", "maxDatapoints"});
  router.add(Method::kGet, "/api/v1/trials/metrics/training_metrics",
             "All training metrics of trials",
             [](ApiPort& port, HttpRequest request) {
               return stream_reports(port, std::move(request), "training");
             },
             {"trialIds"});
  router.add(Method::kGet, "/api/v1/trials/metrics/validation_metrics",
             "All validation metrics of trials",
             [](ApiPort& port, HttpRequest request) {
               return stream_reports(port, std::move(request), "validation");
             },
             {"trialIds"});
  router.add(Method::kGet, "/api/v1/trials/metrics/trial_metrics",
             "All metrics of one group of trials",
             [](ApiPort& port, HttpRequest request) {
               std::string group(request.parameter("group"));
               return stream_reports(port, std::move(request), std::move(group));
             },
             {"trialIds", "group"});
  router.add(Method::kGet, "/api/v1/trials/{trial}", "One trial", show_trial);
  router.add(Method::kPost, "/api/v1/trials/{trial}/kill", "End a trial", kill_trial);
  router.add(Method::kGet, "/api/v1/trials/{trial}/checkpoints", "Checkpoints of a trial",
             list_checkpoints, checkpoint_list_parameters());
}

}  // namespace muster::api
