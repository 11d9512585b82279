// What a run of a trial says and asks: the calls that training code makes.
// A task's token names its trial and its run, and each call is checked against it. What is
// reported is stored before it is answered, so that code which goes on may count on it.
#include <fmt/format.h>

#include <algorithm>

#include "access/experiment_access.h"
#include "api/determined/submissions.h"
#include "api/determined/trial_json.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "base/hash.h"
#include "text/json_reader.h"
#include "text/json_text.h"
#include "text/web_time.h"

namespace muster::api {
namespace {

// Ten minutes, as Determined's server bounds it.
constexpr std::int64_t kTimeoutMax = 600;
// A line for people, not a log.
constexpr std::size_t kRunnerStateMax = 256;
/// Longer reports are parsed by workers; shorter ones here, as handing them over would take longer.
constexpr std::size_t kShortReport = std::size_t{64} << 10;

Result<TrialId> spoken_for(const HttpRequest& request) {
  const std::uint32_t id = TRY(parse_id(request.arguments[0], "a trial"));
  TRY(may_speak(request.caller, TrialId(id)));
  return TrialId(id);
}

Result<TrialRun> run_of(const HttpRequest& request) {
  const auto run = parse_task_name(request.arguments[0]);
  if (!run || run->run == 0)
    return fail(ErrorCode::kNotFound,
                fmt::format("there is no allocation {}", request.arguments[0]), "");
  TRY(may_speak(request.caller, run->trial));
  return *run;
}

/// The run that a task's token is of; of another caller the trial's present one.
kj::Promise<Result<TrialRun>> present_run(ApiPort& port, const Caller& caller, TrialId trial) {
  // A token says which run it is of; anybody else means the one that goes now.
  if (caller.claims.scope == TokenScope::kTask)
    return Result<TrialRun>(TrialRun{trial, caller.claims.run});
  return look<TrialRun>(port, caller, [trial](const ClusterState& state) -> Result<TrialRun> {
    const Trial* found = state.experiments().find(trial);
    if (found == nullptr)
      return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", trial.value()), "");
    const Job* job = state.jobs().find(found->job);
    return TrialRun{trial, job == nullptr ? 0 : run_number(*job)};
  });
}

kj::Promise<HttpReply> record_run(ApiPort& port, const Caller& caller, TrialId trial,
                                  RunSignal what) {
  return present_run(port, caller, trial)
      .then([&port, caller, what](Result<TrialRun> run) -> kj::Promise<HttpReply> {
        if (!run.has_value()) return error_reply(run.error());
        return submit_one(port, caller, RecordRun{run->trial, run->run, what});
      });
}

kj::Promise<HttpReply> start_run(ApiPort& port, HttpRequest request) {
  const auto body = body_of(request);
  if (!body.has_value()) return error_reply(body.error());
  const auto id = whole_field(*body, "runId");
  // Determined's client calls it a run and means the trial.
  if (!id || *id < 1 || *id > UINT32_MAX)
    return error_reply(wrong("runId: the trial's id is missing"));
  const TrialId trial(static_cast<std::uint32_t>(*id));
  if (const Status may = may_speak(request.caller, trial); !may.has_value())
    return error_reply(may.error());
  // From now on the run is trusted to stop by itself (platform/rules/trial_rules.cc).
  return record_run(port, request.caller, trial, RunSignal::kSession).then([](HttpReply reply) {
    return reply.status == 200 ? json_reply(Json::Object{{"storageId", Json()}}) : std::move(reply);
  });
}

Result<MetricReport> report_of(const HttpRequest& request, TrialId trial, TimePoint now) {
  const Json body = TRY(body_of(request));
  const Json* metrics = field(body, "metrics");
  const Json* values = metrics == nullptr ? nullptr : field(*metrics, "metrics");
  const Json* averages = values == nullptr ? nullptr : field(*values, "avgMetrics");
  const Json* batches = values == nullptr ? nullptr : field(*values, "batchMetrics");
  // The values are in the innermost object, as Determined's client sends them.
  if (values == nullptr)
    return fail(wrong("metrics.metrics is missing: the values by name, in avgMetrics"));
  MetricReport report;
  report.trial = trial;
  report.group = text_field(body, "group").value_or("");
  const std::int64_t run = whole_field(*metrics, "trialRunId").value_or(0);
  // 0 is no run of a trial.
  if (run < 0 || run > UINT32_MAX)
    return fail(wrong(fmt::format("metrics.trialRunId: {} is no run", run)));
  report.run = static_cast<std::uint32_t>(run);
  const auto steps = whole_field(*metrics, "stepsCompleted");
  // Absent is allowed, wrong is not.
  if (!steps && field(*metrics, "stepsCompleted") != nullptr)
    return fail(wrong("metrics.stepsCompleted is no whole number"));
  report.steps_completed = steps.value_or(0);
  // What has no steps (a profile of the hardware) is told apart by when it was measured, or else by
  // what it says.
  if (!steps)
    report.key = text_field(*metrics, "reportTime")
                     .value_or(fmt::format("{:016x}", Hasher().add(request.bytes).digest()));
  const auto time = text_field(*metrics, "reportTime");
  // Without a time it is now: the client's clock is not asked for.
  report.report_time = time ? TRY(parse_web_time(*time)) : now;
  if (averages != nullptr) {
    if (averages->object() == nullptr) return fail(wrong("avgMetrics must be an object"));
    for (const Json::Member& member : *averages->object())
      report.metrics.push_back({member.name, metric_value(member.value)});
  }
  // One value for all batches: the store keeps it as JSON.
  if (batches != nullptr && batches->array() == nullptr)
    return fail(wrong("batchMetrics must be a list"));
  if (batches != nullptr && !batches->array()->empty()) {
    report.metrics.push_back({std::string(kBatchMetrics), JsonText{json_text(*batches)}});
  }
  return report;
}

kj::Promise<HttpReply> report_metrics(ApiPort& port, HttpRequest request) {
  const auto trial = spoken_for(request);
  if (!trial.has_value()) return error_reply(trial.error());
  auto send = [&port,
               caller = request.caller](Result<MetricReport> report) -> kj::Promise<HttpReply> {
    if (!report.has_value()) return error_reply(report.error());
    return port.report(caller, std::move(report).value()).then([](std::optional<Error> error) {
      return done_or(error);
    });
  };
  // Larger ones would hold up this thread.
  if (request.bytes.size() <= kShortReport) return send(report_of(request, *trial, port.now()));
  auto shared = std::make_shared<const HttpRequest>(std::move(request));
  return work<MetricReport>(port, [shared, trial = *trial,
                                   now = port.now()] { return report_of(*shared, trial, now); })
      .then(std::move(send));
}

/// What a script calls an alert goes to the webhooks that ask for such. None can be made here: who
/// counts on being told has to know.
kj::Promise<HttpReply> refuse_alert(ApiPort&, HttpRequest) {
  return error_reply(
      {ErrorCode::kUnimplemented,
       "alerts (core_context.alert) reach nobody yet, for there are no webhooks",
       "take the call out, or let a log policy label the trial by a line that it prints"});
}

kj::Promise<HttpReply> wait_stop(ApiPort& port, HttpRequest request) {
  const auto run = run_of(request);
  if (!run.has_value()) return error_reply(run.error());
  const auto seconds = number_parameter(
      request, request.has("timeoutSeconds") ? "timeoutSeconds" : "timeout_seconds", 60);
  if (!seconds.has_value()) return error_reply(seconds.error());
  // Bounded, as a wait holds a place among the connections.
  const auto timeout = std::clamp<std::int64_t>(*seconds, 0, kTimeoutMax) * kj::SECONDS;
  return port.wait_stop(request.caller, *run, timeout).then([](Result<bool> wanted) {
    return wanted.has_value() ? json_reply(Json::Object{{"preempt", *wanted}})
                              : error_reply(wanted.error());
  });
}

kj::Promise<HttpReply> acknowledge_stop(ApiPort& port, HttpRequest request) {
  const auto run = run_of(request);
  if (!run.has_value()) return error_reply(run.error());
  return submit_one(port, request.caller,
                    RecordRun{run->trial, run->run, RunSignal::kStopAcknowledged});
}

kj::Promise<HttpReply> exit_early(ApiPort& port, HttpRequest request) {
  const auto trial = spoken_for(request);
  const auto body = body_of(request);
  if (!trial.has_value()) return error_reply(trial.error());
  if (!body.has_value()) return error_reply(body.error());
  const std::string reason = text_field(*body, "reason").value_or("");
  if (reason != "EXITED_REASON_INVALID_HP" && reason != "EXITED_REASON_INIT_INVALID_HP") {
    return error_reply(
        wrong(fmt::format("reason '{}' is not known; give EXITED_REASON_INVALID_HP", reason)));
  }
  return present_run(port, request.caller, *trial)
      .then([&port, caller = request.caller](Result<TrialRun> run) -> kj::Promise<HttpReply> {
        if (!run.has_value()) return error_reply(run.error());
        return submit_one(port, caller, FlagTrial{run->trial, run->run});
      });
}

/// Takes what a run says of itself, when it is the caller's to say.
kj::Promise<HttpReply> record_own(ApiPort& port, const Caller& caller, TrialId trial,
                                  std::function<void()> signal) {
  using Known = bool;
  return look<Known>(
             port, caller,
             [trial, identity = caller.identity](const ClusterState& state) -> Result<Known> {
               const Trial* found = state.experiments().find(trial);
               if (found == nullptr)
                 return fail(ErrorCode::kNotFound,
                             fmt::format("there is no trial {}", trial.value()), "");
               TRY(access::find_own(state, found->experiment, identity));
               return true;
             })
      .then([signal = std::move(signal)](Result<Known> known) {
        if (!known.has_value()) return error_reply(known.error());
        signal();
        return empty_reply();
      });
}

kj::Promise<HttpReply> record_progress(ApiPort& port, HttpRequest request) {
  const auto trial = spoken_for(request);
  const auto body = body_of(request);
  if (!trial.has_value()) return error_reply(trial.error());
  if (!body.has_value()) return error_reply(body.error());
  const Json* progress = field(*body, "progress");
  const auto value = progress == nullptr ? std::nullopt : progress->number();
  if (!value || !(*value >= 0 && *value <= 1))
    return error_reply(wrong("progress: a number from 0 to 1 is missing"));
  return record_own(port, request.caller, *trial,
                    [&port, trial = *trial, value = *value] { port.set_progress(trial, value); });
}

kj::Promise<HttpReply> record_runner_state(ApiPort& port, HttpRequest request) {
  const auto trial = spoken_for(request);
  const auto body = body_of(request);
  if (!trial.has_value()) return error_reply(trial.error());
  if (!body.has_value()) return error_reply(body.error());
  if (const Status said = check_texts(*body, {"state"}); !said.has_value())
    return error_reply(said.error());
  std::string text = text_field(*body, "state").value_or("");
  if (text.size() > kRunnerStateMax)
    return error_reply(wrong(fmt::format("state: more than {} bytes", kRunnerStateMax)));
  return record_own(port, request.caller, *trial, [&port, trial = *trial, text = std::move(text)] {
    port.set_runner_state(trial, text);
  });
}

kj::Promise<HttpReply> set_metadata(ApiPort& port, HttpRequest request) {
  // Metadata of a run is a document of the catalog, as it outlives the trial's job.
  const auto trial = spoken_for(request);
  const auto body = body_of(request);
  if (!trial.has_value()) return error_reply(trial.error());
  if (!body.has_value()) return error_reply(body.error());
  const Json* metadata = field(*body, "metadata");
  if (metadata == nullptr || metadata->object() == nullptr)
    return error_reply(wrong("metadata: an object is missing"));
  Document document;
  document.kind = DocumentKind::kRunMetadata;
  document.id = trial->value();
  document.body = json_text(*metadata);
  return submit_one(port, request.caller, StoreDocument{std::move(document)})
      .then([metadata = *metadata](HttpReply reply) {
        return reply.status == 200 ? json_reply(Json::Object{{"metadata", metadata}})
                                   : std::move(reply);
      });
}

kj::Promise<HttpReply> show_metadata(ApiPort& port, HttpRequest request) {
  const auto id = parse_id(request.arguments[0], "a run");
  if (!id.has_value()) return error_reply(id.error());
  return look<Json>(
             port, request.caller,
             [id = *id](const ClusterState& state) -> Result<Json> {
               const DocumentRef found = state.catalog().find(DocumentKind::kRunMetadata, id);
               if (found == nullptr && state.experiments().find(TrialId(id)) == nullptr)
                 return fail(ErrorCode::kNotFound, fmt::format("there is no trial {}", id), "");
               // Nobody has set any: an empty object.
               if (found == nullptr) return Json(Json::Object{});
               return parse_json(found->body);
             })
      .then([](Result<Json> metadata) {
        return metadata.has_value() ? json_reply(Json::Object{{"metadata", *metadata}})
                                    : error_reply(metadata.error());
      });
}

/// Calls of Determined's own starter that ask for nothing here.
kj::Promise<HttpReply> nothing(ApiPort& port, HttpRequest request) {
  return port.look(request.caller, [](const ClusterState&) {}).then([](Status alive) {
    return alive.has_value() ? empty_reply() : error_reply(alive.error());
  });
}

}  // namespace

void add_run_routes(Router& router) {
  router.add_for_tasks(Method::kPost, "/api/v1/trials/{trial}/metrics", "Report metrics of a trial",
                       report_metrics);
  router.add_for_tasks(Method::kGet, "/api/v1/allocations/{allocation}/signals/preemption",
                       "Wait until the run is asked to stop", wait_stop,
                       {"timeout_seconds", "timeoutSeconds"});
  router.add_for_tasks(Method::kPost, "/api/v1/allocations/{allocation}/signals/ack_preemption",
                       "The run will stop as asked", acknowledge_stop);
  router.add_for_tasks(Method::kPost, "/api/v1/webhooks/custom", "Tell those who asked to be told",
                       refuse_alert);
  router.add_for_tasks(Method::kPost, "/api/v1/runs/start", "A run of a trial begins to speak",
                       start_run);
  router.add_for_tasks(Method::kPost, "/api/v1/trials/{trial}/progress", "How far a trial is",
                       record_progress);
  router.add_for_tasks(Method::kPost, "/api/v1/trials/{trial}/runner/metadata",
                       "What a trial is doing", record_runner_state);
  router.add_for_tasks(Method::kPost, "/api/v1/trials/{trial}/early_exit",
                       "A trial finds its hyperparameters invalid", exit_early);
  router.add_for_tasks(Method::kPost, "/api/v1/runs/{run}/metadata", "Set a run's metadata",
                       set_metadata);
  router.add_for_tasks(Method::kGet, "/api/v1/runs/{run}/metadata", "A run's metadata",
                       show_metadata);
  // Calls that Determined's own launcher makes: they say nothing that is not known here.
  for (const char* call : {"ready", "waiting", "notify_container_running", "acceleratorData"}) {
    router.add_for_tasks(Method::kPost, fmt::format("/api/v1/allocations/{{allocation}}/{}", call),
                         "Taken and not needed: the agent knows", nothing);
  }
}

}  // namespace muster::api
