// Which trials work with a checkpoint, and what they measured then: of predictions made with it, or
// of its training going on.
// A use is a document whose name is what was used, so that uses of a checkpoint are found by name,
// and nothing is added to the checkpoint itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/determined/documents.h"
#include "api/determined/report_stream.h"
#include "api/determined/submissions.h"
#include "api/http/fields.h"
#include "api/http/replies.h"
#include "api/http/router.h"
#include "model/catalog_names.h"
#include "text/json_text.h"

namespace muster::api {
namespace {

constexpr std::string_view kTypePrefix = "TRIAL_SOURCE_INFO_TYPE_";
constexpr std::array<std::string_view, 3> kTypes{"UNSPECIFIED", "INFERENCE", "FINE_TUNING"};

/// One of kTypes. Errors: kInvalidArgument.
Result<std::string> type_of(std::string_view name) {
  if (name.starts_with(kTypePrefix)) {
    const std::string_view type = name.substr(kTypePrefix.size());
    if (std::ranges::find(kTypes, type) != kTypes.end()) return std::string(type);
  }
  return fail(
      wrong(fmt::format("trialSourceInfoType: '{}' is not known; give {}INFERENCE or {}FINE_TUNING",
                        name, kTypePrefix, kTypePrefix)));
}

/// model/catalog_names.h. `version`: 0: the checkpoint itself is meant.
std::string use_name(const std::string& uuid, std::uint32_t model, std::uint32_t version) {
  return version == 0 ? uuid : fmt::format("{}/{}/{}", uuid, model, version);
}

struct UseReport {
  Document use;
  std::string uuid;
  std::uint32_t model = 0;  ///< 0: the checkpoint itself is meant
  std::uint32_t version = 0;
};

Result<UseReport> use_of(const HttpRequest& request) {
  const Json body = TRY(body_of(request));
  const Json* info = field(body, "trialSourceInfo");
  if (info == nullptr || info->object() == nullptr)
    return fail(wrong("trialSourceInfo: an object is missing"));
  const auto trial = TRY(id_field(*info, "trialId"));
  if (!trial) return fail(wrong("trialId: the trial's number is missing"));
  // A task may speak for its own trial only.
  TRY(may_speak(request.caller, TrialId(*trial)));
  UseReport report;
  report.use.kind = DocumentKind::kCheckpointUse;
  report.use.parent = *trial;
  report.uuid = text_field(*info, "checkpointUuid").value_or("");
  // A slash would be read as a version of a model.
  if (report.uuid.empty() || report.uuid.find('/') != std::string::npos)
    return fail(wrong("checkpointUuid: the checkpoint's uuid is missing"));
  const std::string type = TRY(type_of(text_field(*info, "trialSourceInfoType").value_or("")));
  Json::Object said{{"type", type}};
  report.model = TRY(id_field(*info, "modelId")).value_or(0);
  report.version = TRY(id_field(*info, "modelVersion")).value_or(0);
  // A version's number means nothing without its model.
  if ((report.model == 0) != (report.version == 0))
    return fail(wrong("modelId and modelVersion belong together; give both or neither"));
  if (report.model != 0) {
    said.push_back({"model", report.model});
    said.push_back({"version", report.version});
  }
  report.use.name = use_name(report.uuid, report.model, report.version);
  report.use.body = json_text(Json(std::move(said)));
  return report;
}

/// Errors: kNotFound: there is no such version. kInvalidArgument: it names another checkpoint.
Result<bool> check_version(const ClusterState& state, const UseReport& report) {
  if (report.model == 0) return true;
  const DocumentRef model = state.catalog().find(DocumentKind::kModel, report.model);
  if (model == nullptr)
    return fail(ErrorCode::kNotFound, fmt::format("there is no model {}", report.model), "");
  const DocumentRef version = TRY(find_version(state, model->name, std::to_string(report.version)));
  if (std::ranges::find(version->checkpoints, report.uuid) != version->checkpoints.end())
    return true;
  return fail(wrong(
      fmt::format("version {} of model {} names another checkpoint", report.version, model->name)));
}

kj::Promise<HttpReply> report_use(ApiPort& port, HttpRequest request) {
  const auto report = use_of(request);
  if (!report.has_value()) return error_reply(report.error());
  const Json said = Json::Object{{"trialId", report->use.parent}, {"checkpointUuid", report->uuid}};
  return look<bool>(
             port, request.caller,
             [report = *report](const ClusterState& state) { return check_version(state, report); })
      .then([&port, caller = request.caller, use = report->use,
             said](Result<bool> checked) mutable -> kj::Promise<HttpReply> {
        if (!checked.has_value()) return error_reply(checked.error());
        // The body that Determined's client expects, instead of the document.
        return submit_one(port, caller, StoreDocument{std::move(use)})
            .then([said](HttpReply reply) {
              return reply.status == 200 ? json_reply(said) : std::move(reply);
            });
      });
}

/// Which uses are meant: those of that name; of a uuid all of the checkpoint, also as versions.
struct Wanted {
  std::string name;
  bool is_checkpoint = false;
};

std::vector<TrialId> users_of(const ClusterState& state, const Wanted& wanted,
                              const std::string& type) {
  std::vector<TrialId> trials;
  for (const DocumentRef& use : state.catalog().all(DocumentKind::kCheckpointUse)) {
    // By the whole name where a version is meant, else by the checkpoint in it.
    if ((wanted.is_checkpoint ? used_checkpoint(use->name) : use->name) != wanted.name) continue;
    if (!type.empty() && text_field(body_of(*use), "type") != type) continue;
    trials.emplace_back(use->parent);
  }
  // A trial may use one checkpoint in several ways.
  std::ranges::sort(trials);
  trials.erase(std::unique(trials.begin(), trials.end()), trials.end());
  return trials;
}

/// What the trials measured that used what `find` names.
kj::Promise<HttpReply> show_metrics(ApiPort& port, const HttpRequest& request,
                                    std::function<Result<Wanted>(const ClusterState&)> find) {
  std::string type;
  if (const std::string_view name = request.parameter("trialSourceInfoType"); !name.empty()) {
    auto known = type_of(name);
    if (!known.has_value()) return error_reply(known.error());
    // UNSPECIFIED is no filter.
    if (*known != kTypes.front()) type = std::move(*known);
  }
  using Trials = std::vector<TrialId>;
  return look<Trials>(port, request.caller,
                      [find = std::move(find), type](const ClusterState& state) -> Result<Trials> {
                        const Wanted wanted = TRY(find(state));
                        return users_of(state, wanted, type);
                      })
      .then([&port, group = std::string(request.parameter("metricGroup"))](
                Result<Trials> trials) -> HttpReply {
        if (!trials.has_value()) return error_reply(trials.error());
        HttpReply reply;
        reply.stream = report_list(port, std::move(trials).value(), group);
        return reply;
      });
}

kj::Promise<HttpReply> metrics_of_checkpoint(ApiPort& port, HttpRequest request) {
  return show_metrics(
      port, request, [uuid = request.arguments[0]](const ClusterState& state) -> Result<Wanted> {
        if (state.checkpoints().find(uuid) != nullptr) return Wanted{uuid, true};
        return fail(ErrorCode::kNotFound, fmt::format("there is no checkpoint {}", uuid), "");
      });
}

kj::Promise<HttpReply> metrics_of_version(ApiPort& port, HttpRequest request) {
  return show_metrics(
      port, request,
      [model = request.arguments[0],
       number = request.arguments[1]](const ClusterState& state) -> Result<Wanted> {
        const DocumentRef version = TRY(find_version(state, model, number));
        return Wanted{use_name(version->checkpoints.front(), version->parent, version->number)};
      });
}

}  // namespace

void add_checkpoint_use_routes(Router& router) {
  router.add_for_tasks(Method::kPost, "/api/v1/trial-source-info",
                       "A trial works with a checkpoint", report_use);
  router.add(Method::kGet, "/api/v1/checkpoints/{uuid}/metrics",
             "What trials measured that worked with a checkpoint", metrics_of_checkpoint,
             {"metricGroup", "trialSourceInfoType"});
  router.add(Method::kGet, "/api/v1/models/{model}/versions/{version}/metrics",
             "What trials measured that worked with a version", metrics_of_version,
             {"metricGroup", "trialSourceInfoType"});
}

}  // namespace muster::api
